"""`purtensor calibrate`: a template, the weights of a file, a report, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.cli.main import main

PEOPLE = "sex,age,w,x\n" + "".join(
    f"{sex},{age},{w},{x}\n"
    for sex, age, w, x in zip(
        "ffffmmmmmm", "yyyoyooooo", (1, 2, 1, 1.5, 1, 1, 2, 1, 1, 1.2), (3, 1, 4, 1, 5, 9, 2, 6, 5, 3.5), strict=True
    )
)
CONTROLS = "control,sex,age,value,target\nsex,f,,,6\nsex,m,,,7\nage,,y,,6.5\nage,,o,,6.5\nx,,,x,50\n"


def exact(path: str) -> pd.DataFrame:
    """Read numbers to the last digit, which pandas 2 does not by itself."""
    frame = pd.read_csv(path, dtype=str)
    numbers = [name for name in frame if name not in ("sex", "age")]
    return frame.assign(**{name: frame[name].map(float) for name in numbers})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(PEOPLE)
    Path("controls.csv").write_text(CONTROLS)
    return tmp_path


def test_calibrate__writes_the_records_with_the_weights_of_calibrate(folder, capsys):
    words = ["calibrate", "people.csv", "--weights", "w", "--controls", "controls.csv", "--out", "out.csv"]
    assert main([*words, "--report", "page.html", "--curve", "3"]) == 0
    found = exact("out.csv")
    people = pd.read_csv("people.csv")
    wanted = pt.calibrate(people, pd.read_csv("controls.csv"), weights="w")
    np.testing.assert_array_equal(found["weight"], wanted.weights)
    assert found[list("wx")].equals(people[list("wx")].astype(float))
    assert found["age"].tolist() == people["age"].tolist()
    assert abs(found["weight"] @ found["x"] - 50) < 1e-8
    printed = capsys.readouterr().out
    for text in ("count by sex, sex=f", "total of x", "design effect", "written to", "page.html"):
        assert text in printed
    page = Path("page.html").read_text()
    for text in ("<svg", "What bounds on the ratios cost", "SIMS S.18.5", "a check by separate code confirms"):
        assert text in page


def test_calibrate__weights_of_bootstrap_samples_stand_beside_the_weights(folder):
    pd.concat([pd.read_csv("people.csv")] * 6).to_csv("many.csv", index=False)
    Path("sexes.csv").write_text("sex,target\nf,40\nm,41\n")
    words = ["calibrate", "many.csv", "--weights", "w", "--controls", "sexes.csv", "--out", "out.csv"]
    assert main([*words, "--bootstrap", "2", "--seed", "5"]) == 0
    found = exact("out.csv")
    c = pt.calibrate(pd.read_csv("many.csv"), pd.read_csv("sexes.csv"), weights="w")
    np.testing.assert_array_equal(found[["weight_1", "weight_2"]], c.bootstrap(2, seed=5))
    assert found.loc[found["sex"] == "f", "weight_2"].sum() == pytest.approx(40, rel=1e-9)


def test_calibrate__begins_with_a_template_to_fill_in(folder):
    words = ["calibrate", "people.csv", "--weights", "w"]
    assert main([*words, "--template", "empty.csv", "--scopes", "sex", "sex age"]) == 0
    made = pd.read_csv("empty.csv")
    assert made["sample"].tolist() == pytest.approx([5.5, 7.2, 1.5, 4.0, 6.2, 1.0])
    assert made["target"].isna().all()
    assert main([*words, "--controls", "empty.csv", "--out", "out.csv"]) == 2
    made.assign(target=2 * made["sample"]).to_csv("filled.csv", index=False)
    assert main([*words, "--controls", "filled.csv", "--out", "out.csv"]) == 0
    np.testing.assert_allclose(pd.read_csv("out.csv").eval("weight / w"), 2.0, rtol=1e-12)


def test_calibrate__households_with_controls_of_persons(folder):
    Path("homes.csv").write_text("id,tenure\n1,own\n2,rent\n3,own\n4,rent\n5,own\n")
    Path("persons.csv").write_text(
        "id,sex\n" + "".join(f"{i},{s}\n" for i, s in zip("112333445", "fmmffmfmf", strict=True))
    )
    Path("both.csv").write_text("tenure,sex,target\nown,,60\nrent,,40\n,f,95\n,m,80\n")
    words = ["calibrate", "homes.csv", "--members", "persons.csv", "--key", "id", "--controls", "both.csv"]
    assert main([*words, "--out", "out.parquet", "--name", "gross", "--members-out", "persons_out.csv"]) == 0
    persons = pd.read_csv("persons_out.csv")
    assert persons.groupby("sex")["gross"].sum().to_dict() == pytest.approx({"f": 95, "m": 80}, rel=1e-12)
    assert persons["id"].tolist() == [int(i) for i in "112333445"]
    np.testing.assert_allclose(pd.read_parquet("out.parquet")["gross"], [22.5, 22.5, 17.5, 17.5, 20], atol=1e-9)


def test_calibrate__bounds_that_cannot_be_met_end_with_three(folder, capsys):
    words = ["calibrate", "people.csv", "--weights", "w", "--controls", "controls.csv", "--out", "out.csv"]
    assert main([*words, "--bounds", "0.95", "1.1"]) == 3
    assert "weights between 0.95 and 1.1 times" in capsys.readouterr().err
    assert not Path("out.csv").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "out.csv"], "give --controls FILE"),
        (["--controls", "controls.csv"], "give --out FILE"),
        (["--controls", "controls.csv", "--out", "out.txt"], ".csv, .csv.gz, .parquet"),
        (["--controls", "controls.csv", "--out", "out.nc"], "must end in .csv"),
        (["--controls", "controls.csv", "--out", "no/out.csv"], "folder of --out does not exist"),
        (["--controls", "controls.csv", "--out", "out.csv", "--report", "a.pdf"], "--report must end in .html"),
        (["--controls", "controls.csv", "--out", "out.csv", "--report", "no/a.html"], "folder of --report"),
        (["--controls", "controls.csv", "--out", "out.csv", "--name", "x"], "has a column 'x'"),
        (["--controls", "controls.csv", "--out", "out.csv", "--scopes", "sex"], "--scopes applies to --template only"),
        (["--controls", "controls.csv", "--out", "people.csv"], "people.csv"),
        (["--controls", "controls.csv", "--out", "out.csv", "--total", "all"], "total"),
        (["--controls", "controls.csv", "--out", "out.csv", "--members-out", "m.csv"], "needs --members"),
        (["--template", "t.csv"], "needs --scopes"),
        (["--template", "t.csv", "--scopes", "sex", "--controls", "controls.csv"], "remove --controls"),
        (["--controls", "none.csv", "--out", "out.csv"], "none.csv"),
        (["--controls", "people.csv", "--out", "out.csv"], "must have a column 'target'"),
    ],
)
def test_calibrate__refuses_by_name(folder, capsys, words, message):
    assert main(["calibrate", "people.csv", *words]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out.csv").exists()
    assert Path("people.csv").read_text() == PEOPLE


def test_calibrate__cells_that_may_mean_missing_are_refused_until_it_is_said(folder, capsys):
    Path("people.csv").write_text(PEOPLE.replace("f,y,1,3", "NA,y,1,3"))
    words = ["calibrate", "people.csv", "--weights", "w", "--controls", "controls.csv", "--out", "out.csv"]
    assert main(words) == 2
    told = capsys.readouterr().err
    assert "attribute 'sex' has 'NA' in 1 of 10 rows (first in row 0)" in told
    assert "--missing-values NA" in told
    assert "--not-missing NA" in told
