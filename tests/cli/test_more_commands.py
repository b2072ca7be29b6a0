"""`purtensor rake`, `sample`, `proxies` and `path`: the answers of the functions, in files, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.cli.main import main

DATA = ["people.csv", "--response", "hired", "--protected", "sex"]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    sex = rng.choice(["f", "m"], 200)
    frame = pd.DataFrame(
        {
            "hired": np.where(rng.random(200) < np.where(sex == "f", 0.3, 0.6), "yes", "no"),
            "sex": sex,
            "size": np.where(rng.random(200) < 0.8, np.where(sex == "f", "small", "tall"), "middle"),
            "team": rng.choice(["a", "b"], 200),
        }
    )
    frame.to_csv("people.csv", index=False)
    Path("sex.csv").write_text("sex,percent\nf,52.5\nm,47.5\n")
    Path("team_sex.csv").write_text("team,sex,n\na,f,300\na,m,275\nb,f,225\nb,m,200\n")
    return frame


def test_rake__meets_per_cent_and_counts_together(people, capsys):
    assert main(["rake", "people.csv", "--targets", "sex.csv", "team_sex.csv", "--out", "w.csv"]) == 0
    written = pd.read_csv("w.csv")
    assert written[list(people)].equals(people)
    sums = written.groupby(["team", "sex"])["weight"].sum()
    assert sums.to_dict() == pytest.approx({("a", "f"): 300, ("a", "m"): 275, ("b", "f"): 225, ("b", "m"): 200})
    printed = capsys.readouterr().out
    for told in ("per cent, sum 100", "counts, sum 1,000", "effective size"):
        assert told in printed


def test_rake__counts_numbers_of_the_sample_in_the_bins_of_a_target(people):
    ages = 18 + np.arange(200) % 60
    people.assign(age=ages).to_csv("people.csv", index=False)
    Path("age.csv").write_text("age,n\n<30,300\n30-49,250\n>=50,450\n")
    assert main(["rake", "people.csv", "--targets", "age.csv", "sex.csv", "--out", "w.csv"]) == 0
    written = pd.read_csv("w.csv")
    assert written["age"].tolist() == ages.tolist()
    sums = written["weight"].groupby(pd.cut(written["age"], [0, 29, 49, 99], labels=False)).sum()
    assert sums.tolist() == pytest.approx([300, 250, 450])


def test_rake__shares_take_the_total_of_the_design_weights_or_that_asked_for(people):
    people.assign(w=1.5).to_csv("people.csv", index=False)
    words = ["rake", "people.csv", "--targets", "sex.csv", "--weights", "w", "--out", "w.parquet"]
    assert main(words) == 0
    assert pd.read_parquet("w.parquet")["weight"].sum() == pytest.approx(300)
    assert main([*words, "--total", "7000"]) == 0
    weights = pd.read_parquet("w.parquet").groupby("sex")["weight"].sum()
    assert weights.to_dict() == pytest.approx({"f": 3675, "m": 3325})


def test_rake__stays_near_in_the_distance_and_the_bounds_asked_for(people, capsys):
    words = ["rake", "people.csv", "--targets", "sex.csv", "team_sex.csv", "--out", "w.csv"]
    assert main([*words, "--relative-to", "scaled", "--bounds", "0.99", "1.01"]) == 3
    assert "with weights between 0.99 and 1.01 times" in capsys.readouterr().err
    found = {}
    for distance in ("kl", "linear"):
        assert main([*words[:3], "sex.csv", *words[5:], "--distance", distance, "--weight-bounds", "0.8", "1.3"]) == 0
        found[distance] = pd.read_csv("w.csv")["weight"].to_numpy()
    controls = [pt.Marginal(pt.tabulate({"sex": ["f", "m"]}, weights=[105.0, 95.0]))]
    expected = pt.calibrate(people, controls, weight_bounds=(0.8, 1.3), distance="linear").array
    np.testing.assert_allclose(found["linear"], expected, rtol=1e-12)


def test_project__takes_bounds_on_profiles_and_another_distance(people, capsys):
    words = ["project", *DATA, "--conditions", "P", "--out", "fair.csv"]
    assert main(words) == 0
    free = pd.read_csv("fair.csv").iloc[:, -1].to_numpy()
    assert main([*words, "--distance", "linear", "--cell-bounds", "0", "0.11"]) == 0
    assert "at a bound" in capsys.readouterr().out
    found = pd.read_csv("fair.csv").iloc[:, -1].to_numpy()
    assert free.max() > 0.115
    assert found.max() == pytest.approx(0.11, rel=1e-12)
    assert found.sum() == pytest.approx(free.sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (
            "sex,n\nF,500\nm,500\n",
            "no category 'F' in attribute 'sex', for which other.csv has a target and people.csv",
        ),
        ("sex,n\nF,500\nm,500\n", "did you mean 'f'?"),
        ("sex,n\nm,1000\n", "no category 'f' in attribute 'sex', which records of people.csv have"),
        ("Sex,n\nf,500\nm,500\n", "did you mean 'sex'?"),
        ("sex,n\nf,600\nm,500\n", "team_sex.csv sums to 1,000, other.csv sums to 1,100"),
        ("sex,n\nf,?\nm,500\n", "UCI repository's spelling"),
    ],
)
def test_rake__refuses_targets_by_name(people, capsys, target, told):
    Path("other.csv").write_text(target)
    assert main(["rake", "people.csv", "--targets", "team_sex.csv", "other.csv", "--out", "w.csv"]) == 2
    assert told in capsys.readouterr().err
    assert not Path("w.csv").exists()


def test_proxies__are_those_of_the_function(people, capsys):
    assert main(["proxies", *DATA, "--out", "proxies.csv"]) == 0
    f = pt.regularize(pt.tabulate(people), response="hired")
    wanted = pt.proxies(f, response="hired", protected="sex")
    found = pd.read_csv("proxies.csv")
    assert found["predictors"].tolist() == wanted["predictors"].tolist()
    np.testing.assert_allclose(found["kl"], wanted["kl"], rtol=1e-6)
    assert "size + team" in capsys.readouterr().out


def test_path__is_that_of_the_function(people, capsys):
    assert main(["path", *DATA, "--unprotected", "team", "--strengths", "0.01", "inf", "--out", "path.csv"]) == 0
    wanted = pt.strength_path(
        pt.tabulate(people, ["hired", "sex", "team"]), [0.01, np.inf], response="hired", protected="sex"
    )
    found = pd.read_csv("path.csv")
    np.testing.assert_allclose(found["kl_to_data"], wanted["kl_to_data"], rtol=1e-6)
    np.testing.assert_allclose(found["lowest ratio"], 1.0, atol=1e-6)
    assert "pseudo-count" in capsys.readouterr().out


def test_sample__draws_people_or_counts_of_a_result(people):
    assert main(["project", *DATA, "--unprotected", "team", "--out", "fair.nc"]) == 0
    assert main(["sample", "fair.nc", "--rows", "500", "--seed", "3", "--out", "rows.csv"]) == 0
    counts = pt.sample(pt.load("fair.nc").table, 500, seed=3)
    rows = pd.read_csv("rows.csv")
    assert pt.tabulate(rows).sum() == 500
    wanted = pt.to_records(counts).astype(str)
    assert rows.astype(str).equals(wanted.astype(rows.astype(str).dtypes.to_dict()))
    assert main(["sample", "fair.nc", "--rows", "500", "--seed", "3", "--counts", "--out", "counts.csv"]) == 0
    assert pt.load("counts.csv").sum() == 500


def test_sample__refuses_probabilities_without_replacement(people, capsys):
    assert main(["project", *DATA, "--unprotected", "team", "--out", "fair.nc", "--quiet"]) == 0
    assert main(["sample", "fair.nc", "--rows", "5", "--without-replacement", "--out", "rows.csv"]) == 2
    assert "counts must be whole numbers" in capsys.readouterr().err
    assert main(["sample", "fair.nc", "--rows", "5", "--out", "rows.nc"]) == 2
    assert "--out must end in .csv" in capsys.readouterr().err
