from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.fairness.grid import check_steps


@pytest.mark.parametrize(
    "values",
    [[0, 0.5, True], (0, 0.5, 1), np.array([0, 0.5, 1]), pd.Series([0, 0.5, 1]), iter([0, 0.5, 1])],
    ids=lambda values: type(values).__name__,
)
def test_check_steps__come_as_float64_in_their_order(values) -> None:
    steps = check_steps("slacks", values, np.isfinite, "finite")
    assert steps.dtype == np.float64
    assert steps.tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("12", "slacks must be numbers, got '12'"),
        (["1", 2], "slacks must be numbers, got"),
        (0.5, "slacks must be numbers, got 0.5"),
        (np.array(0.5), "slacks must be numbers, got array"),
        (None, "slacks must be numbers, got None"),
        ([10**400], "slacks must be numbers"),
        ([[1], [1, 2]], "slacks must be numbers"),
        ([], "slacks must be a one-dimensional sequence"),
        ([[1.0, 2.0]], "slacks must be a one-dimensional sequence"),
    ],
    ids=str,
)
def test_check_steps__refuses_what_is_no_row_of_numbers(values, message) -> None:
    with pytest.raises(pt.InvalidOptionError, match=message):
        check_steps("slacks", values, np.isfinite, "finite")
