"""The codes of columns: each value is the category that it equals, to the last digit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from purtensor.sklearn import PURClassifier
from purtensor.sklearn.columns import Column, fit_column

BIG = 2**53
IDS = [BIG, BIG + 1, BIG + 2]


def codes(column: Column, values: Any) -> list[int]:
    return column.codes(nw.from_native(values, series_only=True)).tolist()


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(IDS),
        pd.Series(IDS, dtype="uint64"),
        pd.Series(IDS, dtype="Int64"),
        pl.Series(IDS),
        pl.Series(IDS, dtype=pl.Int128),
        pl.Series([Decimal(number) for number in IDS]),
    ],
    ids=lambda values: f"{type(values).__module__} {values.dtype}",
)
def test_codes__integers_beyond_a_float_are_told_apart(values: Any) -> None:
    column = fit_column("id", nw.from_native(values, series_only=True), 5, np.ones(3))
    assert column.categories.tolist() == IDS
    assert codes(column, values) == [0, 1, 2]
    assert codes(column, pd.Series([BIG + 1, BIG - 1, BIG])) == [1, -1, 0]
    assert codes(column, pd.Series([float(BIG), float(BIG + 2)])) == [0, 2]


def test_codes__fractions_between_the_categories_are_unknown() -> None:
    column = Column("x", pd.Index([1, 2]))
    assert codes(column, pd.Series([1.0, 1.5, 2.0])) == [0, -1, 1]
    assert codes(column, pl.Series([Decimal("1.00000000000000000001"), Decimal("2.00")])) == [-1, 1]


def test_predict__ids_beyond_a_float() -> None:
    rows = pd.DataFrame({"sex": ["f", "m"] * 4, "id": [BIG, BIG, BIG + 1, BIG + 1] * 2})
    hired = np.array([0, 0, 1, 1] * 2)
    model = PURClassifier("sex", conditions="PR", strength=1e-3).fit(rows, hired)
    assert model.predict(rows).tolist() == hired.tolist()
