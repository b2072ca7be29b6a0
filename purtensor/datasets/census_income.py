"""Hourly wages of the Census-Income data of the UCI repository (data set 117, CC BY 4.0), embedded as counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

import numpy as np
import pandas as pd

from purtensor._typing import Table
from purtensor.datasets.counted import (
    EDUCATION_GROUPS,
    WAGE_STUDY,
    choose_attributes,
    count_profiles,
    group_labels,
    read_embedded,
    require_choice,
)
from purtensor.datasets.sectors import CENSUS_SECTORS
from purtensor.records.bins import age_labels, bin_labels, bin_values, check_edges

# all attributes that can be asked for; those with a number in UCI's own categories
ATTRIBUTES = (*WAGE_STUDY, "race5", "hispanic10", "age", "education16", "industry22", "year", "split")

_NO_DIPLOMA = (
    "Less than 1st grade",
    "1st 2nd 3rd or 4th grade",
    "5th or 6th grade",
    "7th and 8th grade",
    "9th grade",
    "10th grade",
    "11th grade",
    "12th grade no diploma",
)
_SOME_COLLEGE = (
    "Some college but no degree",
    "Associates degree-occup /vocational",
    "Associates degree-academic program",
)
_DEGREE = (
    "Bachelors degree(BA AB BS)",
    "Masters degree(MA MS MEng MEd MSW MBA)",
    "Prof school degree (MD DDS DVM LLB JD)",
    "Doctorate degree(PhD EdD)",
)
_EDUCATION_LABELS = (_NO_DIPLOMA, ("High school graduate",), _SOME_COLLEGE, _DEGREE)
# the default education groups: from UCI's 16 categories
EDUCATION: Mapping[str, str] = MappingProxyType(
    {label: group for group, labels in zip(EDUCATION_GROUPS, _EDUCATION_LABELS, strict=True) for label in labels}
)

_GENDER = {"Female": "female", "Male": "male"}
_RACE5 = ("White", "Black", "Asian or Pacific Islander", "Amer Indian Aleut or Eskimo", "Other")
_RACE4 = ("white", "black", "hispanic", "other")
_NOT_HISPANIC = ("All other", "Do not know", "NA")
_YEARS = {94: 1994, 95: 1995}


def census_wage(
    *,
    year: int | None = None,
    split: str | None = None,
    wage_edges: Sequence[float] = (5, 7.5, 10, 15),
    age_edges: Sequence[float] = (30, 50),
    education: Mapping[str, str] = EDUCATION,
    sectors: Mapping[str, str] = CENSUS_SECTORS,
    attributes: str | Iterable[str] | None = None,
) -> Table:
    """Return 16,888 hourly wages of the Current Population Surveys 1994 and 1995 as a sparse table of counts.

    A real stand-in, free to ship, for the file of the paper's wage study (see `gender_pay_gap`).

    Parameters
    ----------
    year
        None for both, or 1994 or 1995.
    split
        None for all rows, or UCI's own "train" or "test".
    wage_edges
        Where a wage range begins, in dollars an hour; the default makes <5, 5-7.5, 7.5-10, 10-15, >=15.
    age_edges
        Where an age group begins; two edges make young, middle and senior, other numbers groups like "30-39".
    education, sectors
        The group of each of UCI's 16 categories of education, the sector of each of its 22 industries. The groups
        are in the order in which the mapping first names them. Defaults: `purtensor.datasets.census_income.EDUCATION`
        and `purtensor.datasets.sectors.CENSUS_SECTORS`.
    attributes
        What to tabulate, in this order; by default wage_range, gender, race4, age_group, education_group, sector.
        There are also age (in years), race5, hispanic10, education16, industry22, year, split.

    Raises
    ------
    UnknownAttributeError
        An attribute that the data do not have; the message lists those it has.
    UnknownCategoryError
        `education` or `sectors` miss a label of the data, or have one that the data do not.
    InvalidOptionError
        Another option with a value that it cannot have.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.datasets.census_wage(attributes=["gender"])
    >>> counts.values
    array([8754., 8134.])

    Notes
    -----
    UCI Machine Learning Repository, https://doi.org/10.24432/C5N30T, by T. Lane and R. Kohavi, CC BY 4.0. `race4` is
    hispanic for people who report a Hispanic origin, else white, black or other.
    """
    names = choose_attributes(attributes, WAGE_STUDY, ATTRIBUTES, "the Census-Income data")
    require_choice(year, "year", (None, 1994, 1995))
    require_choice(split, "split", (None, "train", "test"))
    wages, ages = check_edges(wage_edges, "wage_edges"), check_edges(age_edges, "age_edges")
    rows = _raw()
    keep = np.ones(len(rows), dtype=bool)
    if year is not None:
        keep &= np.asarray(rows["year"] == year)
    if split is not None:
        keep &= np.asarray(rows["split"] == split)
    rows = rows[keep]
    binnings = {
        "wage_range": lambda: bin_values(rows["wage_per_hour"] / 100, wages, bin_labels(wages)),
        "age_group": lambda: bin_values(rows["age"], ages, age_labels(ages)),
        "education_group": lambda: group_labels(rows["education"].array, education, "education"),
        "sector": lambda: group_labels(rows["major_industry"].array, sectors, "sectors"),
    }
    columns = {name: binnings[name]() if name in binnings else rows[_FIXED[name]].array for name in names}
    return count_profiles(columns, rows["count"].to_numpy(np.float64))


_FIXED = {
    "gender": "gender",
    "race4": "race4",
    "race5": "race",
    "hispanic10": "hispanic_origin",
    "age": "age_in_years",
    "education16": "education",
    "industry22": "major_industry",
    "year": "year",
    "split": "split",
}


@cache
def _raw() -> pd.DataFrame:
    """Return the embedded counts with the columns that depend on no option, categories in a meaningful order."""
    rows = read_embedded("census_income_hourly_wage_counts.csv.gz")
    origins = rows["hispanic_origin"].array
    hispanic = [label for label in origins.categories if label not in _NOT_HISPANIC]
    race = rows["race"].array.set_categories(_RACE5)
    race4 = np.where(rows["hispanic_origin"].isin(hispanic), 2, np.array([0, 1, 3, 3, 3])[race.codes])
    return rows.assign(
        race=race,
        race4=pd.Categorical.from_codes(race4, categories=pd.Index(_RACE4)),
        gender=group_labels(rows["sex"].array, _GENDER, "gender"),
        hispanic_origin=origins.set_categories([*hispanic, *_NOT_HISPANIC]),
        education=rows["education"].array.set_categories(list(EDUCATION)),
        major_industry=rows["major_industry"].array.set_categories(list(CENSUS_SECTORS)),
        year=pd.Categorical(rows["year"].map(_YEARS)),
        age_in_years=pd.Categorical(rows["age"]),
        split=rows["split"].array.set_categories(["train", "test"]),
    )
