"""Accelerated sweeps over a dense two-way table: fewer than plain ones, to the same answer, the dual always rising."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor._threads import VARIABLE
from purtensor.kernels.engine import engine
from purtensor.solving.iterate import Budget, iterate_at, starting_potentials
from purtensor.solving.problem import build_problem
from purtensor.solving.solvers.ipf import two_way_sweeps as module
from purtensor.solving.solvers.ipf.anderson import AcceleratedTwoWay, Moves, accelerate_step
from tests.solving.drawn import arrays_of, coefficients, solved
from tests.solving.solvers.ipf.test_two_way_sweeps import arrays, table, transport
from tests.solving.solvers.plain import plain_run


def test_moves__solve_a_linear_map_once_its_directions_are_known():
    rng = np.random.default_rng(1)
    jacobian = 0.4 * rng.standard_normal((4, 4))
    fixed = rng.standard_normal(4)
    moves = Moves(rng.uniform(0.5, 2.0, 4), 4)
    for point in (fixed + rng.standard_normal(4) for _ in range(7)):  # the oldest differences make way
        image = fixed + jacobian @ (point - fixed)
        beyond = moves.learn(image, image - point)
    assert image + beyond == pytest.approx(fixed, abs=1e-6)


def test_moves__that_depend_on_each_other():
    moves = Moves(np.ones(2), 3)
    image, move = np.array([1.0, 2.0]), np.array([0.1, 0.2])
    assert all(moves.learn(image, move) is None for _ in range(3))  # the same point says nothing
    for share in (1.0, 2.0, 3.0, 4.0):
        beyond = moves.learn(image + share * move, (1.0 - share) * move)
    # moves shrink linearly along one line: their zero is known
    assert image + 4.0 * move + beyond == pytest.approx(image + move, abs=1e-6)


def test_accelerated_step__gains_at_least_what_the_sweep_does():
    problem = arrays_of("b_hard")
    iterate = iterate_at(problem, starting_potentials(problem))
    for _ in range(12):
        plain = pt.IPF().step(problem, iterate_at(problem, iterate.potentials), Budget(1, 0.0, 0.0))
        step = pt.IPF(acceleration=5).step(problem, iterate, Budget(1, 0.0, 0.0))
        assert step.records[0].kl_step >= plain.records[0].kl_step * (1 - 1e-12)
        iterate = step.iterate


def test_accelerated_step__where_the_dual_would_fall_the_sweep_stands_and_the_past_is_forgotten():
    problem = arrays_of("a")
    iterate = iterate_at(problem, starting_potentials(problem))
    rows = problem.system.rows
    iterate.memory = Moves(np.sqrt(problem.targets), 5)
    iterate.memory.learn(100.0 * np.ones(rows), np.linspace(-1.0, 1.0, rows))
    step = accelerate_step(pt.IPF().step, 5, problem, iterate)
    plain = pt.IPF().step(problem, iterate_at(problem, starting_potentials(problem)), Budget(1, 0.0, 0.0))
    assert step.iterate.masses == pytest.approx(plain.iterate.masses, rel=1e-13)
    assert step.iterate.memory.count == 0


def test_accelerated_step__masses_stay_those_of_the_potentials():
    problem = arrays_of("a")
    outcome = solved(problem, pt.IPF(acceleration=3), tolerance=0.0, iterations=400)
    rebuilt = iterate_at(problem, outcome.iterate.potentials).masses
    last = outcome.lines[-1].record
    assert outcome.iterate.masses == pytest.approx(rebuilt, rel=1e-14)
    assert last.residual == pytest.approx(outcome.residual.largest, abs=1e-15)


ACCELERATED = pt.IPF(acceleration=20)


@pytest.fixture(autouse=True)
def also_small_ones(monkeypatch):
    monkeypatch.setattr(module, "SMALLEST", 1)


def begun(problem, solver=ACCELERATED):
    iterate = iterate_at(problem, starting_potentials(problem))
    return solver.step(problem, iterate, Budget(1, -1.0, -1.0))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_accelerated__needs_fewer_sweeps_for_the_same_answer(order, zeros):
    problem = arrays(reach=0.02, zeros=zeros)
    plain, _, _ = plain_run(problem, order, (1e-11 * problem.total, 1e-9 * problem.total), 5000)
    run = solved(problem, pt.IPF(order=order, acceleration=20), tolerance=1e-11)
    assert isinstance(begun(problem).iterate.memory, AcceleratedTwoWay)
    assert run.termination.converged
    assert 2 * run.iterations < plain
    exact = solved(problem, pt.Newton(), tolerance=1e-15)
    assert float(np.abs(run.iterate.masses - exact.iterate.masses).sum()) < 1e-8 * problem.total


@pytest.mark.parametrize("largest", [module.LARGEST_FACTOR, 1.5], ids=["unfolded", "folded"])
def test_accelerated__records_are_those_of_its_masses(largest, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FACTOR", largest)
    problem = arrays(reach=0.05)
    step, before = begun(problem), None
    for _ in range(25):
        iterate, (record,) = step.iterate, step.records
        masses = problem.reference * np.exp(coefficients(problem).T @ iterate.potentials)
        missed = np.abs(coefficients(problem) @ masses - problem.targets)
        assert record.residual == pytest.approx(missed.max() / problem.total, abs=1e-14)
        dual = problem.targets @ iterate.potentials / problem.total - np.log(masses.sum() / problem.reference.sum())
        assert record.dual == pytest.approx(dual, abs=1e-13)
        if before is not None:
            assert record.kl_step == pytest.approx(record.dual - before, abs=1e-14)
            assert record.kl_step > -1e-25
        before = record.dual
        step = ACCELERATED.step(problem, iterate, Budget(1, -1.0, -1.0))


@pytest.mark.parametrize("size", [10.0, 100.0], ids=["tried", "not tried"])
def test_accelerated__gains_what_fitting_the_columns_gains_or_forgets(size, monkeypatch):
    problem = arrays(reach=0.05)
    step = begun(problem)
    monkeypatch.setattr(Moves, "learn", lambda self, image, move: np.linspace(-size, size, len(move)))
    forgotten = []
    monkeypatch.setattr(Moves, "forget", lambda self: forgotten.append(True))
    wild = ACCELERATED.step(problem, step.iterate, Budget(6, -1.0, -1.0))
    monkeypatch.undo()
    monkeypatch.setattr(module, "SMALLEST", 1)
    plain = pt.IPF(order=(1, 0)).step(
        problem, iterate_at(problem, begun(problem).iterate.potentials), Budget(6, -1, -1)
    )
    assert forgotten
    assert wild.iterate.potentials == pytest.approx(plain.iterate.potentials, abs=1e-12)


def test_accelerated__batches_and_threads_do_not_change_the_bits(monkeypatch):
    monkeypatch.setattr(module, "CELLS_PER_CHUNK", 100)
    found = []
    for batches, threads in (([30], 1), ([1] * 30, 2), ([13, 17], 3)):
        monkeypatch.setenv(VARIABLE, str(threads))
        problem = arrays(reach=0.05)
        iterate = iterate_at(problem, starting_potentials(problem))
        for batch in batches:
            iterate = ACCELERATED.step(problem, iterate, Budget(batch, -1.0, -1.0)).iterate
        assert len(iterate.memory.layout.chunks) > 3
        found.append(iterate.potentials.tolist())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("reach", [0.2, 0.02, 0.004])
def test_project__the_automatic_choice_accelerates_in_both_engines(reach):
    results = []
    for plain in (False, True):
        with engine(plain=plain):
            results.append(pt.project(*transport(20, 16, reach), callback=lambda _: None, on_failure="return"))
    compiled, plain = results
    swept = pt.project(*transport(20, 16, reach), solver=pt.IPF(), max_iterations=20_000, on_failure="return")
    assert (compiled.termination, compiled.iterations) == (plain.termination, plain.iterations)
    assert compiled.converged
    assert compiled.iterations < swept.iterations
    assert float(np.abs(plain.table - compiled.table).sum()) < 1e-12


def test_project__ipf_as_a_named_solver_stays_plain():
    reference, constraints = transport(20, 16, 0.05)
    problem = build_problem(reference, constraints).arrays
    expected, _, _ = plain_run(problem, (0, 1), (1e-10 * problem.total, 1e-8 * problem.total), 5000)
    assert pt.project(reference, constraints, solver=pt.IPF()).iterations == expected


def test_accelerated__what_is_not_finite_ends_the_run():
    values = np.ones((9, 8))
    values[2, 3] = 1e-290
    goal = table(np.full((9, 8), 1.0 / 72.0))
    problem = build_problem(table(values), pt.marginals_of(goal, [("i",), ("j",)])).arrays
    iterate = iterate_at(problem, np.full(problem.system.rows, np.nan))
    step = ACCELERATED.step(problem, iterate, Budget(5, 1e-9, 1e-7))
    assert step.iterations == 1
    assert np.isnan(step.records[-1].residual)


@pytest.mark.parametrize("scopes", [[("i",)], [("i", "j")], [("i",), ("j",), ("i", "j")]], ids=len)
def test_project__other_numbers_of_constraints_are_swept_as_ever(scopes):
    reference, _ = transport(20, 16, 0.2)
    found = pt.project(reference, pt.marginals_of(reference**2, scopes))
    assert found.converged
    assert float(np.abs(found.table - pt.project(reference, found.constraints, solver=pt.IPF()).table).sum()) < 1e-9
