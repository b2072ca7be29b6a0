from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.newton.pur_equations import assemble_apart, factorize_scaled, solve_scaled, substitute_apart
from purtensor.kernels.newton.pur_tables import coupling_cells
from tests.kernels.drawn import both
from tests.kernels.newton.test_pur_tables import GROUPS, RESPONSES, ROWS, SLABS, S, X, coefficients, drawn

AT_X, AT_S = len(S), len(S) + SLABS * RESPONSES


def equations(utility, gone):
    """Masses, a right-hand side within the range of the Hessian of the rows that are stated, and that Hessian."""
    masses = drawn()
    masses[gone] = 0.0
    stated = coefficients()
    stated[: AT_X if utility else AT_S] = 0.0
    hessian = stated @ np.diag(masses.reshape(-1)) @ stated.T
    return masses, hessian @ np.random.default_rng(5).standard_normal(ROWS), hessian


def placed(masses, utility):
    cells = coupling_cells(masses, S, X, GROUPS, 0, utility, False)
    place = np.full(GROUPS * RESPONSES, -1)
    place[cells] = np.arange(len(cells))
    return cells, place


@both(assemble_apart)
@pytest.mark.parametrize("gone", [[], [2], [6, 7], [1, 2, 3, 4, 7]])
@pytest.mark.parametrize("utility", [True, False])
def test_assemble_apart__and_substitute_solve_the_equations(kernel, utility, gone):
    masses, right, hessian = equations(utility, gone)
    cells, place = placed(masses, utility)
    matrix, side, direction = np.full((len(cells), len(cells)), np.nan), np.full(len(cells), np.nan), np.zeros(ROWS)
    kernel(masses, S, X, utility, right, place, matrix, side)
    assert matrix == pytest.approx(matrix.T, rel=1e-12, abs=1e-15)
    direction[AT_S + cells] = np.linalg.solve(matrix, side)
    if utility:
        substitute_apart(masses, S, X, right, direction)
    assert hessian @ direction == pytest.approx(right, rel=1e-9, abs=1e-12)
    assert np.abs(right).max() > 0.1


@both(substitute_apart)
def test_substitute_apart__leaves_rows_without_mass(kernel):
    masses, right, hessian = equations(True, [6, 7])
    known = np.linalg.lstsq(hessian, right, rcond=None)[0]
    direction = known.copy()
    direction[:AT_S] = np.nan
    kernel(masses, S, X, right, direction)
    assert hessian[AT_X:, AT_X:] @ direction[AT_X:] == pytest.approx(right[AT_X:], rel=1e-9, abs=1e-12)
    assert direction[AT_S - RESPONSES : AT_S].tolist() == [0.0] * RESPONSES  # the third slab has gone


@both(factorize_scaled)
def test_factorize_scaled__and_solve(kernel):
    root = np.random.default_rng(4).standard_normal((6, 6)) * 10.0 ** np.arange(-6, 0)
    matrix = root @ root.T
    solution = np.random.default_rng(5).standard_normal(6)
    upper, scale, vector = np.triu(matrix), np.empty(6), matrix @ solution
    kernel(upper, scale)
    solve_scaled(upper, scale, vector)
    assert matrix @ vector == pytest.approx(matrix @ solution, rel=1e-9)


@both(solve_scaled)
def test_solve_scaled__leaves_out_what_is_singular(kernel):
    rows = np.random.default_rng(6).standard_normal((4, 3))
    root = np.vstack([rows, rows[0] + rows[1], np.zeros(3)])  # rank 3 of 6, the last row empty
    matrix = root @ root.T
    rhs = matrix @ np.ones(6)
    upper, scale, vector = np.triu(matrix), np.empty(6), rhs.copy()
    factorize_scaled(upper, scale)
    kernel(upper, scale, vector)
    assert np.count_nonzero(scale) == 3
    assert vector[scale == 0].tolist() == [0.0] * 3
    assert matrix @ vector == pytest.approx(rhs, rel=1e-9, abs=1e-12)
