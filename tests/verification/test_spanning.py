"""Profiles that can meet any misses, against elimination in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from purtensor.verification import spanning
from purtensor.verification.spanning import spanning_profiles
from purtensor.verification.spanning_tree import pair_of, tree_of
from tests import oracles


def drawn(seed):
    """The rows of random profiles in up to five constraints, numbered through, and masses over thirty decades."""
    rng = np.random.default_rng(seed)
    profiles = int(rng.integers(1, 40))
    index, count = [], 0
    for _ in range(rng.integers(1, 6)):
        own = np.unique(rng.integers(0, rng.integers(1, 7), profiles), return_inverse=True)[1]
        index.append(own + count)
        count += int(own.max()) + 1
    return np.array(index), count, 10.0 ** rng.uniform(-30, 0, profiles)


def matrix_of(index, count):
    matrix = np.zeros((count, index.shape[1]))
    for row in index:
        matrix[row, np.arange(index.shape[1])] = 1.0
    return matrix


@pytest.mark.parametrize("seed", range(60))
def test_spanning_profiles__meet_whatever_any_table_misses(seed):
    index, count, masses = drawn(seed)
    matrix = matrix_of(index, count)
    found = spanning_profiles(index, count, masses)
    missed = matrix @ np.random.default_rng(seed).integers(-9, 10, index.shape[1])
    change = found.change(missed)
    assert matrix @ change == pytest.approx(missed, abs=1e-10)
    used = found.used
    assert len(oracles.independent_rows(matrix[:, used].T)) == len(used) == len(oracles.independent_rows(matrix))
    assert not np.delete(change, used).any()
    assert (found.reach(np.abs(missed)) >= np.abs(change) * (1 - 1e-12)).all()


@pytest.mark.parametrize("seed", range(20))
def test_tree__of_two_constraints_is_the_heaviest(seed):
    index, count, _ = drawn(seed)
    pair = pair_of(index, count)
    order = np.random.default_rng(seed).permutation(index.shape[1])
    tree = tree_of([index[k] for k in pair], count, order)
    columns = matrix_of(index[list(pair)], count).T[order]
    heaviest = {int(order[n]) for n in oracles.independent_rows(columns)}  # greedy is the best in a matroid
    if len(pair) > 1:
        # the top node stands for one more column a tree, which hangs it up
        assert set(tree.via[tree.via >= 0].tolist()) == heaviest


def test_spanning_profiles__find_rows_that_only_light_profiles_free(monkeypatch):
    """A row that follows from the rest on all profiles but a few is not taken for dependent."""
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 4, 4000), rng.integers(0, 4, 4000)
    third = (first + second) % 2
    alone = first * 4 + second
    masses = np.ones(4000)
    odd = int(np.flatnonzero(alone == alone[0])[-1])
    third[odd], masses[odd] = 1 - third[odd], 1e-12
    index = np.array([first, second + 4, third + 8])
    found = spanning_profiles(index, 10, masses)
    matrix = matrix_of(index, 10)
    assert 7 + len(found.rows) == len(oracles.independent_rows(matrix))
    monkeypatch.setattr(spanning, "_MOST_ROWS", 1)
    assert spanning_profiles(index, 10, masses) is None


def test_inverse__is_bounded_from_above_or_refused():
    rng = np.random.default_rng(3)
    for _ in range(50):
        matrix = rng.integers(-1, 2, (5, 5)).astype(float)
        found = spanning._invert(matrix)
        if len(oracles.independent_rows(matrix)) < 5:
            assert found is None
            continue
        size = round(np.linalg.det(matrix))
        for i in range(5):
            for j in range(5):
                minor = np.delete(np.delete(matrix, j, 0), i, 1)
                assert Fraction(abs(round(np.linalg.det(minor))), abs(size)) <= Fraction(float(found[1][i, j]))
