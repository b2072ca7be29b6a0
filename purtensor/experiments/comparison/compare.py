"""Problems times solvers, under one rule: run, judged from outside, timed in turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from purtensor.errors import InvalidOptionError
from purtensor.experiments.comparison.contenders import Contender, Entry, Solvers, contenders
from purtensor.experiments.comparison.machine import surroundings
from purtensor.experiments.comparison.outcome import Outcome
from purtensor.experiments.comparison.questions import Problems, Question, questions
from purtensor.experiments.comparison.result import Comparison
from purtensor.experiments.comparison.rule import CLOCKS, Ending, Rule

_PACKAGES = ("numpy", "scipy", "numba", "ipfn", "humanleague", "POT", "cvxpy", "clarabel")


def compare(
    problems: Problems,
    solvers: Solvers,
    *,
    budget: float = 60.0,
    tolerance: float = 1e-10,
    max_iterations: int = 100_000,
    repetitions: int = 5,
    clock: str = "wall",
    on_step: Callable[[str, str], Any] | None = None,
) -> Comparison:
    """Return how solvers fare on problems, under one stopping rule, one trace and one budget.

    Every run begins at the reference. What it returns is judged from outside, by sums over the table; its time is
    that of the solution, from arrays in the solver's own format. A solver that fails, dies or does not converge is
    recorded with its ending, and the others go on. Peers run in processes of their own. Ctrl-C ends the comparison with
    what was done until then.

    Parameters
    ----------
    problems
        One or several of: a name that `pt.problems.load` knows; a family with sizes and optionally a seed, such as
        "pur(responses=2, protected=3, unprotected=40)"; the path of a saved projection (.nc); any object with
        `reference` and `constraints`; a pair of them. A mapping gives them names.
    solvers
        One or several of: the name of a solver of purtensor, also with options ("auto", "newton",
        "ipf(relaxation=1.5)"; "project" is `pt.project` with its labels) or of a peer ("ipfn", "clarabel", ...); any
        object with a `step`. A mapping gives them names.
    budget
        Seconds that each run may take. What does not hear of limits is ended from outside.
    tolerance
        Converged means: the largest miss of a target is within it, and the sum of misses in the worst constraint
        within 100 times it, the total mass being 1.
    max_iterations
        Sweeps or steps that each run may take.
    repetitions
        Rounds in which those that converged are timed again, in turns; ratios are taken within a round.
    clock
        What runs are timed by: "wall", or "processor" on a machine that others use. The latter adds up threads.
    on_step
        Told the problem and the solver before each run.

    Returns
    -------
    Comparison
        Tidy numbers, tables, ratios, and what curves and profiles are drawn from.

    Raises
    ------
    InvalidOptionError, InvalidTableError, InconsistentTargetsError
        Before anything runs: an unknown name, two of one name, a problem that is none.

    Examples
    --------
    >>> import purtensor as pt
    >>> compared = pt.compare(["haberman", "a"], ["ipf", "newton"], budget=10, repetitions=1)
    >>> compared.runs[["problem", "solver", "ending"]].values.tolist()
    [['haberman', 'ipf', 'converged'], ['haberman', 'newton', 'converged'], ['a', 'ipf', 'converged'], \
['a', 'newton', 'converged']]
    """
    rule = _rule(budget, tolerance, max_iterations, clock)
    if repetitions < 0:
        raise InvalidOptionError(f"repetitions is a count, this is {repetitions}")
    asked, invited = questions(problems, max(10.0 * budget, 60.0)), contenders(solvers)
    for question in asked:
        question.check()
    runs: dict[tuple[str, str], Outcome] = {}
    seconds: list[tuple[str, str, int, float]] = []
    facts, cut = {}, {}
    while asked:
        question = asked.pop(0)  # and let go of after its turn: large problems do not pile up
        try:
            _contest(question, invited, rule, repetitions, on_step or _silent, runs, seconds)
        except KeyboardInterrupt:
            if not runs:
                raise
            cut = {"interrupted": f"by the user, at problem {question.name}; this is what was done until then"}
            asked = []
        if any(problem == question.name for problem, _ in runs):
            facts[question.name] = question.facts()
    settings = {
        "tolerance": f"{tolerance:g} (largest miss, total mass 1), {100 * tolerance:g} (L1 of the worst constraint)",
        "budget": f"{budget:g} s and {max_iterations:,} iterations a run",
        "repetitions": f"{repetitions}, in turns",
        "clock": clock,
        **cut,
        **surroundings(_PACKAGES),
    }
    times = pd.DataFrame(seconds, columns=["problem", "solver", "round", "seconds"])
    return Comparison.of(runs, times, tolerance, facts, settings)


def _rule(budget: float, tolerance: float, max_iterations: int, clock: str) -> Rule:
    if not budget > 0:
        raise InvalidOptionError(f"budget is the seconds that each run may take, a positive number, this is {budget!r}")
    if not 0 < tolerance < 1:
        raise InvalidOptionError(f"tolerance is a share of the total mass in (0, 1), this is {tolerance!r}")
    if max_iterations < 1:
        raise InvalidOptionError(f"max_iterations is a positive count, this is {max_iterations!r}")
    if clock not in CLOCKS:
        raise InvalidOptionError(f"clock is one of {', '.join(CLOCKS)}, this is {clock!r}")
    return Rule(float(tolerance), int(max_iterations), float(budget), clock)


def _silent(problem: str, solver: str) -> None:
    """Tell nobody."""


def _contest(
    question: Question,
    invited: list[Contender],
    rule: Rule,
    repetitions: int,
    told: Callable[[str, str], Any],
    runs: dict[tuple[str, str], Outcome],
    seconds: list[tuple[str, str, int, float]],
) -> None:
    """Add the outcome of every contender on one problem to `runs`, and the times of those that converged to `seconds`.

    What was done before an interruption is added as well.
    """
    entries: dict[str, Entry] = {}
    try:
        told(question.name, "certified answer")
        question.certified  # noqa: B018 - not to be made while the first contender is being measured
        for contender in invited:
            told(question.name, contender.name)
            entries[contender.name] = contender.enter(question, rule)
            outcome = entries[contender.name].run()
            runs[question.name, contender.name] = outcome
            if outcome.ending is Ending.INTERRUPTED:
                raise KeyboardInterrupt
            if not outcome.ending.converged:
                entries.pop(contender.name).close()  # it is not timed: its process may go
        racing = list(entries)
        for turn in range(repetitions):
            for name in racing[:: 1 if turn % 2 == 0 else -1]:
                told(question.name, f"{name}, round {turn + 1}")
                seconds.append((question.name, name, turn + 1, entries[name].time()))
    finally:
        for entry in entries.values():
            entry.close()
