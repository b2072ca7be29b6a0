"""How a projection ends, and what is said of it."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

import purtensor as pt
from purtensor.errors import InvalidOptionError, NotConvergedError, NotConvergedWarning
from purtensor.solving.iterate import Iterate, Step, iterate_at
from tests.solving.drawn import SOLVERS, labelled_problem

projecting = importlib.import_module("purtensor.projection.project")  # the package has a function of that name
each_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)


def project(name="PUR", **options):
    return pt.project(*labelled_problem(name), **options)


def returned(name="PUR", **options):
    return project(name, on_failure="return", **options)


@each_solver
def test_project__converged(solver):
    result = project(solver=solver, tolerance=1e-9)
    assert result.termination is pt.results.Termination.CONVERGED
    assert result.converged
    assert result.residual <= 1e-9
    assert result.residual_l1 <= 1e-7
    assert result.certified
    assert "every constraint is met" in result.termination.value


@each_solver
def test_project__iteration_limit(solver):
    result = returned(solver=solver, tolerance=1e-15, max_iterations=2)
    assert result.termination is pt.results.Termination.ITERATION_LIMIT
    assert not result.converged
    assert result.iterations == 2
    assert result.trace.iteration.values.tolist() == [0, 1, 2]
    assert result.residual > 1e-15


def test_project__no_iteration_at_all():
    result = returned(max_iterations=0)
    assert result.termination is pt.results.Termination.ITERATION_LIMIT
    assert result.iterations == 0
    reference, _ = labelled_problem("PUR")
    assert result.table.values == pytest.approx(reference.values / reference.values.sum(), rel=1e-14)


def test_project__a_reference_that_meets_the_constraints_is_the_answer():
    reference, _ = labelled_problem("cube")
    constraints = pt.marginals_of(reference, [("x1", "x2"), ("x3",)])
    for solver in (*SOLVERS.values(), None):
        result = pt.project(reference, constraints, solver=solver)
        assert result.iterations == 0
        assert result.converged
        assert result.divergence <= 1e-15
        assert result.table.values == pytest.approx(reference.values, rel=1e-14)


@each_solver
def test_project__time_limit(solver):
    result = returned(solver=solver, tolerance=0.0, max_seconds=1e-9)
    assert result.termination in (pt.results.Termination.TIME_LIMIT, pt.results.Termination.CONVERGED)
    assert result.iterations >= 1
    assert result.iterations <= 4


@each_solver
def test_project__stalled_at_a_tolerance_of_zero(solver):
    result = returned("cube", solver=solver, tolerance=0.0)
    assert result.termination is pt.results.Termination.STALLED
    assert result.residual_l1 <= 1e-14
    assert result.tv_bound <= 1e-13
    assert "no better step: rounding leaves none" in result.termination.value


def test_project__interrupted_by_a_callback():
    told = []

    def stop(progress):
        told.append((progress.iteration, progress.residual))
        return progress.iteration >= 3

    result = returned(solver=pt.IPF(), tolerance=1e-15, callback=stop)
    assert result.termination is pt.results.Termination.INTERRUPTED
    assert result.certified
    assert result.iterations == told[-1][0] >= 3
    assert [iteration for iteration, _ in told[:2]] == [1, 3]  # steps of 1 and of 2 sweeps
    residuals = dict(zip(result.trace.iteration.values.tolist(), result.trace.residual.values.tolist(), strict=True))
    assert told[-1][1] == residuals[told[-1][0]]


def test_project__ctrl_c_keeps_the_state_so_far():
    def interrupt(progress):
        if progress.iteration >= 3:
            raise KeyboardInterrupt

    result = returned(solver=pt.IPF(), tolerance=1e-15, callback=interrupt)
    assert result.termination is pt.results.Termination.INTERRUPTED
    assert result.iterations == 3
    plain = returned(solver=pt.IPF(), tolerance=1e-15, max_iterations=3)
    assert result.table.values.tolist() == plain.table.values.tolist()
    assert plain.certified
    assert not result.certified  # whoever pressed it waits


def test_project__what_a_callback_raises_gets_through():
    def fail(progress):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        project(tolerance=1e-15, callback=fail)


class Spoiling:
    """A solver that gives potentials that are no numbers."""

    def step(self, problem, iterate, budget):
        return iterate_at(problem, iterate.potentials * np.nan)


def test_project__not_finite():
    result = returned(solver=Spoiling(), tolerance=1e-15)
    assert result.termination is pt.results.Termination.NOT_FINITE
    assert (result.bound, result.tv_bound, result.certified) == (np.inf, 1.0, False)
    assert not result.converged


def test_project__on_failure_raise_carries_the_projection():
    with pytest.raises(NotConvergedError, match=r"not converged after 1 iterations.*raise max_iterations") as caught:
        project(solver=pt.IPF(), tolerance=1e-15, max_iterations=1)
    assert isinstance(caught.value, RuntimeError)
    kept = caught.value.projection
    assert kept.iterations == 1
    assert kept.table.sum() == pytest.approx(1.0)


def test_project__on_failure_warn_and_return():
    with pytest.warns(NotConvergedWarning, match="residual"):
        warned = project(tolerance=1e-15, max_iterations=1, on_failure="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silent = project(tolerance=1e-15, max_iterations=1, on_failure="return")
    assert warned.table.equals(silent.table)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tolerance": -1e-3}, "tolerance must be a share"),
        ({"tolerance": 1.0}, "tolerance must be a share"),
        ({"tolerance": float("nan")}, "tolerance must be a share"),
        ({"stop_on": "bound"}, "stop_on must be one of residual, tv_bound, log_ratio"),
        ({"on_failure": "ignore"}, "on_failure must be one of raise, warn, return"),
        ({"max_iterations": -1}, "max_iterations must be a count"),
        ({"max_seconds": 0.0}, "max_seconds must be a positive time"),
        ({"solver": "sinkhorn"}, "no solver 'sinkhorn'; there are auto"),
        ({"solver": 3}, "solver must be an object with a step"),
        ({"start": [1.0, 2.0]}, "start must be a Projection or a sequence of tables"),
    ],
)
def test_project__refuses_options_that_mean_nothing(options, told):
    with pytest.raises(InvalidOptionError, match=told):
        project(**options)


class Standing:
    """A solver that finds no better point."""

    def step(self, problem, iterate, budget):
        return Step(iterate, 1, stalled=True)


class Sweeping:
    """A user's own solver: plain sweeps in numpy, the way of return being chosen."""

    def __init__(self, form):
        self.form = form

    def step(self, problem, iterate, budget):
        potentials = iterate.potentials.copy()
        for k in range(len(problem.index)):
            masses = iterate_at(problem, potentials).masses
            block = problem.system.block(k)
            sums = np.bincount(problem.index[k], masses, len(problem.targets[block]))
            potentials[block] += np.log(problem.targets[block] / sums)
        return self.form(problem, potentials)


