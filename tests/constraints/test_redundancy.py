"""Every redundant row follows from rows named before it: checked on the matrix, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest

from purtensor.constraints.independence import independent_rows
from purtensor.constraints.redundancy import redundant
from purtensor.constraints.system import System, submatrix
from tests.constraints.exact import all_pairs, dense_matrix, system_on
from tests.constraints.test_independence import PUR, doubling_support, random_system


def check(system: System) -> None:
    matrix = dense_matrix(system).astype(object)
    known = set(independent_rows(system).rows.tolist())
    for proof in redundant(system):
        assert proof.row not in known
        assert known.issuperset(proof.rows.tolist())
        assert proof.multiplier > 0
        assert np.array_equal(proof.multiplier * matrix[proof.row], proof.weights.astype(object) @ matrix[proof.rows])
        known.add(proof.row)
    assert known == set(range(system.rows))


@pytest.mark.parametrize("seed", range(60))
def test_redundant__implied_by_independent_and_earlier_rows(seed: int) -> None:
    check(random_system(seed))


@pytest.mark.parametrize("seed", [104, 362, 927, 1083])
def test_redundant__multipliers_beyond_one(seed: int) -> None:
    """Supports found by search, on which some row is implied only twice over."""
    rng = np.random.default_rng(seed)
    support_sizes = rng.integers(2, 5, int(rng.integers(3, 5)))
    support = rng.random(support_sizes) < rng.choice([0.3, 0.5, 0.7])
    system = system_on(support, all_pairs(4))
    assert any(proof.multiplier > 1 for proof in redundant(system))
    check(system)


def test_redundant__weights_beyond_one_prime_and_int64() -> None:
    system = system_on(doubling_support(70), [(0,), (1,), (2,)])
    assert max(int(np.abs(proof.weights).max()) for proof in redundant(system)) > 2**63
    check(system)


def test_redundant__rows_without_profiles() -> None:
    support = np.ones((2, 3, 2), dtype=bool)
    system = submatrix(system_on(support, PUR), np.flatnonzero(np.argwhere(support)[:, 1] > 0))
    check(system)
    assert str(redundant(system)[0]) == "a0=0, a1=0 has no profile"


def test_redundant__reads_as_a_sentence() -> None:
    system = system_on(np.ones((2, 2), dtype=bool), [(0,), (1,)])
    assert [str(proof) for proof in redundant(system)] == ["a1=0 is (a0=0) + (a0=1) - (a1=1)"]
    long = system_on(np.ones((2, 12), dtype=bool), [(0, 1), (0,)])
    assert str(redundant(long)[0]).endswith("and 4 more terms")
