"""The Adult data of the UCI repository (data set 2, CC BY 4.0), embedded as counts over raw categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import Table
from purtensor.datasets.counted import choose_attributes, count_profiles, group_labels, read_embedded, require_choice
from purtensor.records.bins import age_labels, bin_values, check_edges

# the attributes of the paper's study: response, two protected, three unprotected
PAPER = ("income", "gender", "race", "age_group", "workclass", "education")

# all attributes that can be asked for; the last five, relationship and marital_status in UCI's own categories
ATTRIBUTES = (*PAPER, "relationship", "marital_status", "race5", "age", "workclass9", "education16", "split")

_INCOME = ("<=50K", ">50K")
_GENDER = {"Female": "female", "Male": "male"}
_RACE = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
_RELATIONSHIP = ("Husband", "Wife", "Own-child", "Other-relative", "Unmarried", "Not-in-family")
_MARITAL_STATUS = (
    "Never-married",
    "Married-civ-spouse",
    "Married-AF-spouse",
    "Married-spouse-absent",
    "Separated",
    "Divorced",
    "Widowed",
)
_DROPOUT = ("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th")
_ABOVE_HIGHSCHOOL = ("Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate")
_EDUCATION = {
    **dict.fromkeys(_DROPOUT, "dropout"),
    "HS-grad": "highschool",
    **dict.fromkeys(_ABOVE_HIGHSCHOOL, "above-highschool"),
}
_WORKCLASS = {
    "Federal-gov": "gov",
    "State-gov": "gov",
    "Local-gov": "gov",
    "Private": "private",
    "Self-emp-inc": "self-employed",
    "Self-emp-not-inc": "self-employed",
}
_UNPAID = ("Without-pay", "Never-worked")
_UNKNOWN = "?"


def adult(
    *,
    sample: str = "paper",
    split: str | None = None,
    age_edges: Sequence[float] = (30, 55),
    unpaid: str = "self-employed",
    attributes: str | Iterable[str] | None = None,
) -> Table:
    """Return the Adult data as a sparse table of counts, by default the paper's 46,043 persons.

    Parameters
    ----------
    sample
        "paper": the 46,043 rows whose workclass is known; "all": all 48,842, where `workclass` has the category
        "unknown".
    split
        None for all rows, or UCI's own "train" (30,725 of the paper's rows) or "test" (15,318).
    age_edges
        Where an age group begins; two edges make young, middle and senior, other numbers groups like "30-39".
    unpaid
        Where the 31 rows Without-pay and Never-worked go, which the paper does not state: "self-employed",
        "private", "gov", or "drop".
    attributes
        What to tabulate, in this order; by default income, gender, race, age_group, workclass, education. There are
        also relationship, marital_status and the raw race5, age (in years), workclass9, education16, split.

    Raises
    ------
    UnknownAttributeError
        An attribute that the data do not have; the message lists those it has.
    InvalidOptionError
        Another option with a value that it cannot have.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.datasets.adult(attributes=["income", "gender"])
    >>> counts.unstack().sel(gender="male").values
    array([21393.,  9728.])

    Notes
    -----
    UCI Machine Learning Repository, https://doi.org/10.24432/C5XW20, by B. Becker and R. Kohavi, CC BY 4.0. The
    paper: O. Loukas and H. R. Chung, arXiv 2309.17347.
    """
    names = choose_attributes(attributes, PAPER, ATTRIBUTES, "the Adult data")
    require_choice(sample, "sample", ("paper", "all"))
    require_choice(split, "split", (None, "train", "test"))
    require_choice(unpaid, "unpaid", ("self-employed", "private", "gov", "drop"))
    edges = check_edges(age_edges, "age_edges")
    left_out = [_UNKNOWN] * (sample == "paper") + [*_UNPAID] * (unpaid == "drop")
    rows = _raw()
    keep = ~np.isin(rows["workclass"], left_out)
    if split is not None:
        keep &= np.asarray(rows["split"] == split)
    rows = rows[keep]
    columns = {name: _column(rows, name, edges, unpaid, left_out) for name in names}
    return count_profiles(columns, rows["count"].to_numpy(np.float64))


def _column(
    rows: pd.DataFrame, name: str, edges: Sequence[float], unpaid: str, left_out: Sequence[str]
) -> pd.Categorical[Any]:
    if name == "age_group":
        return bin_values(rows["age"], edges, age_labels(edges))
    if name == "age":
        return pd.Categorical(rows["age"], categories=np.unique(_raw()["age"]))
    if name == "workclass":
        groups = {**_WORKCLASS, **dict.fromkeys(_UNPAID, unpaid), _UNKNOWN: "unknown"}
    elif name == "workclass9":
        groups = {label: label for label in (*_WORKCLASS, *_UNPAID, _UNKNOWN)}
    else:
        source, groups = _GROUPS[name]
        return group_labels(rows[source].array, groups, name)
    kept = {label: group for label, group in groups.items() if label not in left_out}
    return group_labels(rows["workclass"].array.set_categories(list(kept)), kept, name)


def _as_they_are(labels: Iterable[str]) -> dict[str, str]:
    return {label: label for label in labels}


_GROUPS: dict[str, tuple[str, dict[str, Any]]] = {
    "income": ("income", _as_they_are(_INCOME)),
    "gender": ("sex", _GENDER),
    "race": ("race", {label: "white" if label == "White" else "non-white" for label in _RACE}),
    "race5": ("race", _as_they_are(_RACE)),
    "education": ("education", _EDUCATION),
    "education16": ("education", _as_they_are(_EDUCATION)),
    "relationship": ("relationship", _as_they_are(_RELATIONSHIP)),
    "marital_status": ("marital_status", _as_they_are(_MARITAL_STATUS)),
    "split": ("split", _as_they_are(("train", "test"))),
}


@cache
def _raw() -> pd.DataFrame:
    return read_embedded("adult_counts_with_relationship.csv.gz")