FORMS = {
    "bare potentials": lambda problem, potentials: potentials,
    "an iterate": iterate_at,
    "a step": lambda problem, potentials: Step(iterate_at(problem, potentials)),
    "a lazy iterate": lambda problem, potentials: Iterate(
        lambda: potentials, lambda: iterate_at(problem, potentials).masses
    ),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_project__runs_a_solver_of_ones_own(form):
    own = project(solver=Sweeping(form), tolerance=1e-10)
    plain = project(solver=pt.IPF(), tolerance=1e-10)
    assert own.iterations == plain.iterations
    assert own.table.values == pytest.approx(plain.table.values, rel=1e-12)
    assert own.certified
    assert own.trace.sizes["record"] == own.iterations + 1


def test_project__refuses_what_is_no_step():
    with pytest.raises(InvalidOptionError, match="a solver's step must return a Step, an Iterate or an array of"):
        project(solver=Sweeping(lambda problem, potentials: potentials[:-1]), tolerance=1e-10)


@each_solver
def test_project__stops_on_the_proved_distance(solver):
    result = project("binary, all pairs", solver=solver, stop_on="tv_bound", tolerance=1e-6)
    assert result.converged
    assert result.tv_bound <= 1e-6
    asked = result.trace.tv_bound.values
    assert asked[-1] == pytest.approx(result.tv_bound, rel=1e-6)
    assert (asked[:-1][~np.isnan(asked[:-1])] > 1e-6).all()


def test_project__stopping_on_the_bound_takes_longer_where_the_residual_says_little():
    named = pt.problems.load("b")
    by_residual = pt.project(named.reference, named.constraints, solver=pt.IPF(), tolerance=1e-5)
    by_bound = pt.project(named.reference, named.constraints, solver=pt.IPF(), tolerance=1e-5, stop_on="tv_bound")
    assert by_bound.iterations > by_residual.iterations
    assert by_bound.tv_bound <= 1e-5 < by_residual.tv_bound


def test_project__without_a_certificate_nothing_is_claimed():
    result = project(certificate=False)
    assert (result.bound, result.tv_bound, result.certified) == (np.inf, 1.0, False)
    assert result.converged


def emptied_everywhere(layout):
    """Each profile has a zero target: not one is left."""
    reference = pt.tabulate({"a": ["x", "y"], "b": ["u", "v"]})
    rows, columns = pt.tabulate({"a": ["x", "y"]}), pt.tabulate({"b": ["u", "v"]})
    constraints = [pt.Marginal(pt.to_dense(rows) * [0, 3]), pt.Marginal(pt.to_dense(columns) * [3, 0])]
    return layout(reference), constraints


@pytest.mark.parametrize("layout", [pt.to_sparse, pt.to_dense])
def test_project__without_a_single_profile_left(layout):
    reference, constraints = emptied_everywhere(layout)
    with pytest.raises(pt.InfeasibleError, match="targets of 0 exclude all its profiles") as caught:
        pt.project(reference, constraints)
    assert caught.value.diagnosis.verify()
    result = pt.project(reference, constraints, on_failure="return")
    assert result.termination is pt.results.Termination.INFEASIBLE
    assert (result.converged, result.certified, result.residual, result.residual_l1) == (False, False, 1.0, 1.0)
    assert result.table.dims == reference.dims
    assert result.table.values.tolist() == np.zeros(reference.shape).tolist()
    assert result.diagnosis.verify()
    assert [table.values.tolist() for table in result.potentials] == [[-np.inf, 0.0], [0.0, -np.inf]]
    assert float(result.trace.residual[-1]) == 1.0
    assert not pt.verify(result).passed
    with pytest.warns(NotConvergedWarning, match="no place"):
        pt.project(reference, constraints, on_failure="warn")


def test_project__start_is_one_table_a_constraint():
    reference, constraints = labelled_problem("PUR")
    answer = pt.project(reference, constraints)
    again = pt.project(reference, constraints, start=answer.potentials)
    assert again.iterations == 0
    assert pt.project(reference, constraints[:2], start=answer).converged
    for tables in (answer.potentials[:2], answer.potentials * 2, (answer.potentials[0],) * 3, ()):
        with pytest.raises(InvalidOptionError, match="start must have one table of potentials per constraint, over"):
            pt.project(reference, constraints, start=tables)


@pytest.mark.parametrize("layout", [pt.to_sparse, pt.to_dense])
def test_project__starts_from_constraints_in_another_order(layout):
    reference, constraints = labelled_problem("PUR")
    answer = pt.project(layout(reference), constraints)
    for start in (answer, list(answer.potentials), answer.potentials[::-1]):
        again = pt.project(layout(reference), constraints[::-1], start=start)
        assert again.converged
        assert again.iterations == 0


def test_project__ctrl_c_while_a_verdict_is_sought_keeps_the_state_so_far(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("purtensor.projection.marginal_question.diagnose_table", interrupt)
    result = returned(solver=Standing())
    assert result.termination is pt.results.Termination.INTERRUPTED
    assert not result.certified  # whoever pressed it waits
    assert "interrupted during the feasibility check" in result.notes[-1]
    assert pt.results.Termination.STALLED.value in result.notes[-1]


def test_project__the_face_has_what_is_left_of_the_time(monkeypatch):
    solving = importlib.import_module("purtensor.solving.solve")
    runs, real = [], solving.run_stage

    def watched(stage, stopping, *rest):
        found = real(stage, stopping, *rest)
        runs.append((stopping, found))
        return found

    monkeypatch.setattr(solving, "run_stage", watched)
    problem = pt.problems.load("staircase")
    result = pt.project(problem.reference, problem.constraints, max_seconds=100.0, max_iterations=5000)
    assert result.termination is pt.results.Termination.CONVERGED_ON_FACE
    (_, whole), (left, face) = runs
    assert left.max_seconds == 100.0 - whole.seconds
    assert left.max_iterations == 5000 - whole.iterations
    assert result.seconds == whole.seconds + face.seconds


def test_results__are_equal_to_themselves_alone():
    reference, constraints = labelled_problem("PUR")
    for make in (pt.project, pt.diagnose, lambda *problem: pt.relax(*problem, soft=0, strength=10.0)):
        one, other = make(reference, constraints), make(reference, constraints)
        assert one == one
        assert one != other  # tables have no truth value: there is nothing else to compare by
        assert other in [one, other]
        assert len({one, other}) == 2


@pytest.mark.parametrize("solver", [pt.Newton(), pt.Newton(warm_up=0), None], ids=["warm", "cold", "chosen"])
@pytest.mark.parametrize("limit", [{"tolerance": 0.1}, {"tolerance": 1e-3}, {"tolerance": 1e-15, "max_iterations": 2}])
def test_project__has_the_total_of_the_targets_at_whatever_ending(solver, limit):
    reference = pt.to_dense(pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=[1, 2, 3, 40]))
    constraints = [
        pt.Marginal(pt.tabulate({name: [0, 1]}, weights=goal)) for name, goal in (("a", [50, 50]), ("b", [30, 70]))
    ]
    result = pt.project(reference, constraints, solver=solver, on_failure="return", **limit)
    assert float(result.table.sum()) == pytest.approx(100.0, rel=1e-14)
    misses = [
        np.abs(np.asarray(pt.marginal(result.table, name)) - goal).max() / 100.0
        for name, goal in (("a", [50, 50]), ("b", [30, 70]))
    ]
    assert result.residual == pytest.approx(max(misses), rel=1e-6, abs=1e-16)
    assert float(result.trace.residual[-1]) == pytest.approx(result.residual, rel=1e-9)
    assert (np.diff(result.trace.dual) >= -1e-15).all()
    exact = pt.project(reference, constraints, tolerance=1e-14)
    assert pt.total_variation(exact.table, result.table) <= result.tv_bound + 1e-15


@each_solver
@pytest.mark.parametrize("name", ["and_gate", "haberman_boundary"])
def test_project__whatever_converged_has_no_mass_on_implied_zeros(solver, name):
    problem = pt.problems.load(name)
    result = pt.project(problem.reference, problem.constraints, solver=solver, on_failure="return", max_iterations=5000)
    zeros = result.diagnosis.implied_zeros
    assert result.termination is pt.results.Termination.CONVERGED_ON_FACE
    assert zeros.size > 0
    assert float(zeros.sum()) > 0  # what the reference has there
    forced = (problem.masses > 0) & (np.asarray(pt.to_dense(result.table)) == 0)
    assert forced.sum() == zeros.size


@pytest.mark.parametrize("seed", [13, 49, 63, 75, 120])
def test_project__of_counts_whose_small_profiles_vanish_warns_of_nothing(seed):
    rng = np.random.default_rng([seed, 13])
    shape = rng.integers(2, 4, 3)
    counts = rng.integers(0, 3, shape) * (10**13 // rng.integers(1, 9, shape))
    y, s, x = (place.ravel() for place in np.indices(shape))
    f = pt.regularize(pt.tabulate({"y": y, "s": s, "x": x}, weights=counts.ravel()), response="y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constraints = pt.pur(f, response="y", protected="s")
        result = pt.project(f, constraints, on_failure="return", max_iterations=2000)
    assert result.termination is pt.results.Termination.INFEASIBLE
    assert result.diagnosis.verify()
