"""Elimination modulo a prime, compiled and as plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.rank.slab_elimination import echelon_in_place, inverse_of, reduce_in_place, residue_of
from tests.kernels.drawn import both

PRIME = 4194301


@both(reduce_in_place)
def test_reduce_in_place__agrees_with_whole_numbers(kernel) -> None:
    rng = np.random.default_rng(0)
    most = 2**53 - 2**23
    assert most >= 512 * (PRIME - 1) ** 2
    whole = np.concatenate(
        [rng.integers(-most, most, 300), np.arange(-3, 4) * PRIME, [most, most - 1, -most, 1 - most]]
    )
    values = whole.astype(float).reshape(1, -1)
    kernel(values, float(PRIME))
    np.testing.assert_array_equal(values[0], whole % PRIME)


@both(residue_of)
@pytest.mark.parametrize("prime", [PRIME, 4194287, 4194277, 2097143, 65537, 3])
def test_residue_of__next_to_multiples_of_the_prime(kernel, prime) -> None:
    """There the quotient is rounded to the wrong side: upwards far out, downwards at powers of two."""
    largest = (2**53 - 2**23) // prime
    powers = [2**n for n in range(largest.bit_length() - 1)]
    for factor in [*range(largest - 60, largest), *range(-largest, 60 - largest), *range(-5, 6), *powers]:
        for shift in (-1, 0, 1):
            value = factor * prime + shift
            assert kernel(float(value), float(prime), 1.0 / prime) == value % prime


@both(inverse_of)
@pytest.mark.parametrize("value", [1, 2, 3, 12345, PRIME - 1])
def test_inverse_of__product_is_one(kernel, value: int) -> None:
    assert kernel(value, PRIME) * value % PRIME == 1


@both(echelon_in_place)
def test_echelon_in_place__reduced_form_of_the_same_span(kernel) -> None:
    rng = np.random.default_rng(1)
    start = rng.integers(0, PRIME, (3, 6))
    start = np.vstack([start, start.sum(axis=0) % PRIME, rng.integers(0, PRIME, (1, 6))])
    start[:, 0] = 0
    vectors, leads = start.astype(float), np.empty(5, dtype=np.int64)
    kernel(vectors, float(PRIME), leads)
    assert sorted(leads.tolist()) == [-1, 1, 2, 3, 4]
    assert leads[3] == -1
    assert not vectors[3].any()
    kept = np.flatnonzero(leads >= 0)
    np.testing.assert_array_equal(vectors[np.ix_(kept, leads[kept])], np.eye(4))
    # every start vector is the combination of the basis that its entries at the leads say
    combined = start[:, leads[kept]].astype(object) @ vectors[kept].astype(np.int64).astype(object) % PRIME
    np.testing.assert_array_equal(combined.astype(np.int64), start)
