"""Ctrl-C where one call makes many projections: none of them goes on from a state that is no answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import purtensor as pt
from purtensor.fairness import path as path_module
from purtensor.fairness import proxies as proxies_module
from purtensor.fairness.proxies import least_violating
from purtensor.fairness.slacks import Slacks
from purtensor.projection.deliver import interrupting, is_interrupted, require_uninterrupted, what_is_missing
from purtensor.solving.certificate import DualCertifier
from purtensor.solving.dual import answer as answer_module
from purtensor.solving.dual.watch import Watch

ROLES = {"response": "y", "protected": "s"}


class Interrupted:
    """IPF until Ctrl-C comes, at the step with this number, counted from 1 over all runs."""

    def __init__(self, at: int) -> None:
        self.at, self.made = at, 0

    def step(self, problem, iterate, budget):
        self.made += 1
        if self.made == self.at:
            raise KeyboardInterrupt
        return pt.IPF().step(problem, iterate, budget)


def breaking(call, at):
    """The call, with Ctrl-C in the place of the one with this number, counted from 1."""
    made = iter(range(1, 10**6))

    def broken(*arguments, **options):
        if next(made) == at:
            raise KeyboardInterrupt
        return call(*arguments, **options)

    return broken


def data():
    rng = np.random.default_rng(1)
    size = 3000
    s, a, b = (rng.integers(0, 2, size) for _ in range(3))
    y = (rng.random(size) < 0.3 + 0.2 * s + 0.1 * a).astype(int)
    return pt.tabulate({"y": y, "s": s, "a": a, "b": b})


def f():
    return pt.regularize(data(), response="y")


def test_ended__raises_for_what_ctrl_c_ended_only():
    problem = pt.problems.load("b")
    options = {"on_failure": "return", "certificate": False}
    cut = pt.project(problem.reference, problem.constraints, solver=Interrupted(2), **options)
    short = pt.project(problem.reference, problem.constraints, max_iterations=1, solver=pt.IPF(), **options)
    assert cut.termination is pt.results.Termination.INTERRUPTED
    assert is_interrupted(cut)
    assert not is_interrupted(short)
    assert require_uninterrupted(short) is short
    with pytest.raises(KeyboardInterrupt):
        require_uninterrupted(cut)


def test_interrupting__turns_the_error_of_an_interrupted_projection_only():
    problem = pt.problems.load("b")
    with pytest.raises(KeyboardInterrupt), interrupting():
        pt.project(problem.reference, problem.constraints, solver=Interrupted(2))
    with pytest.raises(pt.NotConvergedError) as raised, interrupting():
        pt.project(problem.reference, problem.constraints, max_iterations=1, solver=pt.IPF())
    assert not raised.value.interrupted


def test_what_is_missing__names_it():
    assert what_is_missing([]) == {"interrupted": "by the user; not done: nothing"}


def test_project__interrupted_in_the_proof_keeps_the_table(monkeypatch):
    monkeypatch.setattr(DualCertifier, "certify", breaking(DualCertifier.certify, 1))
    problem = pt.problems.load("a")
    result = pt.project(problem.reference, problem.constraints, on_failure="return")
    assert result.termination is pt.results.Termination.INTERRUPTED
    assert result.residual < 1e-10
    assert not result.certified
    assert "after the solver had ended: every constraint is met" in result.notes[-1]


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor])
def test_project_many__gives_back_what_was_done(executor):
    problem = pt.problems.load("a")
    alone = pt.project(problem.reference, problem.constraints, solver=pt.IPF())
    steps = Interrupted(10**9)
    pt.project(problem.reference, problem.constraints, solver=steps)
    cut = Interrupted(2 * steps.made + 1)  # the first step of the third
    pool = None if executor is None else executor(1)
    done = pt.project_many([problem.reference] * 4, problem.constraints, solver=cut, executor=pool)
    assert done.interrupted
    assert [result is not None for result in done.results] == [True, True, False, False]
    assert done.results[1].table.identical(alone.table)
    (failure,) = done.failures
    assert failure.member == 2
    assert failure.error.interrupted


def test_project_many__without_a_member_done_raises():
    problem = pt.problems.load("a")

    def drawn(rng):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pt.project_many([drawn, drawn], problem.constraints, seed=1)
    whole = pt.project_many([problem.reference], problem.constraints)
    assert not whole.interrupted


@pytest.mark.parametrize("penalty", ["kl", "l1"])
def test_relax__gives_back_the_state_so_far(penalty, monkeypatch):
    problem = pt.problems.load("proxy")
    options = {"soft": 0, "penalty": penalty, "on_failure": "return"}
    plain = pt.relax(problem.reference, problem.constraints, max_iterations=2, **options)
    monkeypatch.setattr(Watch, "before_step", breaking(Watch.before_step, 3))
    result = pt.relax(problem.reference, problem.constraints, **options)
    assert result.termination is pt.results.Termination.INTERRUPTED
    assert result.iterations == 2
    if penalty == "kl":  # the proof puts slacks of absolute penalties at their costs
        assert result.table.values == pytest.approx(plain.table.values, rel=1e-12)
    assert (result.table.values >= 0.0).all()
    assert not result.certified
    with pytest.raises(KeyboardInterrupt):
        require_uninterrupted(result)


def test_relax__raises_with_the_state_so_far(monkeypatch):
    problem = pt.problems.load("proxy")
    monkeypatch.setattr(answer_module, "certify", breaking(answer_module.certify, 1))
    with pytest.raises(pt.NotConvergedError, match="interrupted") as raised:
        pt.relax(problem.reference, problem.constraints, soft=0, penalty="l1")
    assert raised.value.interrupted
    assert raised.value.projection.residual < 1e-10


def test_least_violating__is_no_answer_after_ctrl_c(monkeypatch):
    problem = pt.problems.load("proxy")
    monkeypatch.setattr(Watch, "before_step", breaking(Watch.before_step, 3))
    with pytest.raises(KeyboardInterrupt):
        least_violating(problem.reference, problem.constraints)


def test_parity_curve__gives_back_the_slacks_that_were_done(monkeypatch):
    slacks = [0.0, 0.1, 0.02, 0.05]
    whole = pt.parity_curve(f(), **ROLES, slacks=slacks)
    assert "interrupted" not in whole.attrs
    monkeypatch.setattr(Slacks, "within", breaking(Slacks.within, 3))
    cut = pt.parity_curve(f(), **ROLES, slacks=slacks)
    assert cut.attrs["interrupted"] == "by the user; not done: 0.02, 0"
    assert cut.drop_attrs().identical(whole.sel(slack=[0.1, 0.05]).drop_attrs())


def test_parity_curve__without_a_slack_done_raises(monkeypatch):
    monkeypatch.setattr(Slacks, "within", breaking(Slacks.within, 1))
    with pytest.raises(KeyboardInterrupt):
        pt.parity_curve(f(), **ROLES, slacks=[0.05, 0.02])


def test_parity_curve__a_run_that_heard_ctrl_c_is_no_point_of_it(monkeypatch):
    monkeypatch.setattr(Watch, "before_step", breaking(Watch.before_step, 2))
    cut = pt.parity_curve(f(), **ROLES, slacks=[1.0, 0.05])
    assert cut["slack"].values.tolist() == [1.0]
    assert cut.attrs["interrupted"] == "by the user; not done: 0.05"


def test_strength_path__gives_back_the_strengths_that_were_done(monkeypatch):
    strengths = [1e-3, 1.0, 1e-2]
    whole = pt.strength_path(data(), strengths, **ROLES)
    assert "interrupted" not in whole.attrs
    monkeypatch.setattr(path_module, "kl_divergence", breaking(path_module.kl_divergence, 3))
    cut = pt.strength_path(data(), strengths, **ROLES)
    assert cut.attrs["interrupted"] == "by the user; not done: 0.001"
    assert cut.drop_attrs().identical(whole.sel(strength=[1.0, 1e-2]).drop_attrs())
    monkeypatch.setattr(path_module, "project", breaking(path_module.project, 1))
    with pytest.raises(KeyboardInterrupt):
        pt.strength_path(data(), strengths, **ROLES)


def test_proxies__gives_back_the_sets_that_were_done(monkeypatch):
    whole = pt.proxies(f(), **ROLES)
    assert not whole.attrs
    monkeypatch.setattr(proxies_module, "diagnose", breaking(proxies_module.diagnose, 3))
    cut = pt.proxies(f(), **ROLES)
    assert cut.attrs["interrupted"] == "by the user; not done: sets after b"
    assert set(cut["predictors"]) == {"a", "b"}
    both = whole[whole["size"] == 1].reset_index(drop=True)
    assert cut["kl"].tolist() == both["kl"].tolist()
    monkeypatch.setattr(proxies_module, "diagnose", breaking(proxies_module.diagnose, 1))
    with pytest.raises(KeyboardInterrupt):
        pt.proxies(f(), **ROLES)


def test_fit__is_interrupted_and_no_fit_that_failed():
    rng = np.random.default_rng(0)
    people = rng.integers(0, 2, (200, 2))
    with pytest.raises(KeyboardInterrupt):
        pt.sklearn.PURClassifier(protected=[0], solver=Interrupted(1)).fit(people, rng.integers(0, 2, 200))
