"""Tables and records that hypothesis draws, and slow obvious ways to read them."""

from __future__ import annotations

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pandas as pd

from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain

CATEGORIES = [
    pd.Index(["b", "a", "never"]),
    pd.Index([3, 1, 2, 40]),
    pd.Index([True, False]),
    pd.IntervalIndex.from_breaks([0, 30, 55, 90], closed="left"),
    pd.Index(["only"]),
    pd.Index([0.5, 0.25]),
    pd.DatetimeIndex(["2020-02-29", "1999-12-31"]),
    pd.Index(["x", 1, "y"]),
]


@st.composite
def domains(draw, least=1, most=4):
    chosen = draw(st.lists(st.sampled_from(range(len(CATEGORIES))), min_size=least, max_size=most))
    return Domain(tuple(f"attribute {i}" for i in range(len(chosen))), tuple(CATEGORIES[k] for k in chosen))


@st.composite
def sparse_tables(draw, values=None, least=1, most=4):
    """Sparse tables in any order of profiles, with unused categories; values are counts from 0, not all 0."""
    domain = draw(domains(least, most))
    rows = draw(
        st.lists(st.tuples(*(st.integers(0, k - 1) for k in domain.sizes)), min_size=1, max_size=20, unique=True)
    )
    values = st.integers(0, 9) if values is None else values
    masses = [draw(st.integers(1, 9)), *(draw(values) for _ in rows[1:])]
    codes = [np.array(column) for column in zip(*rows, strict=True)]
    return sparse_table(domain, codes, np.array(masses, dtype=float), name="count")


def as_dict(table):
    """Return a table of either layout as {frozenset of (attribute, label): Fraction}, without zeros."""
    series = table.to_series()
    names = list(series.index.names)
    profiles = series.index.tolist()
    profiles = profiles if isinstance(series.index, pd.MultiIndex) else [(label,) for label in profiles]
    return {
        frozenset((name, type(label).__name__ == "bool", label) for name, label in zip(names, profile, strict=True)): (
            Fraction(float(value))
        )
        for profile, value in zip(profiles, series.tolist(), strict=True)
        if value
    }
