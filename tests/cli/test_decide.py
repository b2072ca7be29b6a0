"""`purtensor decide`: a decision for each record, with the rates of each group."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.cli.main import BAD_INPUT, main

ROLES = ("--response", "hired", "--protected", "sex")
WEIGHTS = {("no", "f"): (30, 20), ("no", "m"): (15, 15), ("yes", "f"): (5, 15), ("yes", "m"): (10, 40)}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rows = [(hired, sex, degree) for (hired, sex), n in WEIGHTS.items() for degree, k in enumerate(n) for _ in range(k)]
    path = tmp_path / "people.csv"
    frame = pd.DataFrame(rows, columns=["hired", "sex", "degree"]).sample(frac=1, random_state=0, ignore_index=True)
    frame.assign(person=[f"p{at}" for at in range(len(frame))]).to_csv(path, index=False)
    return path


def decided(people: Path, *words: str) -> pd.DataFrame:
    out = people.with_name("decided.csv")
    assert main(["decide", str(people), *ROLES, "--unprotected", "degree", "--out", str(out), *words]) == 0
    return pd.read_csv(out)


def test_decide__fair_gives_both_groups_the_rate_of_the_data(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = decided(people)
    assert found.drop(columns="decision").equals(pd.read_csv(people))
    rates = (found["decision"] == "yes").groupby(found["sex"]).mean()
    assert rates.to_numpy() == pytest.approx(70 / 150, abs=0.06)  # one profile a group is drawn
    printed = capsys.readouterr().out
    assert re.search(r"fair +yes +0\.467 +0\.467 +1\.000", printed)
    assert printed.count("likeliest") == 2


def test_decide__at_a_stated_rate(people: Path) -> None:
    found = decided(people, "--rate", "no=0.9", "yes=0.1")
    assert (found["decision"] == "yes").mean() == pytest.approx(0.1, abs=0.05)


def test_decide__likeliest_is_told_to_be_unfair(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        found = decided(people, "--decision", "likeliest")
    assert found.groupby(["sex", "degree"])["decision"].nunique().max() == 1
    told = capsys.readouterr().err
    assert "purtensor: warning: the likeliest classes do not keep the parity" in told
    assert "--decision fair or --decision draw keeps it" in told


def test_decide__draws_depend_on_the_person_and_not_on_the_row(people: Path) -> None:
    first = decided(people, "--decision", "draw", "--ids", "person").set_index("person")["decision"]
    turned = people.with_name("turned.csv")
    pd.read_csv(people).iloc[::-1].to_csv(turned, index=False)
    again = decided(people, "--decision", "draw", "--ids", "person", "--people", str(turned)).set_index("person")[
        "decision"
    ]
    assert again.equals(first.loc[again.index])
    other = decided(people, "--decision", "draw", "--ids", "person", "--seed", "1").set_index("person")["decision"]
    assert 0.2 < (other == first).mean() < 0.9


def test_decide__for_people_without_a_response(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = people.with_name("others.csv")
    pd.DataFrame({"sex": ["f", "m", "m"], "degree": [1, 0, 1]}).to_csv(others, index=False)
    found = decided(people, "--people", str(others))
    assert found["decision"].isin(["yes", "no"]).all()
    assert len(found) == 3
    assert np.array_equal(found["degree"], [1, 0, 1])
    assert "decided for   3 records of others.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--rate", "yes"), "--rate is written as"),
        (("--rate", "maybe=1"), "no category 'maybe' in hired; it has no, yes"),
        (("--rate", "yes=0.5"), "no rate for hired no"),
        (("--unprotected", "height"), "no attribute 'height'"),
        (("--name", "sex"), "give another --name"),
    ],
)
def test_decide__refuses(words: tuple[str, ...], told: str, people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(people.with_name("out.csv"))
    assert main(["decide", str(people), *ROLES, "--unprotected", "degree", "--out", out, *words]) == BAD_INPUT
    assert told in capsys.readouterr().err
    assert not Path(out).exists()


def test_decide__refuses_rows_of_several_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "counts.csv"
    pt.tabulate({"hired": ["no", "yes"], "sex": ["f", "m"]}, weights=[3, 4]).to_series().to_csv(path)
    assert main(["decide", str(path), *ROLES, "--out", str(tmp_path / "out.csv")]) == BAD_INPUT
    assert "a row must be one person" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hired,sex,degree\n", "has no row"),
        ("hired,sex,degree\nno,f,1\nyes,m,\n", "no degree in 1 of 2 rows, first in row 2"),
        ("hired,sex,degree\n,f,1\nyes,m,1\n", "no hired in 1 of 2 rows, first in row 1"),
        ("hired,sex,degree\n0.5,f,1\n0.25,m,1\n1.5,m,1\n", "continuous"),
    ],
)
def test_decide__refuses_files_without_people_or_values(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text)
    assert main(["decide", str(path), *ROLES, "--out", str(tmp_path / "out.csv")]) == BAD_INPUT
    assert told in capsys.readouterr().err
