"""Comparisons: the same rule for everybody, every ending recorded, and numbers that exact answers confirm."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import purtensor as pt
from purtensor.comparison import peer_entry
from purtensor.comparison.peers.peer import Attempt
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.rule import Rule


class PlainSweeps:
    """A researcher's own solver: one plain sweep a step, written without the package; it returns potentials."""

    def step(self, problem: Any, iterate: Any, budget: Any) -> np.ndarray:
        potentials = iterate.potentials.copy()
        masses = iterate.masses.copy()
        for k in range(len(problem.index)):
            rows = slice(problem.offsets[k], problem.offsets[k + 1])
            factor = problem.targets[rows] / np.bincount(problem.index[k], masses)
            masses *= factor[problem.index[k]]
            potentials[rows] += np.log(factor)
        return potentials

    def cell_touches(self, problem: Any) -> int:
        return int(problem.index.size)


class Still:
    """It never moves."""

    def step(self, problem: Any, iterate: Any, budget: Any) -> Any:
        return iterate


class Slow(Still):
    """It takes its time, too: many steps that do not move would be told to stand still."""

    def step(self, problem: Any, iterate: Any, budget: Any) -> Any:
        time.sleep(0.001)
        return iterate


class Broken:
    name = "broken"

    def step(self, problem: Any, iterate: Any, budget: Any) -> Any:
        raise ArithmeticError("the third law\nis violated")


class Wild:
    def step(self, problem: Any, iterate: Any, budget: Any) -> np.ndarray:
        return np.full(problem.system.rows, np.nan)


def endings(compared: Any) -> dict[tuple[str, str], str]:
    runs = compared.runs
    return dict(zip(zip(runs["problem"], runs["solver"]), runs["ending"]))


def test_compare__own_solver_joins_under_the_same_rule() -> None:
    compared = pt.compare(["a", "haberman"], [PlainSweeps(), pt.IPF()], repetitions=2)
    runs = compared.runs.set_index(["problem", "solver"])
    assert runs["converged"].all()
    for problem in ("a", "haberman"):
        own, ours = runs.loc[(problem, "PlainSweeps")], runs.loc[(problem, "IPF")]
        assert own["iterations"] == ours["iterations"]
        assert own["cell_touches"] == ours["cell_touches"] > 0
        assert own["residual"] == pytest.approx(ours["residual"], rel=1e-3)
    assert runs.loc[("a", "IPF")]["iterations"] == 19
    assert runs.loc[("a", "IPF")]["cell_touches"] == 19 * 3 * 216
    rounds = compared.times.groupby(["problem", "solver"])["round"].apply(list)
    assert rounds.map(lambda found: found == [1, 2]).all()
    assert len(rounds) == 4


def test_compare__failures_are_endings_and_nobody_else_is_harmed() -> None:
    solvers = [Broken(), Wild(), Still(), "newton"]
    compared = pt.compare("a", solvers, repetitions=1, max_iterations=50)
    assert endings(compared) == {
        ("a", "broken"): "failed",
        ("a", "Wild"): "not finite",
        ("a", "Still"): "iteration limit",
        ("a", "newton"): "converged",
    }
    assert compared.runs["note"].iloc[0] == "ArithmeticError: the third law is violated"
    assert np.isnan(compared.runs["residual"].iloc[0])
    assert set(compared.times["solver"]) == {"newton"}
    assert compared.runs["residual"].iloc[2] > 1e-3


def test_compare__the_budget_ends_what_does_not_end() -> None:
    compared = pt.compare("a", Slow(), budget=0.05, max_iterations=10**9)
    assert endings(compared) == {("a", "Slow"): "time limit"}


def test_compare__what_stands_still_for_long_is_stalled() -> None:
    assert endings(pt.compare("a", Still(), budget=60, max_iterations=10**9)) == {("a", "Still"): "stalled"}


def test_compare__seconds_of_the_budget_are_told() -> None:
    compared = pt.compare("a", Slow(), budget=0.05, max_iterations=10**9)
    assert 0.05 <= compared.runs["seconds"].item() < 5.0


def test_compare__infeasible_and_boundary_problems() -> None:
    compared = pt.compare(["cut_3x3", "staircase"], ["ipf", "project"], max_iterations=2000, repetitions=1)
    assert endings(compared) == {
        ("cut_3x3", "ipf"): "iteration limit",
        ("cut_3x3", "project"): "infeasible",
        ("staircase", "ipf"): "iteration limit",
        ("staircase", "project"): "converged on face",
    }
    runs = compared.runs.set_index(["problem", "solver"])
    assert runs.loc[("cut_3x3", ["ipf", "project"]), "kl"].isna().all()
    assert runs.loc[("staircase", "project"), "kl"] < 1e-15
    assert "none proved" in compared.problems["cut_3x3"]["certified answer"]


