"""Peeling, compiled and as plain Python: what goes are pivots, what stays has two of everything."""

from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.rank import peeling as compiled
from tests.constraints.exact import dense_matrix, rational_rank, system_on
from tests.kernels.drawn import plain


class Plain:
    """The same kernels without compilation."""

    def __getattr__(self, name):
        return plain(getattr(compiled, name))


@pytest.mark.parametrize("kernels", [compiled, Plain()], ids=["compiled", "plain"])
@pytest.mark.parametrize("seed", range(6))
def test_peel__pivots_and_core_make_the_rank(kernels, seed: int) -> None:
    rng = np.random.default_rng(seed)
    support = rng.random((4, 4, 4)) < (0.2, 0.5)[seed % 2]
    system = system_on(support, [(0, 1), (0, 2), (1, 2)])
    usable = rng.random(system.rows) < 0.7
    alive, present = usable.copy(), np.ones(system.profiles, dtype=bool)
    starts = system.offsets[:-1]
    matrix = dense_matrix(system) * usable[:, None]
    row_left, profile_left = np.zeros(system.rows, dtype=np.int64), np.zeros(system.profiles, dtype=np.int64)
    halves = ((0, system.profiles // 2), (system.profiles // 2, system.profiles))
    for begin, end in halves:
        kernels.count_profiles(system.index, starts, alive, begin, end, row_left, profile_left)
    np.testing.assert_array_equal(row_left, matrix.sum(axis=1))
    np.testing.assert_array_equal(profile_left, matrix.sum(axis=0))
    begins = np.concatenate([[0], np.cumsum(row_left)])
    filled, profiles = begins[:-1].copy(), np.empty(begins[-1], dtype=np.int32)
    for begin, end in halves:
        kernels.list_profiles(system.index, starts, alive, begin, end, filled, profiles)
    for row in np.flatnonzero(usable):
        assert profiles[begins[row] : begins[row + 1]].tolist() == np.flatnonzero(matrix[row]).tolist()
    rows, columns = (np.empty(system.profiles, dtype=np.int64) for _ in range(2))
    by_row = np.empty(system.profiles, dtype=bool)
    first = np.concatenate([-1 - np.flatnonzero(row_left == 1), np.flatnonzero(profile_left == 1)])
    stack = np.concatenate([first, np.zeros(system.rows + system.profiles, dtype=np.int64)])
    top, count = len(first), 0
    while top:  # a little work at a time
        top, count = kernels.peel(
            system.index,
            starts,
            profiles,
            begins,
            alive,
            present,
            row_left,
            profile_left,
            stack,
            top,
            rows,
            columns,
            by_row,
            count,
            5,
        )
    core = matrix[np.ix_(alive, present)]
    assert count + rational_rank(core) == rational_rank(matrix)
    assert count > 0
    assert not np.any(core.sum(axis=0) == 1)
    assert not np.any(core.sum(axis=1) == 1)
    assert np.all(matrix[rows[:count], columns[:count]] == 1)
    assert not alive[rows[:count]].any()
    assert not present[columns[:count]].any()


@pytest.mark.parametrize("kernels", [compiled, Plain()], ids=["compiled", "plain"])
def test_extend_weights__every_profile_sums_to_nothing(kernels) -> None:
    """Row 3 stands alone in profile 2; its weight makes up for that of row 0 there. Row 1 and profile 1 likewise."""
    index = np.array([[0, 0, 0], [0, 1, 1]], dtype=np.uint8)
    starts = np.array([0, 1])
    weights = np.array([5, 0, 0])
    kernels.extend_weights(
        index, starts, np.ones(3, dtype=bool), np.array([1, 2]), np.array([0, 2]), np.array([True, True]), weights, 101
    )
    assert weights.tolist() == [5, 96, 96]
    weights = np.array([5, 0, 0])
    kernels.extend_weights(
        index, starts, np.ones(3, dtype=bool), np.array([1, 2]), np.array([0, 2]), np.array([True, False]), weights, 101
    )
    assert weights.tolist() == [5, 96, 0]
