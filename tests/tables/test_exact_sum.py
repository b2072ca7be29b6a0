"""Sums that are rounded once: the bits of math.fsum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.tables.exact_sum import exact_sum


def test_exact_sum__rounds_once_over_many_blocks() -> None:
    values = np.concatenate([[1e16], np.ones(200_000), [-1e16], [0.5]])
    assert values.sum() != 200_000.5
    assert exact_sum(values) == 200_000.5


@given(
    st.integers(0, 2**32 - 1), st.sampled_from([0, 3, 40, 300, 1000]), st.sampled_from([1, 513, 40_000]), st.booleans()
)
def test_exact_sum__is_that_of_fsum_whatever_the_range_of_the_numbers(
    seed: int, range_in_bits: int, count: int, signed: bool
) -> None:
    rng = np.random.default_rng(seed)
    values = np.ldexp(rng.random(count), rng.integers(-range_in_bits, 1, count))
    if signed:
        values *= rng.choice([-1.0, 1.0], count)
    values[rng.random(count) < 0.1] = 0.0
    assert exact_sum(values) == math.fsum(values.tolist())


@pytest.mark.parametrize("largest", [2.0**1001, 2.0**990, 5e-324, 2.0**-1060])
def test_exact_sum__at_the_ends_of_float64(largest: float) -> None:
    values = np.concatenate([np.full(3000, largest), np.full(3000, -largest), [largest, largest / 2]])
    assert exact_sum(values) == math.fsum(values.tolist())


def test_exact_sum__of_what_is_no_number() -> None:
    assert math.isnan(exact_sum(np.append(np.ones(1000), np.nan)))
    assert exact_sum(np.append(np.ones(1000), np.inf)) == math.inf


def test_exact_sum__of_zeros_and_of_nothing() -> None:
    assert exact_sum(np.zeros(2000)) == 0.0
    assert exact_sum(np.empty(0)) == 0.0