@pytest.mark.parametrize("sweeps", [1, 7, 40])
def test_compare__numbers_of_the_staircase_are_exact(sweeps: int) -> None:
    # after n sweeps (rows, columns): 1 / (2n + 1) in the corner, whose column is met; the limit is [[0, 1], [1, 0]]
    compared = pt.compare("staircase", "ipf", max_iterations=sweeps, repetitions=0)
    run = compared.runs.iloc[0]
    corner = 1 / (2 * sweeps + 1)
    table = np.array([[corner, 1.0], [1 - corner, 0.0]]) / 2
    assert run["residual"] == pytest.approx(corner / 2, rel=1e-12)
    assert run["residual_l1"] == pytest.approx(corner, rel=1e-12)
    expected = 0.5 * np.log(0.5 / table[0, 1]) + 0.5 * np.log(0.5 / table[1, 0])
    assert run["kl"] == pytest.approx(expected, rel=1e-9)
    assert run["dual_gap"] == pytest.approx(expected, rel=1e-6)  # for a member of the family the two are the same
    last = compared.trace.iloc[-1]
    assert (last["iteration"], last["residual"]) == (sweeps, pytest.approx(corner / 2, rel=1e-12))


def test_compare__zero_targets_count_in_the_dual_gap() -> None:
    table = pt.to_dense(pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=[1, 1, 1, 3]))
    targets = [pt.Marginal(pt.to_dense(pt.tabulate({"a": [0, 1]}, weights=[6, 0]), 0.0))]
    compared = pt.compare((table, targets), ["ipf", "project"], repetitions=0)
    assert compared.runs["converged"].all()
    assert compared.runs["dual_gap"].max() < 1e-12


def test_compare__takes_problems_of_every_kind(tmp_path: Path) -> None:
    known = pt.problems.load("haberman")
    saved = pt.project(known.reference, known.constraints)
    pt.save(saved, tmp_path / "mine.nc")
    asked = [
        "haberman",
        "pur(responses=2, protected=2, unprotected=3, seed=4)",
        (known.reference, known.constraints),
        pt.problems.load("and_gate"),
        saved,
        tmp_path / "mine.nc",
    ]
    compared = pt.compare(asked, pt.Newton(), repetitions=0)
    names = list(compared.problems)
    assert names == [
        "haberman",
        "pur(responses=2, protected=2, unprotected=3, seed=4)",
        "problem 3",
        "and_gate",
        "problem 5",
        "mine",
    ]
    residual = compared.runs.set_index("problem")["residual"]
    assert residual["haberman"] == residual["problem 3"] == residual["problem 5"]
    named = pt.compare({"first": "haberman", "second": saved}, {"mine": "newton"}, repetitions=0)
    assert endings(named) == {("first", "mine"): "converged", ("second", "mine"): "converged"}


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("nobody", "ipf"), {}, "no problem 'nobody'"),
        ((["a", "a"], "ipf"), {}, "two problems are named 'a'"),
        (([], "ipf"), {}, "no problem was given"),
        ((3, "ipf"), {}, "a problem must be a name"),
        (([("a", "b")], "ipf"), {}, "a problem must be a name"),
        (("pur(2, 3)", "ipf"), {}, "options must be written as"),
        (("a", "nobody"), {}, "no solver 'nobody'"),
        (("a", []), {}, "no solver was given"),
        (("a", [pt.IPF(), pt.IPF()]), {}, "two solvers are named 'IPF'"),
        (("a", [3]), {}, "an object with a step"),
        (("a", range(3)), {}, "an object with a step"),
        (("a", pt.problems.load("a").constraints), {}, "an object with a step"),
        (("a", "ipf"), {"budget": 0}, "budget must be the seconds"),
        (("a", "ipf"), {"tolerance": 0}, "tolerance must be a share"),
        (("a", "ipf"), {"max_iterations": 0}, "max_iterations must be a positive count"),
        (("a", "ipf"), {"repetitions": -1}, "repetitions must be a count"),
    ],
)
def test_compare__refuses(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(pt.InvalidOptionError, match=message):
        pt.compare(*arguments, **options)


class Absent:
    def missing(self) -> str:
        return "a package"

    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        raise AssertionError("it is not there")


def test_compare__a_peer_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_entry, "PEERS", {"ipfn": Absent()})
    compared = pt.compare("haberman", ["ipfn", "ipf"], repetitions=1)
    assert endings(compared) == {("haberman", "ipfn"): "not installed", ("haberman", "ipf"): "converged"}
    assert compared.runs["note"].iloc[0] == "needs a package"


