"""Public complaints about this kind of software, with the right answers (the numbers are those of the list)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.errors import InconsistentTargetsError, InfeasibleError, InvalidTableError, NotConvergedError
from tests import oracles
from tests.solving.drawn import SOLVERS

each_solver = pytest.mark.parametrize("solver", [*SOLVERS.values(), None], ids=[*SOLVERS, "chosen"])


def table(values, names="abcdef"):
    values = np.asarray(values, dtype=float)
    dims = list(names[: values.ndim])
    return xr.DataArray(
        values, dims=dims, coords={d: [f"{d}{i}" for i in range(n)] for d, n in zip(dims, values.shape)}
    )


def masses(result):
    return oracles.masses_of(result.table)


def shuffled(sparse, seed):
    return sparse.isel(profile=np.random.default_rng(seed).permutation(sparse.sizes["profile"]))


@each_solver
def test_case_1__rows_in_any_order_and_zeros_that_stay(solver):
    rng = np.random.default_rng(1)
    values = rng.integers(1, 50, (2, 3, 3)).astype(float)
    values.flat[rng.choice(18, 7, replace=False)] = 0.0
    goal = table(values * rng.uniform(0.5, 2.0, values.shape))
    constraints = pt.marginals_of(goal, [("a", "b"), ("b", "c"), ("a", "c")])
    dense = pt.project(table(values), constraints, solver=solver)
    assert dense.residual <= 1e-10
    assert ((dense.table.values == 0.0) == (values == 0.0)).all()
    for seed in range(4):
        frame = shuffled(pt.to_sparse(table(values), keep_zeros=True), seed)
        result = pt.project(
            frame, [pt.Marginal(shuffled(pt.to_sparse(c.target), seed)) for c in constraints], solver=solver
        )
        back = pt.to_dense(result.table).transpose("a", "b", "c").sortby(["a", "b", "c"])
        assert back.values == pytest.approx(dense.table.values, abs=1e-9)
        assert ((back.values == 0.0) == (values == 0.0)).all()
        assert result.table.indexes["profile"].equals(frame.indexes["profile"])


@each_solver
def test_case_2__attributes_of_a_constraint_in_any_order(solver):
    rng = np.random.default_rng(2)
    reference = table(rng.uniform(0.5, 2.0, (2, 4, 3)))
    goal = table(rng.uniform(0.5, 2.0, (2, 4, 3)))
    straight = pt.marginals_of(goal, [("a", "b"), ("a", "c")])
    turned = (straight[0], pt.Marginal(straight[1].target.transpose("c", "a")))
    one, other = (pt.project(reference, constraints, solver=solver) for constraints in (straight, turned))
    assert one.table.values == pytest.approx(other.table.values, rel=1e-12)
    assert other.potentials[1].dims == ("c", "a")


def test_case_2__conflicting_targets_name_the_marginal_and_both_values():
    rows = table([[26.0, 26.0], [24.0, 24.0]])
    columns = table([[20.0, 20.0], [30.0, 30.0]], "ac")
    with pytest.raises(InconsistentTargetsError, match=r"a=a[01].*(52|48).*(40|60)"):
        pt.project(table(np.ones((2, 2, 2))), [pt.Marginal(rows), pt.Marginal(columns)])


@each_solver
def test_case_3__what_no_constraint_mentions_stays_as_it_was(solver):
    rng = np.random.default_rng(3)
    reference = table(rng.uniform(0.1, 1.0, (2, 3, 2, 4)))
    goal = table(rng.uniform(0.1, 1.0, (2, 3, 2)))
    result = pt.project(reference, pt.marginals_of(goal, [("a", "b"), ("b", "c"), ("a", "c")]), solver=solver)
    before = reference / reference.sum("d")
    after = result.table / result.table.sum("d")
    assert after.values == pytest.approx(before.values, rel=1e-12)


def test_case_4__judged_on_all_constraints_not_the_last():
    rng = np.random.default_rng(4)
    reference, goal = (table(rng.uniform(0.1, 1.0, (4, 4))) for _ in range(2))
    constraints = pt.marginals_of(goal / goal.sum(), ["a", "b"])
    with pytest.raises(NotConvergedError) as caught:
        pt.project(reference, constraints, solver=pt.IPF(), tolerance=1e-6, max_iterations=1)
    result = caught.value.projection
    columns = np.abs(result.table.sum("a") - constraints[1].target).max()
    rows = np.abs(result.table.sum("b") - constraints[0].target).max()
    assert columns < 1e-15 < 1e-4 < rows
    assert result.residual == pytest.approx(float(rows), rel=1e-10)


def test_case_5__totals_that_differ_are_refused_before_any_solve():
    rows, columns = table([40.0, 60.0]), table([50.0, 31.0, 20.0], "b")
    with pytest.raises(InconsistentTargetsError, match=r"100.*101"):
        pt.project(table(np.ones((2, 3))), [pt.Marginal(rows), pt.Marginal(columns)], solver=Refusing())


class Refusing:
    """A solver that must not be asked."""

    def step(self, problem, iterate, budget):
        raise AssertionError("a step was made")


def test_case_6__an_empty_column_with_a_positive_target():
    reference = table(np.ones((3, 3)) * [0.0, 1.0, 1.0])
    ones = [pt.Marginal(table(np.ones(3))), pt.Marginal(table(np.ones(3), "b"))]
    with pytest.raises(InfeasibleError, match=r"b=b0 needs 1"):
        pt.project(reference, ones, solver=Refusing())


@each_solver
def test_case_7__a_target_of_zero_empties_its_profiles_and_nothing_else(solver):
    rng = np.random.default_rng(7)
    reference, goal = table(rng.uniform(0.1, 1.0, (3, 4))), rng.uniform(0.1, 1.0, (3, 4))
    goal[1] = 0.0
    result = pt.project(reference, pt.marginals_of(table(goal), ["a", "b"]), solver=solver)
    assert result.table.values[1].tolist() == [0.0] * 4
    assert (result.table.values[[0, 2]] > 0.0).all()
    assert result.residual <= 1e-10
    without = pt.project(
        reference.isel(a=[0, 2]), pt.marginals_of(table(goal).isel(a=[0, 2]), ["a", "b"]), solver=solver
    )
    assert result.table.values[[0, 2]] == pytest.approx(without.table.values, rel=1e-7)
    assert result.potentials[0].values[1] == -np.inf
    assert np.isfinite(result.potentials[0].values[[0, 2]]).all()
    assert np.isfinite(result.divergence)
    assert result.certified


@each_solver
def test_case_11__the_measure_of_convergence_is_defined_at_a_target_of_zero(solver):
    goal = table([[0.0, 0.3], [0.2, 0.5]])
    result = pt.project(table(np.ones((2, 2))), [pt.Marginal(goal)], solver=solver)
    assert result.table.values == pytest.approx(goal.values, abs=1e-10)
    assert result.table.values[0, 0] == 0.0
    assert result.residual <= 1e-10


@each_solver
@pytest.mark.parametrize("scale", [1e-3, 2e-3, 5e-2])
def test_case_13__zero_weights_and_a_huge_range(solver, scale):
    i = np.arange(3.0)
    reference = table(np.exp(-np.abs(i[:, None] - i[None, :]) / scale))
    weights = np.array([0.5, 0.5, 0.0])
    result = pt.project(reference, [pt.Marginal(table(weights)), pt.Marginal(table(weights, "b"))], solver=solver)
    off = np.exp(-1.0 / scale) / 2 / (1 + np.exp(-1.0 / scale))
    wanted = [[0.5 - off, off, 0.0], [off, 0.5 - off, 0.0], [0.0, 0.0, 0.0]]
    assert result.table.values == pytest.approx(np.array(wanted), rel=1e-9, abs=0.0)
    assert np.isfinite(result.divergence)


def test_case_12__nan_in_the_reference_is_refused_by_its_profile():
    spoilt = table(np.ones((2, 2)))
    spoilt[1, 0] = np.nan
    with pytest.raises(InvalidTableError, match=r"a=a1.*b=b0"):
        pt.project(spoilt, pt.marginals_of(table(np.ones((2, 2))), ["a"]))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_golden__and_gate_sweep_by_sweep(order):
    """110 has 1 / (12 n) after n sweeps in the order xy, yz, xz; in other orders it tends to 0 all the same."""
    gate = pt.problems.load("and_gate")
    for n in (1, 2, 5):
        result = pt.project(
            gate.reference, gate.constraints, solver=pt.IPF(order=order), max_iterations=n, on_failure="return"
        )
        share = float(result.table.sel(x=1, y=1, z=0))
        if order == (0, 1, 2):
            assert share == pytest.approx(1 / (12 * n), rel=1e-13)
        assert 0.0 < share < 1 / (4 * n)
        assert result.table.values[[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]].tolist() == [0.0] * 4


def test_golden__staircase_sweep_by_sweep():
    """Cell (1, 1) has 1 / (2n + 1) after n sweeps, rows first."""
    stairs = pt.problems.load("staircase")
    for n in (1, 2, 10, 30):
        result = pt.project(
            stairs.reference, stairs.constraints, solver=pt.IPF(), max_iterations=n, on_failure="return"
        )
        assert float(result.table.sel(row=1, column=1)) == pytest.approx(1 / (2 * n + 1), rel=1e-13)
        assert float(result.table.sel(row=2, column=2)) == 0.0


@each_solver
def test_golden__two_structural_zeros_leave_one_table(solver):
    known = pt.problems.load("haberman")
    result = pt.project(known.reference, known.constraints, solver=solver, tolerance=1e-12)
    wanted = np.array([[[0.0, 2.0], [3.0, 5.0]], [[4.0, 6.0], [4.0, 0.0]]]) / 24
    assert result.table.values == pytest.approx(wanted, abs=1e-10)
