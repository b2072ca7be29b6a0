"""Null vectors of slabs, compiled and as plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from purtensor.kernels.rank.slab_elimination import (
    echelon_in_place,
    inverse_of,
    null_vectors,
    number_rows,
    reduce_in_place,
    residue_of,
)
from tests.constraints.exact import rational_rank
from tests.kernels.drawn import both

PRIME = 4194301
INNER = np.array([[0, 0, 1, 1, 2, 2, 2], [1, 0, 0, 1, 2, 3, 2], [0, 1, 0, 1, 2, 2, 3]], dtype=np.uint8)
INNER_STARTS = np.array([0, 3, 7])
SLABS = np.array([0, 4, 7])
OUTER = np.array([[0, 1, 1, 0, 0, 1, 1]], dtype=np.uint8)


@both(number_rows)
def test_number_rows__ascending_within_each_constraint(kernel) -> None:
    usable = np.ones(11, dtype=bool)
    usable[8] = False
    number, rows = np.full(11, -1), np.empty(12, dtype=np.int64)
    assert kernel(0, 4, INNER, INNER_STARTS, usable, number, rows) == 5
    assert rows[:5].tolist() == [0, 1, 3, 4, 7]
    assert number.tolist() == [0, 1, -1, 2, 3, -1, -1, 4, -1, -1, -1]


@both(null_vectors)
@pytest.mark.parametrize("last", [3, 2])
def test_null_vectors__independent_rows_and_sums_over_the_outer_ones(kernel, last: int) -> None:
    """`last` constraints inside: with all three the first slab's rows have rank 4, with two of them 3."""
    inner, starts = INNER[:last], INNER_STARTS[:last]
    usable, independent = np.ones(13, dtype=bool), np.zeros(13, dtype=bool)
    places = np.full(13, -1)
    places[11:] = [0, 1]
    vectors = np.full((7, 2), 99)
    count = kernel(0, 2, SLABS, inner, starts, usable, OUTER, np.array([11]), places, PRIME, independent, vectors)
    expected_rank = 0
    for begin, end in itertools.pairwise(SLABS):
        matrix = np.zeros((13, end - begin), dtype=int)
        for k in range(last):
            matrix[starts[k] + inner[k, begin:end].astype(int), np.arange(end - begin)] = 1
        rank = rational_rank(matrix)
        expected_rank += rank
        assert rational_rank(matrix[independent]) == rank
    assert independent.sum() == expected_rank
    assert count == 7 - expected_rank
    if last == 2:  # the first slab is the cycle of its four profiles: its signs + - + - meet outer rows 0 1 1 0
        np.testing.assert_array_equal(np.abs(vectors[0]), [0, 0])
    np.testing.assert_array_equal(vectors[:count].sum(axis=1), 0)


@both(null_vectors)
def test_null_vectors__says_when_entries_are_no_small_whole_numbers(kernel) -> None:
    """Modulo 13 every number is small; a null vector that is right only modulo the prime is caught by its sums."""
    inner = np.array([[0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 0]], dtype=np.uint8)
    usable, independent = np.ones(6, dtype=bool), np.zeros(6, dtype=bool)
    vectors = np.empty((6, 0), dtype=np.int64)
    nothing = np.empty((0, 6), dtype=np.uint8)
    empty = np.empty(0, dtype=np.int64)
    arguments = (0, 1, np.array([0, 6]), inner, np.array([0, 3]), usable, nothing, empty, empty)
    assert kernel(*arguments, PRIME, independent, vectors) == 1
    assert kernel(*arguments, 2, independent, vectors) == -1


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
