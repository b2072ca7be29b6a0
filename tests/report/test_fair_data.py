from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.cli.main import main
from purtensor.report.fair_data import disparities, largest_changes

ROLES = {"response": "paid", "protected": ["sex"]}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(9)
    sex = rng.choice(["f", "m"], 800, p=[0.4, 0.6])
    paid = np.where(rng.random(800) < np.where(sex == "f", 0.3, 0.5), "much", "little")
    return pd.DataFrame({"paid": paid, "sex": sex, "team": rng.choice(["a", "b", "c"], 800)})


def projected(frame, **options):
    f = pt.regularize(pt.tabulate(frame, **options), response="paid")
    return pt.project(f, pt.pur(f, response="paid", protected="sex")), f


def test_disparities__with_standard_errors_that_a_bootstrap_confirms(people):
    found, told = disparities(*projected(people), **ROLES)
    assert found["after"].tolist() == pytest.approx([1, 1], abs=1e-6)
    assert told.startswith("Standard errors take")
    rng = np.random.default_rng(1)

    def ratio(frame):
        shares = pd.crosstab(frame["sex"], frame["paid"], normalize="index")
        return (shares.loc["f"] / shares.loc["m"])[["little", "much"]].to_numpy()

    assert found["before"].to_numpy() == pytest.approx(ratio(people), rel=1e-4)
    drawn = np.array([ratio(people.iloc[rng.integers(0, 800, 800)]) for _ in range(300)])
    assert found["se before"].to_numpy() == pytest.approx(drawn.std(axis=0), rel=0.15)


def test_disparities__of_weights_have_no_standard_errors(people):
    found, told = disparities(*projected(people, weights=np.full(800, 0.7123)), **ROLES)
    assert told == "No standard errors: the counts are sums of weights."
    assert list(found.columns) == ["group", "paid", "before", "after"]


def test_largest_changes__are_the_largest(people):
    result, f = projected(people)
    found = largest_changes(result, 4)
    change = np.abs(result.table.values - f.values)
    assert np.abs(found["after"] - found["before"]).tolist() == pytest.approx(sorted(change, reverse=True)[:4])
    assert found["factor"].tolist() == pytest.approx((found["after"] / found["before"]).tolist())


def test_project__writes_a_report_that_needs_no_other_file(people, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    words = ["project", "people.csv", "--response", "paid", "--protected", "sex", "--out", "fair.csv"]
    assert main([*words, "--report", "report"]) == 0
    page = (tmp_path / "report" / "report.html").read_text()
    wanted = [
        "The fair version of people.csv",
        "data:image/svg+xml",
        "se before",
        "What changed most",
        "--report report",
    ]
    for told in [*wanted, "a check by separate code confirms", "nats from the data"]:
        assert told in page, told
    written = pd.read_csv(tmp_path / "report" / "disparities.csv")
    assert written["after"].tolist() == pytest.approx([1, 1], abs=1e-6)
    assert "report/report.html" in capsys.readouterr().out
    assert main([*words, "--report", "people.csv"]) == 2
    assert main([*words, "--report", "no/report"]) == 2
