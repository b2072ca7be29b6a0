"""The wage study over the years, and what turns its verdicts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.studies.claims import Finding
from purtensor.studies.wage import study_wage
from purtensor.studies.wage_claims import by_year, slope_of, year_claims

FALLS, NARROWS, REACHES, REMOVES = range(4)


def made_up(disparity: list[float], fluctuation: list[float], **changed: list[float]) -> pd.DataFrame:
    years = [1981, 1999, 2013][: len(disparity)]
    columns = {
        "year": years,
        "people": [40_000] * len(years),
        "disparity": disparity,
        "disparity error": [0.002] * len(years),
        "largest disparity": [0.31, -0.28, 0.2][: len(years)],
        "of whom": ["female, black at <10"] * len(years),
        "fluctuation": fluctuation,
        "fluctuation error": [0.001] * len(years),
        "removed": [0.95] * len(years),
        "left by chance": [0.01] * len(years),
    }
    return pd.DataFrame(columns | changed)


def findings(frame: pd.DataFrame) -> list[Finding]:
    return [claim.finding for claim in year_claims(frame)]


def test_year_claims__of_falling_numbers_hold() -> None:
    assert findings(made_up([0.12, 0.10, 0.08], [0.03, 0.02, 0.01])) == [Finding.HOLDS] * 4


def test_year_claims__of_rising_numbers_do_not() -> None:
    found = findings(made_up([0.08, 0.10, 0.12], [0.01, 0.02, 0.03]))
    assert found[:2] == [Finding.FAILS, Finding.FAILS]


def test_year_claims__noise_cannot_tell() -> None:
    assert findings(made_up([0.101, 0.102, 0.1], [0.02, 0.0201, 0.0199]))[:2] == [Finding.UNTOLD_YEARS] * 2


def test_year_claims__percentages_are_refuted_by_the_paper_s_years_alone() -> None:
    low = made_up([0.12, 0.10, 0.08], [0.03, 0.02, 0.01], **{"largest disparity": [0.1] * 3, "removed": [0.8] * 3})
    assert findings(low)[REACHES:] == [Finding.FAILS] * 2
    assert findings(low.assign(**{"left by chance": 0.15}))[REMOVES] is Finding.UNTOLD
    assert findings(low.assign(year=[1994, 1995, 1996]))[REACHES:] == [Finding.UNTOLD_YEARS] * 2


def test_slope_of__scatter_beyond_the_errors_widens_its_own() -> None:
    years, errors = np.arange(4.0), np.full(4, 0.1)
    _, of_a_line = slope_of(years, np.array([0.0, 1.0, 2.0, 3.0]), errors)
    slope, of_a_scatter = slope_of(years, np.array([0.0, 3.0, 0.0, 3.0]), errors)
    assert slope == pytest.approx(np.polyfit(years, [0, 3, 0, 3], 1)[0])
    assert of_a_line == pytest.approx(0.1 / np.sqrt(5))
    assert of_a_scatter > 10 * of_a_line


def test_by_year__of_the_embedded_survey() -> None:
    studies = {
        year: study_wage(pt.datasets.census_wage(year=year), f"CPS {year}", sets=4, seed=1) for year in (1995, 1994)
    }
    found = by_year(studies)
    assert found["year"].tolist() == [1994, 1995]
    assert found["people"].sum() == 16_888
    shares = pt.datasets.census_wage(year=1994, attributes=["wage_range", "gender", "race4"]).to_series()
    given = shares / shares.groupby(["gender", "race4"]).transform("sum")
    off = given.unstack(["gender", "race4"]).sub(given.xs(("male", "white"), level=("gender", "race4")), axis=0)
    assert found["largest disparity"].abs()[0] == pytest.approx(off.abs().to_numpy().max(), abs=1e-4)
    assert (found["removed"] > 0.8).all()
    with pytest.raises(pt.InvalidOptionError, match="two years or more"):
        by_year({1994: studies[1994]})
