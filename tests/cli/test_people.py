"""`--weights-out` and `--rows`: results back on the records of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.cli.main import main

WORDS = ["project", "people.csv", "--response", "hired", "--protected", "sex", "--unprotected", "age"]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "name": [f"p{k}" for k in range(300)],
            "hired": rng.choice(["no", "yes"], 300),
            "sex": rng.choice(["f", "m"], 300),
            "age": rng.integers(18, 70, 300),
            "remark": rng.choice(["?", "none"], 300),
        }
    )
    frame.to_csv("people.csv", index=False)
    return frame


def test_project__writes_the_weight_of_each_record(people, capsys):
    words = [*WORDS, "--bins", "age=30,50", "--out", "fair.csv", "--weights-out", "weights.csv"]
    assert main(words) == 0
    written = pd.read_csv("weights.csv")
    assert written.drop(columns="weight").equals(people)
    wanted = pt.weights(people, pt.load("fair.csv"))
    np.testing.assert_allclose(written["weight"], wanted, rtol=1e-12)
    shares = written.groupby("sex").apply(lambda own: np.average(own["hired"] == "yes", weights=own["weight"]))
    assert shares["f"] == pytest.approx(shares["m"], abs=1e-6)
    assert "effective sample size (Kish)" in capsys.readouterr().out


def test_project__writes_rows_like_those_of_the_file(people, capsys):
    words = [*WORDS, "--bins", "age=30,50", "--rows", "2000", "--seed", "4", "--out", "rows.csv"]
    assert main(words) == 0
    rows = pd.read_csv("rows.csv")
    assert list(rows.columns) == list(people.columns)
    assert len(rows) == 2000
    assert rows.drop(columns="hired").merge(people.drop(columns="hired")).shape[0] == 2000
    hired = rows.groupby("sex")["hired"].apply(lambda own: (own == "yes").mean())
    assert abs(hired["f"] - hired["m"]) < 0.07
    assert "2,000 drawn with seed 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--out", "o.nc", "--rows", "5"], "must end in .csv"),
        (["--out", "o.csv", "--rows", "0"], "--rows must be 1 or more"),
        (["--out", "o.csv", "--weights-out", "no/w.csv"], "folder of --weights-out does not exist"),
        (["--out", "o.csv", "--weights-out", "people.csv"], "people.csv"),
    ],
)
def test_project__refuses_before_it_solves(people, capsys, words, told):
    assert main([*WORDS, "--bins", "age=30,50", *words]) == 2
    assert told in capsys.readouterr().err
    assert not Path("o.csv").exists()
    assert pd.read_csv("people.csv").equals(people)


def test_project__bins_a_new_file_as_one_that_was_written(people, capsys, tmp_path):
    assert main([*WORDS, "--bins", "age=quantiles:3", "--out", "fair.csv"]) == 0
    people.assign(age=people["age"] + 9.5).to_csv("older.csv", index=False)
    words = [*WORDS[:1], "older.csv", *WORDS[2:], "--bins", "fair.csv", "--out", "again.csv"]
    assert main(words) == 0
    ages = [set(pd.read_csv(name)["age"]) for name in ("fair.csv", "again.csv")]
    assert ages[1] <= ages[0]
    assert main([*WORDS, "--bins", "age=25,40", "--reference", "people.csv", "--out", "onto.csv"]) == 0
    capsys.readouterr()
    pd.DataFrame({"sex": ["f"], "count": [1]}).to_csv("plain.csv", index=False)
    assert main([*WORDS, "--bins", "plain.csv", "--out", "o.csv"]) == 2
    assert "no attribute of plain.csv is in bins" in capsys.readouterr().err
