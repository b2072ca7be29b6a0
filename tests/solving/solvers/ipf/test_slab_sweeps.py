"""Sweeps in one pass over memory are the plain sweeps: the same iterates, records and ends."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor._threads import VARIABLE
from purtensor.kernels.engine import engine
from purtensor.kernels.ipf.sweep_records import Goal
from purtensor.solving.iterate import Budget, Iterate, iterate_at, starting_potentials
from purtensor.solving.problem import build_problem
from purtensor.solving.solvers.ipf import slab_layout as layouts
from purtensor.solving.solvers.ipf import slab_sweeps as module
from purtensor.solving.solvers.ipf.slab_layout import crossing_of
from purtensor.solving.solvers.ipf.slab_sweeps import OnePass
from tests.solving.drawn import arrays_of, coefficients, solved
from tests.solving.solvers.plain import plain_iterates, plain_run, stepped

needs_compiling = pytest.mark.compiled("takes too long as plain Python")
ORDERS = list(permutations(range(3)))


@pytest.fixture(autouse=True)
def _tiny_tables_too(monkeypatch):
    monkeypatch.setattr(layouts, "SMALLEST", 0)


def drawn(seed, scopes=("ys", "yx", "sx"), sizes=None, density=0.8):
    """A problem with cells that cannot occur, feasible; `z` is an attribute that no constraint has."""
    rng = np.random.default_rng(seed)
    sizes = sizes or {"y": rng.integers(2, 5), "s": rng.integers(2, 5), "x": rng.integers(3, 20), "z": 1}
    support = rng.random(tuple(sizes.values())) < density
    support[:, :, 0] = True  # every response meets every protected profile somewhere
    masses = np.where(support, rng.gamma(0.7, 1.0, support.shape) + 1e-4, 0.0)
    goal = np.where(support, rng.gamma(2.0, 1.0, support.shape) + 1e-3, 0.0)
    coords = {name: range(size) for name, size in sizes.items()}
    reference, wanted = (xr.DataArray(v, coords=coords, dims=list(sizes)) for v in (masses, goal))
    kept = reference if sizes["z"] > 1 else reference.sum("z")
    return build_problem(kept, [pt.Marginal(pt.marginal(wanted, list(scope))) for scope in scopes]).arrays


def one_pass_at(problem, order):
    crossing = crossing_of(problem, order)
    return None if crossing is None else OnePass.at(problem, crossing, starting_potentials(problem))


@needs_compiling
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["a", "b", "b_hard2", "b_inf", "b_lam0"])
def test_one_pass__is_the_plain_sweep_sweep_by_sweep(name, order):
    problem = arrays_of(name)
    iterate = iterate_at(problem, starting_potentials(problem))
    for masses in plain_iterates(problem, order, 12):
        iterate = pt.IPF(order=order).step(problem, iterate, Budget(1, -1.0, -1.0)).iterate
        assert isinstance(iterate.memory, OnePass)
        np.testing.assert_allclose(iterate.masses, masses, rtol=2e-14)


@pytest.mark.parametrize("seed", range(20))
def test_one_pass__is_the_plain_sweep_on_drawn_supports(seed):
    problem = drawn(seed)
    order = ORDERS[seed % 6]
    iterate = iterate_at(problem, starting_potentials(problem))
    for masses in plain_iterates(problem, order, 5):
        iterate = pt.IPF(order=order).step(problem, iterate, Budget(1, -1.0, -1.0)).iterate
        np.testing.assert_allclose(iterate.masses, masses, rtol=1e-13)
    assert isinstance(iterate.memory, OnePass)


SCOPES = {
    "no outside constraint": ("yx", "sx"),
    "two outside": ("ys", "y", "yx", "sx"),
    "three outside, in two pieces": ("y", "yx", "sx", "s", "ys"),
    "B first": ("sx", "s", "ys", "yx"),
    "A first": ("yx", "sx", "ys", "y"),
}


@pytest.mark.parametrize("scopes", SCOPES.values(), ids=SCOPES)
def test_one_pass__takes_any_number_of_outside_constraints_side_by_side(scopes):
    problem = drawn(3, scopes, {"y": 3, "s": 4, "x": 30, "z": 1})
    order = tuple(range(len(scopes)))
    iterate = iterate_at(problem, starting_potentials(problem))
    for masses in plain_iterates(problem, order, 6):
        iterate = pt.IPF().step(problem, iterate, Budget(1, -1.0, -1.0)).iterate
        assert isinstance(iterate.memory, OnePass)
        np.testing.assert_allclose(iterate.masses, masses, rtol=1e-13)


def test_one_pass__profiles_may_share_a_cell():
    problem = drawn(4, sizes={"y": 3, "s": 3, "x": 11, "z": 3})
    assert len(problem.reference) > 200
    iterate = iterate_at(problem, starting_potentials(problem))
    for masses in plain_iterates(problem, (0, 1, 2), 6):
        iterate = pt.IPF().step(problem, iterate, Budget(1, -1.0, -1.0)).iterate
        assert isinstance(iterate.memory, OnePass)
        np.testing.assert_allclose(iterate.masses, masses, rtol=1e-13)


OTHERS = {
    "an outside constraint on either side": (drawn(5, ("ys", "yx", "s", "sx")), (0, 1, 2, 3)),
    "three constraints with the key": (drawn(6, ("yx", "sx", "zx", "ys"), {"y": 2, "s": 2, "x": 9, "z": 2}), None),
    "an outside constraint that knows the slab": (
        drawn(7, ("yxz", "sxz", "ysz"), {"y": 2, "s": 2, "x": 9, "z": 2}),
        None,
    ),
    "slabs that are mostly empty": (drawn(8, sizes={"y": 6, "s": 6, "x": 30, "z": 1}, density=0.1), None),
    "no slab": (drawn(9, ("y", "s", "x")), None),
}


@pytest.mark.parametrize(("problem", "order"), OTHERS.values(), ids=OTHERS)
def test_one_pass__where_it_is_not_possible_the_plain_sweeps_are_made(problem, order):
    constraints = len(problem.index)
    assert crossing_of(problem, order or tuple(range(constraints))) is None
    step = pt.IPF(order=order).step(problem, iterate_at(problem, starting_potentials(problem)), Budget(3, -1.0, -1.0))
    *_, masses = plain_iterates(problem, order or tuple(range(constraints)), 3)
    assert step.iterate.masses.tolist() == masses.tolist()


@needs_compiling
@pytest.mark.parametrize("order", ORDERS)
def test_one_pass__records_what_the_plain_sweeps_record(order):
    problem = arrays_of("b_hard2")
    _, plain, _ = plain_run(problem, order, (-1.0, -1.0), 300)
    _, records = stepped(problem, order, [300])
    assert list(records) == plain[:, 0].tolist()
    for row, record in zip(plain, records.values()):
        found = record.residual, record.residual_l1, record.kl_step
        assert found == pytest.approx(row[1:4] / problem.total, rel=1e-9)
        assert record.dual == pytest.approx(row[4], rel=1e-13)


@needs_compiling
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_one_pass__ends_at_the_first_sweep_within_the_tolerance(order, tolerance):
    problem = arrays_of("a")
    goal = tolerance * problem.total, 100 * tolerance * problem.total
    expected, _, _ = plain_run(problem, order, goal, 1000)
    assert solved(problem, pt.IPF(order=order), tolerance=tolerance).iterations == expected
    run = one_pass_at(problem, order)
    made, _ = run.sweep(Goal(*goal, 1, run.start), 1000, np.empty((256, 6)))
    assert (made, run.done) == (expected, expected)


BATCHES = ([40], [1] * 40, [3, 30, 7])


@needs_compiling
@pytest.mark.parametrize("order", ORDERS)
def test_one_pass__batches_and_records_do_not_change_the_bits(order):
    problem = arrays_of("b_hard")
    whole, *others = (stepped(problem, order, batches)[0].potentials.tolist() for batches in BATCHES)
    assert all(other == whole for other in others)
    run = one_pass_at(problem, order)
    run.sweep(Goal(-1.0, -1.0, 1, run.start), 40, np.empty((256, 6)))
    assert run.potentials().tolist() == whole


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(layouts, "SMALLEST_IN_CHUNKS", 1)
    monkeypatch.setattr(layouts, "CELLS_PER_CHUNK", 700)


@needs_compiling
@pytest.mark.parametrize("order", ORDERS)
def test_one_pass__threads_do_not_change_the_bits(order, small_chunks, monkeypatch):
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setenv(VARIABLE, str(threads))
        problem = arrays_of("b_hard")
        iterate, records = stepped(problem, order, BATCHES[threads - 1])
        assert len(iterate.memory.crossing.chunks) > 5
        found.append((iterate.potentials.tolist(), records))
    assert found[0] == found[1] == found[2]


@needs_compiling
@pytest.mark.parametrize("name", ["b", "b_inf"])
def test_one_pass__in_chunks_is_the_same_as_at_once(name, small_chunks, monkeypatch):
    problem = arrays_of(name)
    in_chunks, chunked = stepped(problem, (1, 2, 0), [60])
    assert len(in_chunks.memory.crossing.chunks) > 5
    monkeypatch.setattr(layouts, "SMALLEST_IN_CHUNKS", 10**9)
    again = arrays_of(name)
    at_once, records = stepped(again, (1, 2, 0), [60])
    assert len(at_once.memory.crossing.chunks) == 1
    np.testing.assert_allclose(in_chunks.masses, at_once.masses, rtol=2e-13)
    assert list(chunked) == list(records)
    for one, other in zip(chunked.values(), records.values()):
        assert one.residual == pytest.approx(other.residual, rel=1e-9)
        assert (one.residual_l1, one.kl_step) == pytest.approx((other.residual_l1, other.kl_step), rel=1e-9)
        assert one.dual == pytest.approx(other.dual, rel=1e-13)
    assert solved(problem, pt.IPF(), tolerance=1e-4, iterations=100).iterations == (
        solved(again, pt.IPF(), tolerance=1e-4, iterations=100).iterations
    )


@needs_compiling
@pytest.mark.parametrize("chunked", [False, True])
def test_one_pass__factors_are_folded_before_they_overflow(chunked, small_chunks, monkeypatch):
    """Without a solution the factors grow for ever: where folds are due, the masses stay those of the potentials."""
    if not chunked:
        monkeypatch.setattr(layouts, "SMALLEST_IN_CHUNKS", 10**9)
    problem = arrays_of("b_inf")
    iterate, _ = stepped(problem, (0, 1, 2), [6000])
    run = iterate.memory
    before = starting_potentials(problem)
    assert np.abs(run.state.t - before).max() > np.log(2.0**64) - 1  # it was folded
    assert max(run.state.u.max(), run.state.v.max(), run.state.w.max()) < 2.0**200
    _, _, (masses, *_) = plain_run(problem, (0, 1, 2), (-1.0, -1.0), 6000, dense=1)
    np.testing.assert_allclose(iterate.masses, masses, rtol=1e-10)
    exact = problem.reference * np.exp(coefficients(problem).T.astype(np.longdouble) @ iterate.potentials)
    normal = exact > 1e-300
    error = np.abs(iterate.masses[normal] / exact[normal] - 1).max()
    assert error < 1e-14 * (1 + np.abs(iterate.potentials).max())


def test_one_pass__makes_no_arrays_that_nobody_asks_for(monkeypatch):
    problem = arrays_of("a")
    start = iterate_at(problem, starting_potentials(problem))
    step = pt.IPF().step(problem, start, Budget(2, -1.0, -1.0))
    assert callable(step.iterate._potentials)
    assert callable(step.iterate._masses)
    found = step.iterate.potentials
    assert step.iterate.potentials is found
    again = iterate_at(problem, found)
    assert step.iterate.masses.tolist() == again.masses.tolist()


def test_one_pass__a_number_that_is_not_finite_ends_the_run():
    problem = arrays_of("a")
    broken = Iterate(np.full(problem.system.rows, np.nan), problem.reference)
    step = pt.IPF().step(problem, broken, Budget(5, 1e-9, 1e-7))
    assert isinstance(step.iterate.memory, OnePass)
    assert step.iterations == 1
    assert np.isnan(step.records[-1].residual)


def test_crossing_of__leaves_tiny_tables_to_the_plain_sweeps(monkeypatch):
    problem = drawn(0)
    assert crossing_of(problem, (0, 1, 2)) is not None
    monkeypatch.setattr(layouts, "SMALLEST", len(problem.reference) + 1)
    assert crossing_of(problem, (0, 1, 2)) is None
    step = pt.IPF().step(problem, iterate_at(problem, starting_potentials(problem)), Budget(1, -1.0, -1.0))
    assert not isinstance(step.iterate.memory, OnePass)


@needs_compiling
@pytest.mark.parametrize("solver", [None, pt.IPF(order=(2, 0, 1))], ids=["chosen", "ordered"])
def test_one_pass__duals_put_off_are_those_computed_on_the_way(solver, small_chunks, monkeypatch):
    named = pt.problems.load("b")
    with engine(plain=False):
        late = pt.project(named.reference, named.constraints, solver=solver, max_iterations=80, on_failure="return")
        put_off = [line.iteration for line in late.evidence.run.lines if np.isnan(line.record.dual)]
        assert max(put_off) <= 64
        monkeypatch.setattr(module, "EARLY", 0)
        early = pt.project(named.reference, named.constraints, solver=solver, max_iterations=80, on_failure="return")
    assert late.table.values.tolist() == early.table.values.tolist()
    for name in ("iteration", "residual", "dual", "kl_step"):
        np.testing.assert_array_equal(late.trace[name], early.trace[name])
    assert not np.isnan(late.trace.dual).any()
