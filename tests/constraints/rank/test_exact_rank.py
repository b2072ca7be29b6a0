"""Ranks guessed modulo primes are exact, also where a prime hides a minor; by elimination in Python's integers."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.constraints.rank.echelon import primes
from purtensor.constraints.rank.exact_rank import Explicit, exact_product, rank_profile
from tests.constraints.exact import rational_rank

FIRST, SECOND = islice(primes(), 2)


def check(matrix: np.ndarray, explain: bool) -> None:
    found = rank_profile(Explicit(matrix), explain=explain)
    ranks = [rational_rank(matrix[:, :n]) for n in range(matrix.shape[1] + 1)]
    first = np.flatnonzero(np.diff(ranks))
    assert len(found.independent) == rational_rank(matrix[:, found.independent]) == len(first)
    if found.relations is not None:
        assert found.independent.tolist() == first.tolist()
    assert sorted([*found.independent, *found.dependent]) == list(range(matrix.shape[1]))
    assert found.relations is not None or not explain or not len(found.dependent)
    for place, weights in zip(found.dependent, found.relations or [], strict=bool(found.relations)):
        assert weights[place] > 0
        assert not (matrix.astype(object) @ weights.astype(object)).any()
        assert set(np.flatnonzero(weights)) <= {place, *found.independent}


@pytest.mark.parametrize("explain", [False, True])
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 6), places=st.integers(1, 6))
def test_rank_profile__is_that_of_exact_elimination(explain: bool, seed: int, rows: int, places: int) -> None:
    rng = np.random.default_rng(seed)
    inner = int(rng.integers(1, 5))
    check(rng.integers(-3, 4, (rows, inner)) @ rng.integers(-3, 4, (inner, places)), explain)


@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("factor", [FIRST, SECOND, FIRST * SECOND], ids=["first", "second", "both"])
def test_rank_profile__a_prime_that_divides_a_minor_hides_nothing(factor: int, explain: bool) -> None:
    """Modulo the prime the middle place seems to vanish; relations need whole numbers beyond one prime."""
    check(np.array([[1, 0, 7, 1], [0, factor, 5, 1]]), explain)
    check(np.array([[factor, 0, 7, 1], [0, 1, 5, 1], [factor, 1, 12, 2]]), explain)


def test_exact_product__does_not_overflow() -> None:
    matrix, weights = np.array([[2**40, 1], [-(2**40), 3]]), np.array([2**30, 5])
    assert exact_product(matrix, weights).tolist() == [2**70 + 5, 15 - 2**70]
    assert exact_product(np.array([[2, 1]]), np.array([3, 4])).dtype == np.int64