def test_compare__a_peer_runs_in_its_own_process_and_is_judged_from_outside() -> None:
    compared = pt.compare("haberman", ["trust-exact", "pot"], repetitions=1, budget=20)
    found = endings(compared)
    assert found["haberman", "trust-exact"] in ("converged", "stopped short")  # it compares values of the dual
    assert found["haberman", "pot"] in ("does not apply", "not installed")
    run = compared.runs.set_index(["problem", "solver"]).loc[("haberman", "trust-exact")]
    assert run["residual"] < 1e-8
    assert run["kl"] < 1e-14
    assert run["seconds"] > 0
    trace = compared.trace.query("problem == 'haberman' and solver == 'trust-exact'")
    assert trace["residual"].iloc[0] > trace["residual"].iloc[-1]
    assert (trace["seconds"].diff().dropna() >= 0).all()


def test_compare__tells_what_it_does() -> None:
    told: list[tuple[str, str]] = []
    pt.compare("haberman", ["ipf", "newton"], repetitions=2, on_step=lambda *step: told.append(step))
    assert [step for _, step in told] == [
        "certified answer",
        "ipf",
        "newton",
        "ipf, round 1",
        "newton, round 1",
        "newton, round 2",
        "ipf, round 2",
    ]


class Interrupting:
    def __init__(self, after: int) -> None:
        self.left = after

    def step(self, problem: Any, iterate: Any, budget: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return iterate


def test_compare__an_interruption_keeps_what_was_done() -> None:
    compared = pt.compare(["haberman", "staircase"], {"ipf": "ipf", "cut": Interrupting(3), "never": "newton"})
    assert endings(compared) == {("haberman", "ipf"): "converged", ("haberman", "cut"): "interrupted"}
    assert compared.settings["interrupted"].startswith("by the user, at problem haberman")


class Armed:
    """IPF, until it is told that a run comes in which Ctrl-C does, too."""

    armed = False

    def step(self, problem: Any, iterate: Any, budget: Any) -> Any:
        if self.armed:
            self.armed = False  # a run that is made again would end well
            raise KeyboardInterrupt
        return pt.IPF().step(problem, iterate, budget)


@pytest.mark.parametrize("when", ["cut", "cut, round 1"])
def test_compare__an_interruption_of_a_short_run_or_of_a_timed_one_ends_it_all(when: str) -> None:
    solver, told = Armed(), []

    def hear(problem: str, step: str) -> None:
        told.append(step)
        solver.armed = step == when

    compared = pt.compare(["haberman", "staircase"], {"cut": solver}, repetitions=2, on_step=hear, max_iterations=100)
    assert told[-1] == when
    assert list(compared.problems) == ["haberman"]
    assert endings(compared) == {("haberman", "cut"): "interrupted" if when == "cut" else "converged"}
    assert "interrupted" in compared.settings


def test_compare__an_interruption_of_the_certified_answer_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(self: object, *arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pt.IPF, "step", cut)
    monkeypatch.setattr(pt.Newton, "step", cut)
    with pytest.raises(KeyboardInterrupt):
        pt.compare("haberman", {"still": Interrupting(3)}, repetitions=0)


def test_compare__an_interruption_before_anything_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(problem: str, solver: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pt.compare("haberman", "ipf", on_step=told)


def test_compare__contradictions_are_refused_before_anything_runs() -> None:
    table = pt.to_dense(pt.tabulate({"a": [0, 1], "b": [0, 1]}))
    wrong = [pt.Marginal(pt.marginal(table, "a")), pt.Marginal(2 * pt.marginal(table, "b"))]
    told: list[Any] = []
    with pytest.raises(pt.InconsistentTargetsError):
        pt.compare(["haberman", (table, wrong)], "ipf", on_step=lambda *step: told.append(step))
    assert told == []


class Moody:
    """It solves, and raises at every third run."""

    def __init__(self) -> None:
        self.runs = 0

    def step(self, problem: Any, iterate: Any, budget: Any) -> Any:
        if iterate.memory is None:
            self.runs += 1
            if self.runs > 2 and self.runs % 3 == 0:
                raise ArithmeticError
        time.sleep(2e-3)  # shorter runs would be repeated within a round, and each round would fail
        return pt.Newton().step(problem, iterate, budget)


def test_compare__a_round_that_fails_has_no_time() -> None:
    compared = pt.compare("a", {"moody": Moody(), "newton": "newton"}, repetitions=3)
    rounds = compared.times.query("solver == 'moody'")["seconds"]
    assert rounds.isna().any()
    assert rounds.notna().any()
    assert compared.runs["seconds"].notna().all()
    assert len(compared.ratios("newton")) == 2


def test_compare__no_memory_for_the_certified_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise pt.TooLargeError("too large", 2, 1)

    monkeypatch.setattr("purtensor.comparison.questions.project", refuse)
    compared = pt.compare("haberman", ["ipf", "loglin"], repetitions=0)
    assert endings(compared)["haberman", "ipf"] == "converged"
    assert compared.runs["kl"].isna().all()
    assert compared.problems["haberman"]["certified answer"] == "none: there is not enough memory"
