"""Sums of dense tables over axes: those of math.fsum to the last bits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor._typing import FloatArray
from purtensor.tables import dense_sums as module
from purtensor.tables.dense_sums import dense_sums

SCOPES = [(0,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2), ()]


def exactly(values: FloatArray, scope: tuple[int, ...]) -> FloatArray:
    """The sums over the other axes, each rounded once."""
    order = [*scope, *(axis for axis in range(values.ndim) if axis not in scope)]
    shape = tuple(values.shape[axis] for axis in scope)
    rows = values.transpose(order).reshape(math.prod(shape), -1)
    return np.array([math.fsum(row.tolist()) for row in rows]).reshape(shape)


def drawn(seed: int, shape: tuple[int, ...], range_in_bits: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    values = np.ldexp(rng.random(shape), rng.integers(-range_in_bits, 1, shape))
    values[rng.random(shape) < 0.1] = 0.0
    return values


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(2, 3, 500), (40, 3, 2), (3, 70, 4), (1, 1, 1)]),
    st.sampled_from([0, 20, 60, 400]),
)
def test_dense_sums__are_right_to_the_last_bits(seed: int, shape: tuple[int, ...], range_in_bits: int) -> None:
    values = drawn(seed, shape, range_in_bits)
    before = values.copy()
    for scope, sums in zip(SCOPES, dense_sums(values, SCOPES), strict=True):
        expected = exactly(values, scope)
        np.testing.assert_allclose(sums, expected, rtol=4e-16 if range_in_bits <= 20 else 1e-14)
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("factor", [2.0**990, 1e-300, 0.0])
def test_dense_sums__at_the_ends_of_float64(factor: float) -> None:
    values = factor * drawn(1, (3, 4, 50), 10)
    for scope, sums in zip(SCOPES, dense_sums(values, SCOPES), strict=True):
        np.testing.assert_allclose(sums, exactly(values, scope), rtol=4e-16)


@pytest.mark.parametrize("shape", [(3, 4, 5000), (5000, 3, 4), (3, 5000, 4)])
def test_dense_sums__have_the_same_bits_for_any_number_of_threads(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK", 1 << 12)
    monkeypatch.setattr(module, "_BLOCK", 1 << 10)
    values = drawn(3, shape, 30)
    found = []
    for threads in ("1", "4"):
        monkeypatch.setenv("PURTENSOR_THREADS", threads)
        found.append(dense_sums(values, SCOPES))
    for one, other, scope in zip(*found, SCOPES, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, exactly(values, scope), rtol=4e-16)
