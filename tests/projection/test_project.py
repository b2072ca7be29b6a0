"""From labels to labels: layouts, units, potentials and the trace."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.errors import InconsistentTargetsError, UnknownAttributeError, UnknownCategoryError
from purtensor.kernels.engine import engine
from tests import oracles
from tests.solving.drawn import PROBLEMS, SOLVERS, labelled_problem
from tests.strategies import cases

each_solver = pytest.mark.parametrize("solver", [*SOLVERS.values(), None], ids=[*SOLVERS, "chosen"])


def returned(reference, constraints, **options):
    return pt.project(reference, constraints, on_failure="return", **options)


def rescaled(table, factor):
    return table.copy(data=table.values * factor)


@each_solver
@pytest.mark.parametrize("exponents", [(10, 0), (0, -7), (37, 37), (-300, 200)])
def test_project__powers_of_two_change_no_bit(solver, exponents):
    reference, constraints = labelled_problem("cube")
    of_reference, of_targets = (2.0**exponent for exponent in exponents)
    plain = returned(reference, constraints, solver=solver, tolerance=1e-8)
    scaled = returned(
        rescaled(reference, of_reference),
        [pt.Marginal(rescaled(c.target, of_targets)) for c in constraints],
        solver=solver,
        tolerance=1e-8,
    )
    assert scaled.table.values.tolist() == (plain.table.values * of_targets).tolist()
    assert scaled.iterations == plain.iterations
    assert (scaled.residual, scaled.bound, scaled.tv_bound) == (plain.residual, plain.bound, plain.tv_bound)
    assert scaled.divergence == pytest.approx(plain.divergence, rel=1e-12)


@each_solver
def test_project__any_scale_gives_the_same_answer_to_rounding(solver):
    reference, constraints = labelled_problem("cube")
    plain = returned(reference, constraints, solver=solver)
    counts = [pt.Marginal(rescaled(c.target, 4603.0)) for c in constraints]
    scaled = returned(rescaled(reference, 0.1), counts, solver=solver)
    assert scaled.table.values == pytest.approx(plain.table.values * 4603.0, rel=1e-7)
    assert float(scaled.table.sum()) == pytest.approx(4603.0, rel=1e-9)
    assert scaled.residual <= 1e-10  # of a total mass of 1


@pytest.mark.parametrize("name", PROBLEMS)
def test_project__table_is_reference_times_the_exponential_of_potentials(name):
    reference, constraints = labelled_problem(name)
    result = returned(reference, constraints)
    sparse, answer = (pt.to_sparse(table) for table in (reference, result.table))
    exponent = np.zeros(sparse.sizes["profile"])
    for potential in result.potentials:
        values = oracles.masses_of(pt.to_dense(potential.copy(data=np.exp(potential.values))))
        at = [sparse.indexes["profile"].names.index(attribute) for attribute in oracles.attributes_of(potential)]
        exponent += [np.log(float(values[tuple(label[i] for i in at)])) for label in sparse.indexes["profile"]]
    assert answer.values == pytest.approx(sparse.values * np.exp(exponent), rel=1e-11)


@pytest.mark.parametrize("name", PROBLEMS)
def test_project__potentials_are_zero_on_rows_that_depend_on_others(name):
    reference, constraints = labelled_problem(name)
    found = np.concatenate([potential.values.ravel() for potential in returned(reference, constraints).potentials])
    free = int(pt.coefficients(reference, constraints).rank)
    assert np.count_nonzero(found[np.isfinite(found)]) <= free
    # the same potentials whichever solver found the answer
    other = returned(reference, constraints, solver=pt.LBFGS(), tolerance=1e-13)
    again = returned(reference, constraints, solver=pt.Newton(), tolerance=1e-13)
    for one, two in zip(other.potentials, again.potentials, strict=True):
        assert one.values == pytest.approx(two.values, abs=1e-4)
        assert ((one.values == 0) == (two.values == 0)).all()


@each_solver
def test_project__layouts_and_orders_do_not_matter(solver):
    reference, constraints = labelled_problem("cube")
    dense = returned(reference, constraints, solver=solver, tolerance=1e-12)
    rng = np.random.default_rng(0)
    sparse = pt.to_sparse(reference)
    sparse = sparse.isel(profile=rng.permutation(sparse.sizes["profile"]))
    turned = reference.transpose("x3", "x1", "x2").isel(x1=rng.permutation(5), x3=[4, 2, 0, 1, 3])
    mixed = [pt.Marginal(pt.to_sparse(constraints[0].target)), constraints[1], pt.Marginal(constraints[2].target[::-1])]
    for other in (sparse, turned):
        result = returned(other, mixed, solver=solver, tolerance=1e-12)
        assert result.table.dims == other.dims
        assert result.table.indexes.keys() == other.indexes.keys()
        back = result.table if result.table.ndim > 1 else pt.to_dense(result.table)
        back = back.transpose("x1", "x2", "x3").sortby(["x1", "x2", "x3"])
        assert back.values == pytest.approx(dense.table.values, abs=1e-9)
    assert dense.table.dims == reference.dims


def test_project__of_a_single_attribute():
    counts = pt.tabulate({"sex": ["f", "m", "m"]})
    target = pt.tabulate({"sex": ["f", "m"]}, weights=[7, 3])
    result = pt.project(counts, pt.Marginal(target))
    assert {label: float(mass) for label, mass in oracles.masses_of(result.table).items()} == pytest.approx(
        {("f",): 7.0, ("m",): 3.0}, rel=1e-15
    )


def test_project__stored_zeros_come_back_as_exact_zeros():
    dense = xr.DataArray([[1.0, 0.0], [2.0, 3.0]], dims=("a", "b"), coords={"a": [0, 1], "b": [0, 1]})
    counts = pt.to_sparse(dense, keep_zeros=True)
    goal = pt.tabulate({"a": [0, 1, 1], "b": [0, 0, 1]}, weights=[2, 1, 3])
    result = pt.project(counts, pt.marginals_of(goal, ["a", "b"]))
    assert counts.sizes["profile"] == 4
    assert result.table.indexes["profile"].equals(counts.indexes["profile"])
    assert result.table.sel(profile=(0, 1)).item() == 0.0
    assert float(result.table.sum()) == pytest.approx(6.0)


def test_project__leaves_its_arguments_alone():
    reference, constraints = labelled_problem("cube")
    before = reference.copy(deep=True), [c.target.copy(deep=True) for c in constraints]
    result = returned(reference, constraints)
    assert reference.identical(before[0])
    assert all(c.target.identical(kept) for c, kept in zip(constraints, before[1], strict=True))
    assert result.reference is reference
    assert result.constraints == tuple(constraints)
    assert result.table.name == "projection"


def test_project__names_what_does_not_fit():
    reference, constraints = labelled_problem("cube")
    with pytest.raises(UnknownAttributeError, match="no attribute 'x9'"):
        pt.project(reference, pt.Marginal(constraints[0].target.rename(x1="x9")))
    with pytest.raises(UnknownCategoryError, match="x1=17"):
        pt.project(reference, pt.Marginal(constraints[0].target.assign_coords(x1=[0, 1, 2, 3, 17])))
    spoilt = constraints[1].target.copy()
    spoilt[0, 0] += 0.25
    with pytest.raises(InconsistentTargetsError, match="total"):
        pt.project(reference, [constraints[0], pt.Marginal(spoilt)])


@each_solver
@pytest.mark.parametrize("name", ["PUR", "cube", "binary, all pairs"])
def test_trace__ends_at_the_result_and_never_loses(name, solver):
    result = returned(*labelled_problem(name), solver=solver, tolerance=1e-9)
    trace = result.trace
    assert isinstance(trace, xr.Dataset)
    assert trace.iteration.values[0] == 0
    assert trace.iteration.values[-1] == result.iterations
    assert (np.diff(trace.iteration.values) > 0).all()
    assert (np.diff(trace.seconds.values) >= 0).all()
    assert float(trace.residual[-1]) == pytest.approx(result.residual, rel=1e-5, abs=1e-15)
    assert float(trace.residual_l1[-1]) == pytest.approx(result.residual_l1, rel=1e-5, abs=1e-15)
    assert np.diff(trace.dual.values).min() >= -1e-14
    assert float(trace.dual[-1]) == pytest.approx(result.divergence, abs=1e-8)
    assert (trace.dual.values <= result.divergence + 1e-8).all()
    assert (trace.gap.values >= -1e-15).all()
    assert float(trace.gap[-1]) == pytest.approx(result.bound, rel=1e-6, abs=1e-15)
    steps = trace.kl_step.values[1:]
    assert not (steps < -1e-15).any()
    if (np.diff(trace.iteration.values) == 1).all():  # nothing was left out: gains add up to the dual
        assert np.nansum(steps) == pytest.approx(float(trace.dual[-1] - trace.dual[0]), rel=1e-6, abs=1e-12)
    assert all("long_name" in trace[name].attrs for name in trace.data_vars)


def test_trace__of_ipf_distances_to_the_answer_only_fall():
    reference, constraints = labelled_problem("PUR")
    exact = pt.project(reference, constraints, solver=pt.Newton(), tolerance=1e-14).table
    distances = []
    for n in range(8):
        at = returned(reference, constraints, solver=pt.IPF(), tolerance=1e-15, max_iterations=n, certificate=False)
        distances.append(pt.kl_divergence(exact, at.table))
    assert (np.diff(distances) < 0).all()
    steps = returned(reference, constraints, solver=pt.IPF(), tolerance=1e-15, max_iterations=7).trace.kl_step.values
    # the paper's identity, summed over the half-steps of each sweep
    assert -np.diff(distances) == pytest.approx(steps[1:], rel=1e-6, abs=1e-12)


def test_trace__counts_what_zero_targets_cost():
    gate = pt.problems.load("and_gate")
    result = returned(gate.reference, gate.constraints, solver=pt.LBFGS(), tolerance=1e-9)
    assert float(result.trace.dual[-1]) == pytest.approx(np.log(2.0), abs=1e-6)
    assert result.divergence == pytest.approx(np.log(2.0), abs=1e-6)


@given(cases(spread=2), st.sampled_from([None, *SOLVERS.values()]))
def test_project__is_idempotent(case, solver):
    """The projection of a projection onto the same constraints is itself, and costs nothing."""
    result = returned(case.reference, case.constraints, solver=solver, tolerance=1e-8, max_iterations=300)
    if result.converged:
        again = returned(result.table, case.constraints, solver=solver, tolerance=1e-7)
        assert again.iterations == 0
        assert again.divergence <= 1e-14
        assert again.table.values == pytest.approx(result.table.values, rel=1e-6)


@given(cases(spread=2), st.integers(0, 3))
def test_project__warm_starts_reach_the_same_answer_sooner(case, sweeps):
    first = returned(case.reference, case.constraints, solver=pt.IPF(), tolerance=1e-12, max_iterations=3000)
    if not first.converged:
        return
    warm = returned(case.reference, case.constraints, solver=pt.IPF(), tolerance=1e-10, start=first)
    assert warm.iterations <= 1
    assert warm.table.values == pytest.approx(first.table.values, rel=1e-6)
    halfway = returned(case.reference, case.constraints, solver=pt.IPF(), tolerance=1e-15, max_iterations=sweeps)
    newton = returned(case.reference, case.constraints, solver=pt.Newton(), start=halfway.potentials, tolerance=1e-12)
    assert newton.table.values == pytest.approx(first.table.values, rel=1e-5, abs=1e-12)


def test_project__result_tells_the_washed_out_share() -> None:
    counts = pt.tabulate({"y": [0, 1, 0, 1], "s": [0, 0, 1, 1]}, weights=[3, 1, 2, 2])
    f = pt.regularize(counts, 0.5, response="y")
    printed = repr(pt.project(f, pt.parity(f, response="y", protected="s")))
    assert "washed out: 0.25 (lambda * profiles / N" in printed  # four profiles of a half each, over eight people
    assert "every constraint is met" in printed
    empirical = pt.empirical(counts)
    assert "washed out" not in repr(pt.project(empirical, pt.parity(empirical, response="y", protected="s")))
    # arithmetic keeps the attributes of the first table, which are false of the sum
    more = f + counts
    assert more.attrs["washed_out_share"] == 0.25
    assert "washed out" not in repr(pt.project(more, pt.parity(more, response="y", protected="s")))


# codes of four bytes compile every kernel once more, for no other test
@pytest.mark.parametrize("count", [256, 257, 65536, pytest.param(65537, marks=pytest.mark.slow)])
def test_project__as_many_categories_as_a_byte_or_two_can_hold(count):
    project_many_categories(count)


def test_project__more_categories_than_two_bytes_can_hold_in_numpy():
    with engine(plain=True):
        project_many_categories(65537)


def project_many_categories(count):
    numbers = np.arange(count)
    counts = pt.tabulate({"a": numbers, "b": numbers % 2}, weights=1 + numbers % 3)
    goal = pt.tabulate({"a": numbers, "b": numbers % 2}, weights=1 + numbers % 5)
    found = pt.project(pt.empirical(counts), pt.marginals_of(pt.empirical(goal), ["a"]))
    assert found.converged
    assert np.asarray(found.table.values) == pytest.approx(np.asarray(pt.empirical(goal).values), rel=1e-12)


def test_project__takes_solvers_by_name() -> None:
    counts = pt.tabulate({"y": [0, 1, 0, 1], "s": [0, 0, 1, 1]}, weights=[4, 1, 3, 2])
    constraints = pt.pur(counts, response="y", protected="s")
    by_name = pt.project(counts, constraints, solver="newton")
    assert by_name.table.identical(pt.project(counts, constraints, solver=pt.Newton()).table)
    with pytest.raises(pt.InvalidOptionError, match="no solver 'newt'; there are "):
        pt.project(counts, constraints, solver="newt")
