"""`purtensor decide`: a decision for each record, with the rates of each group."""

from __future__ import annotations

import re
import warnings
from functools import partial
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
    assert "purtensor: warning: the most likely classes do not have the parity" in told
    assert "--decision fair or --decision draw preserves it" in told


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
        (("--rate", "yes"), "--rate must be written as"),
        (("--rate", "maybe=1"), "no category 'maybe' in hired; it has no, yes"),
        (("--rate", "yes=0.5"), "rate has no share for hired no"),
        (("--unprotected", "height"), "no attribute 'height'"),
        (("--name", "sex"), "choose another --name"),
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
    assert "each row must be one person" in capsys.readouterr().err


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


@pytest.fixture
def aged(people: Path) -> Path:
    """The people with ages, twelve of which are missing, and one without a degree."""
    rng = np.random.default_rng(4)
    frame = pd.read_csv(people).assign(age=rng.integers(18, 70, 150))
    frame["age"] = frame["age"].astype("Int64").where(np.arange(150) % 13 > 0)
    frame["degree"] = frame["degree"].astype("Int64").where(np.arange(150) != 5)
    path = people.with_name("aged.csv")
    frame.to_csv(path, index=False)
    return path


WITH_AGE = ("--unprotected", "degree", "age", "--bins", "age=30,50", "--decision", "likeliest")


@pytest.mark.filterwarnings("ignore:the most likely classes")
def test_decide__in_bins_decides_as_for_a_file_that_has_them(people: Path) -> None:
    ages = pd.read_csv(people).assign(age=np.random.default_rng(4).integers(18, 70, 150))
    ages.to_csv(people, index=False)
    found = decided(people, *WITH_AGE)
    assert found["age"].equals(ages["age"])  # the people are written as they came
    groups = pd.cut(ages["age"], [0, 30, 50, 99], right=False, labels=["<30", "30-49", ">=50"])
    ages.assign(age=groups).to_csv(people, index=False)
    assert decided(people, "--unprotected", "degree", "age", "--decision", "likeliest")["decision"].equals(
        found["decision"]
    )
    assert found.groupby(["sex", "degree", groups], observed=True)["decision"].nunique().max() == 1


@pytest.mark.filterwarnings("ignore:the most likely classes")
def test_decide__bins_by_quantiles_are_those_of_the_file_that_is_learned_from(people: Path) -> None:
    ages = pd.read_csv(people).assign(age=np.arange(150))
    ages.to_csv(people, index=False)
    others = people.with_name("others.csv")
    ages.assign(age=100 + np.arange(150) // 10).to_csv(others, index=False)
    words = ("--unprotected", "degree", "age", "--bins", "age=quantiles:2", "--decision", "likeliest")
    found = decided(people, *words, "--people", str(others))  # all of these are in the upper bin
    assert found.groupby(["sex", "degree"])["decision"].nunique().max() == 1


@pytest.mark.filterwarnings("ignore:the most likely classes")
def test_decide__drops_rows_with_gaps_and_leaves_them_undecided(aged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = decided(aged, *WITH_AGE, "--missing", "drop")
    gaps = found["age"].isna() | found["degree"].isna()
    assert gaps.sum() == 13
    assert found["decision"].isna().equals(gaps)
    told = capsys.readouterr().out
    assert "137 records of aged.csv" in told
    assert "13 not learned from, 13 without a decision" in told
    whole = aged.with_name("whole.csv")
    pd.read_csv(aged)[~gaps].to_csv(whole, index=False)
    assert decided(whole, *WITH_AGE)["decision"].tolist() == found["decision"].dropna().tolist()


@pytest.mark.filterwarnings("ignore:the most likely classes")
def test_decide__whole_numbers_stay_whole_beside_gaps(aged: Path) -> None:
    frame = pd.read_csv(aged, dtype={"age": "Int64"})
    frame.assign(hired=(frame["hired"] == "yes").astype(int)).to_csv(aged, index=False)
    decided(aged, *WITH_AGE, "--missing", "drop")
    assert set(pd.read_csv(aged.with_name("decided.csv"), dtype=str)["decision"].dropna()) <= {"0", "1"}


@pytest.mark.filterwarnings("ignore:the most likely classes")
def test_decide__makes_a_category_of_gaps(aged: Path) -> None:
    found = decided(aged, *WITH_AGE, "--missing", "category")
    assert found["decision"].notna().all()
    filled = aged.with_name("filled.csv")
    frame = pd.read_csv(aged)
    groups = pd.cut(frame["age"], [0, 30, 50, 99], right=False, labels=["<30", "30-49", ">=50"]).astype(object)
    degrees = frame["degree"].map({0.0: "0", 1.0: "1"})
    frame.assign(age=groups.fillna("unknown"), degree=degrees.fillna("unknown")).to_csv(filled, index=False)
    again = decided(filled, "--unprotected", "degree", "age", "--decision", "likeliest")
    assert again["decision"].equals(found["decision"])


def test_decide__fractions_with_gaps_are_binned_as_those_without(people: Path) -> None:
    frame = pd.read_csv(people).assign(score=np.random.default_rng(2).normal(size=150))
    frame.loc[3, "score"] = np.nan
    frame.to_csv(people, index=False)
    found = decided(people, "--unprotected", "degree", "score", "--missing", "category")
    assert found["decision"].notna().all()


def test_decide__smooth_chooses_how_much_the_data_are_simplified(
    people: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # four candidates and three folds instead of fifteen and five
    few = partial(pt.fairness.smooth, orders=(1, None), strengths=(0.1, 1.0), folds=3)
    monkeypatch.setattr("purtensor.sklearn.base.smooth", few)
    frame = pd.read_csv(people)
    frame["noise"] = np.random.default_rng(0).integers(0, 12, 150)  # tells nothing, and is learned by heart
    frame.to_csv(people, index=False)
    found = decided(people, "--unprotected", "degree", "noise", "--reference", "smooth")
    told = capsys.readouterr().out
    assert re.search(r"smoothed +the response depends on each predictor separately, pseudo-count 1", told)
    rates = (found["decision"] == "yes").groupby(found["sex"]).mean()
    assert rates.to_numpy() == pytest.approx(70 / 150, abs=0.06)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--bins", "height=150"), "no attribute 'height'"),
        (("--bins", "person=3"), "no attribute 'person'"),
        (("--bins", "degree"), "--bins is written as"),
        ((), "aged.csv has no degree in 1 of 150 rows, first in row 6; give --missing drop"),
    ],
)
def test_decide__refuses_bins_and_gaps(
    words: tuple[str, ...], told: str, aged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(aged.with_name("out.csv"))
    given = ["decide", str(aged), *ROLES, "--unprotected", "degree", "age", "--out", out]
    assert main([*given, *words]) == BAD_INPUT
    assert told in capsys.readouterr().err


def test_decide__refuses_responses_that_are_missing_as_a_category(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("hired,sex,degree\n,f,missing\nyes,m,\n")
    words = ["decide", str(path), *ROLES, "--out", str(tmp_path / "out.csv"), "--missing", "category"]
    assert main(words) == BAD_INPUT
    assert "no hired in 1 of 2 rows, first in row 1; give --missing drop, to learn" in capsys.readouterr().err
    path.write_text("hired,sex,degree\nno,f,missing\nyes,m,\n")
    assert main(words) == BAD_INPUT
    assert "has a category 'missing' in degree beside missing values" in capsys.readouterr().err
