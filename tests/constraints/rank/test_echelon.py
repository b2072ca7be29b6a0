"""Elimination modulo primes, and whole numbers regained from residues."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.constraints.rank.echelon import Echelon, centre_all, primes, relation
from tests.constraints.exact import rational_rank

FIRST = list(islice(primes(), 30))


def test_primes__largest_below_two_to_the_22() -> None:
    assert FIRST[:3] == [4194301, 4194287, 4194277]  # by trial division with all smaller numbers, once
    assert all(all(p % d for d in range(2, 2049)) for p in FIRST)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 40))
def test_echelon__rank_and_leads_are_those_of_exact_elimination(seed: int, size: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-2, 3, (count, min(size, 4))) @ rng.integers(-1, 2, (min(size, 4), size))
    echelon = Echelon(size, FIRST[0])
    echelon.insert(vectors)
    assert echelon.rank == rational_rank(vectors)
    ranks = [rational_rank(vectors[:, :n]) for n in range(size + 1)]
    np.testing.assert_array_equal(echelon.leads, np.flatnonzero(np.diff(ranks)))
    dependent = echelon.dependent()
    implied = vectors[:, echelon.leads] @ echelon.coefficients(dependent).T
    np.testing.assert_array_equal((vectors[:, dependent] - implied) % FIRST[0], 0)


@pytest.mark.compiled("takes too long as plain Python")
@pytest.mark.parametrize("pieces", [7, 60])
def test_echelon__one_form_whatever_the_order(pieces: int) -> None:
    """More vectors than a batch and more basis vectors than float64 sums exactly at once."""
    rng = np.random.default_rng(5)
    vectors = rng.integers(-1, 2, (540, 520)) @ rng.integers(-3, 4, (520, 530))
    whole = Echelon(530, FIRST[1])
    whole.insert(vectors)
    assert whole.rank == 520
    parts = Echelon(530, FIRST[1])
    for part in np.array_split(rng.permutation(vectors), pieces):
        parts.insert(part)
    np.testing.assert_array_equal(parts.leads, whole.leads)
    np.testing.assert_array_equal(parts.coefficients(parts.dependent()), whole.coefficients(whole.dependent()))


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=5))
def test_centre_all__regains_whole_numbers(values: list[int]) -> None:
    moduli = FIRST[:4]
    assert centre_all([np.array([v % p for v in values]) for p in moduli], moduli).tolist() == values


@given(st.lists(st.fractions(max_denominator=10**4), min_size=1, max_size=4), st.booleans())
def test_relation__regains_fractions(values: list[Fraction], large: bool) -> None:
    if large:
        values = [*values, Fraction(2**90 + 1, 3**20)]
    moduli = FIRST[:25]
    residues = [np.array([v.numerator * pow(v.denominator, -1, p) % p for v in values]) for p in moduli]
    multiplier, *weights = relation(residues, moduli)
    assert multiplier > 0
    assert [Fraction(weight, multiplier) for weight in weights] == values


def test_relation__says_when_the_primes_are_too_few() -> None:
    values = [Fraction(2**40 + 1, 3**15), Fraction(5**17, 7**12)]
    for count in (1, 2, 3):
        residues = [np.array([v.numerator * pow(v.denominator, -1, p) % p for v in values]) for p in FIRST[:count]]
        assert relation(residues, FIRST[:count]) is None
