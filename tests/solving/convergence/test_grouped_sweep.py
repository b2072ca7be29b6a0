"""The leading eigenvalue of sweeps over groups of constraints, against dense projections."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.solving.convergence.grouped_sweep import GroupedSweep, leading_eigenvalue
from purtensor.solving.problem import build_problem
from tests.constraints.exact import dense_matrix
from tests.solving.convergence.test_rates import solved


def dense_leading(problem, masses, groups):
    """The largest modulus of an eigenvalue of (I - E_G) ... (I - E_1) on the span of all rows."""
    columns = (dense_matrix(problem.system) * np.sqrt(masses)).T

    def basis(rows):
        part = columns[:, rows] / np.linalg.norm(columns[:, rows], axis=0)
        found = np.linalg.svd(part, full_matrices=False)
        return found.U[:, 1e-9 * found.S[0] < found.S]

    whole = basis(np.arange(problem.system.rows))
    swept = whole
    for group in groups:
        rows = np.concatenate([np.arange(problem.system.rows)[problem.system.block(k)] for k in group])
        part = basis(rows)
        swept = swept - part @ (part.T @ swept)
    return np.abs(np.linalg.eigvals(whole.T @ swept)).max()


@pytest.mark.parametrize("name", ["PUR", "PUR without regularisation", "cube", "records", "binary, all pairs"])
@pytest.mark.parametrize("merged", [False, True])
def test_leading_eigenvalue__is_that_of_dense_projections(name, merged):
    problem, limit = solved(name)
    count = len(problem.index)
    groups = [(0,), (1, 2), *((k,) for k in range(3, count))] if merged else [(k,) for k in range(count)]
    found = leading_eigenvalue(GroupedSweep.at(problem, limit.masses, groups))
    assert found.settled
    expected = dense_leading(problem, limit.masses, groups)
    assert 1 - abs(found.value) == pytest.approx(1 - expected, rel=1e-3)
    assert abs(found.gap + found.value - 1) < 1e-15


def test_leading_eigenvalue__resolves_the_gap_of_slow_sweeps():
    problem = pt.problems.variant("b", records=45_000, strength=1e-7)
    result = pt.project(
        problem.reference, problem.constraints, solver=pt.Newton(), tolerance=1e-14, on_failure="return"
    )
    arrays = build_problem(problem.reference, problem.constraints).arrays
    found = leading_eigenvalue(GroupedSweep.at(arrays, result.evidence.run.iterate.masses))
    assert np.log(10) / found.gap.real == pytest.approx(5.779e6, rel=1e-3)
    assert found.steps <= 20


def test_leading_eigenvalue__grouping_is_no_gain_for_certain():
    # the counterexample of notes/block_ipf.md: the grouped factor is larger than the plain one
    counts = np.array([[[11, 1], [10, 2]], [[11, 1], [7, 5]]], dtype=float)  # by y, s, x
    joint = counts.sum(2)
    counts *= (np.outer(joint.sum(1), joint.sum(0)) / joint)[:, :, None]  # y independent of s, as at a limit
    labels = [f"{name}{k}" for name in "ysx" for k in range(2)]
    table = xr.DataArray(counts / counts.sum(), dims=list("ysx"), coords=dict(zip("ysx", np.reshape(labels, (3, 2)))))
    constraints = pt.marginals_of(table, [("y", "s"), ("y", "x"), ("s", "x")])
    problem = build_problem(table, constraints).arrays
    plain, grouped = (
        abs(leading_eigenvalue(GroupedSweep.at(problem, problem.reference, groups)).value)
        for groups in ([(0,), (1,), (2,)], [(0,), (1, 2)])
    )
    assert (plain, grouped) == pytest.approx((0.068164, 0.091630), abs=1e-6)
