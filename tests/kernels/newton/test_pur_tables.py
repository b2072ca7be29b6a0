from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.newton.pur_tables import (
    coupling_cells,
    first_response,
    leave_unstated,
    set_pur_targets,
    spread_pur,
    sum_pur_rows,
    sweep_pur,
)
from tests.kernels.drawn import both

S = np.array([0, 1, 2, 0, 1, 3, 2, 3])
X = np.array([0, 0, 0, 1, 1, 1, 2, 2])
GROUPS, SLABS, RESPONSES = 4, 3, 3
ROWS = len(S) + (SLABS + GROUPS) * RESPONSES


def drawn(seed=1):
    return np.random.default_rng(seed).uniform(0.1, 1.0, (len(S), RESPONSES))


def coefficients():
    """C over the profiles (r, y): rows (s, x), (y, x), (y, s)."""
    matrix = np.zeros((ROWS, len(S) * RESPONSES))
    for r in range(len(S)):
        for y in range(RESPONSES):
            column = r * RESPONSES + y
            matrix[r, column] = 1.0
            matrix[len(S) + X[r] * RESPONSES + y, column] = 1.0
            matrix[len(S) + (SLABS + S[r]) * RESPONSES + y, column] = 1.0
    return matrix


@both(sum_pur_rows)
def test_sum_pur_rows__are_the_marginals(kernel):
    masses, sums = drawn(), np.full(ROWS, np.nan)
    kernel(masses, S, X, sums)
    assert sums == pytest.approx(coefficients() @ masses.reshape(-1), rel=1e-14)


@both(spread_pur)
def test_spread_pur__is_the_transpose(kernel):
    potentials, out = np.random.default_rng(2).standard_normal(ROWS), np.empty((len(S), RESPONSES))
    kernel(potentials, S, X, out)
    assert out.reshape(-1) == pytest.approx(coefficients().T @ potentials, rel=1e-14, abs=1e-15)


@both(set_pur_targets)
def test_set_pur_targets__parity_is_the_product_and_the_rest_the_marginals(kernel):
    data, targets = drawn(), np.full(ROWS, np.nan)
    total = kernel(data, S, X, GROUPS, targets)
    of_s = np.array([data[s == S].sum() for s in range(GROUPS)])
    sums = coefficients() @ data.reshape(-1)
    at = len(S) + SLABS * RESPONSES
    assert total == pytest.approx(data.sum(), rel=1e-15)
    assert targets[:at] == pytest.approx(sums[:at], rel=1e-14)
    assert targets[at:].reshape(GROUPS, RESPONSES) == pytest.approx(np.outer(of_s, data.sum(axis=0)) / data.sum())


@both(sweep_pur)
@pytest.mark.parametrize(
    ("utility", "realism", "steps"), [(True, True, (2, 1, 0)), (True, False, (2, 1)), (False, False, (2,))]
)
def test_sweep_pur__is_a_step_of_proportional_fitting_for_each_condition(kernel, utility, realism, steps):
    data, masses = drawn(), drawn(3)
    targets, sums, potentials = np.empty(ROWS), np.empty(ROWS), np.zeros(ROWS)
    set_pur_targets(data, S, X, GROUPS, targets)
    expected = masses.reshape(-1).copy()
    matrix = coefficients()
    ends = [0, len(S), len(S) + SLABS * RESPONSES, ROWS]
    for k in steps:
        rows = slice(ends[k], ends[k + 1])
        expected *= matrix[rows].T @ (targets[rows] / (matrix[rows] @ expected))
    before = masses.copy()
    kernel(masses, targets, S, X, utility, realism, sums, potentials)
    assert masses.reshape(-1) == pytest.approx(expected, rel=1e-13)
    moved = before.reshape(-1) * np.exp(matrix.T @ potentials)
    assert moved == pytest.approx(expected, rel=1e-13)
    assert [bool(potentials[ends[k] : ends[k + 1]].any()) for k in range(3)] == [k in steps for k in range(3)]


@both(leave_unstated)
def test_leave_unstated__nothing_is_missed_there(kernel):
    targets, rows, middle = np.arange(1.0, ROWS + 1), len(S), SLABS * RESPONSES
    for utility, realism, first in [(True, True, 0), (True, False, rows), (False, False, rows + middle)]:
        sums = np.zeros(ROWS)
        kernel(sums, targets, rows, middle, utility, realism)
        assert np.array_equal(sums[:first], targets[:first])
        assert not sums[first:].any()


@both(coupling_cells)
@pytest.mark.parametrize(
    "gone",
    [[], [2], [0, 1], [6, 7], [1, 2, 3, 4, 7], [0, 1, 2, 3, 4, 5]],
    ids=["whole", "one less", "two less", "a slab less", "scattered", "one slab"],
)
@pytest.mark.parametrize("absent", [None, 0, 2])
@pytest.mark.parametrize(("utility", "realism"), [(True, True), (True, False), (False, False)], ids=["PUR", "PU", "P"])
def test_coupling_cells__complete_the_rank(kernel, gone, absent, utility, realism):
    masses = drawn()
    masses[gone] = 0.0
    if absent is not None:
        masses[:, absent] = 0.0
    first = first_response(masses)
    cells = kernel(masses, S, X, GROUPS, first, utility, realism)
    matrix = coefficients()[:, masses.reshape(-1) > 0]
    matrix[: len(S)] *= realism
    matrix[len(S) : len(S) + SLABS * RESPONSES] *= utility
    kept = [r for r in range(len(S)) if masses[r].any() and realism]
    kept += [
        len(S) + x * RESPONSES + y
        for x in range(SLABS)
        for y in range(RESPONSES)
        if utility and (y != first or not realism) and masses[x == X, y].sum() > 0
    ]
    kept += [len(S) + SLABS * RESPONSES + cell for cell in cells]
    rank = np.linalg.matrix_rank(matrix)
    assert len(kept) == rank
    assert np.linalg.matrix_rank(matrix[kept]) == rank


@both(first_response)
def test_first_response__is_refused_where_a_profile_lacks_one(kernel):
    masses = drawn()
    assert kernel(masses) == 0
    masses[:, 0] = 0.0
    masses[3] = 0.0
    assert kernel(masses) == 1
    masses[4, 2] = 0.0
    assert kernel(masses) == -1
    assert kernel(np.zeros((3, 2))) == -1
