"""Problems times solvers, under one rule: run, judged from outside, timed in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from purtensor._options import check_choice, is_count, is_number
from purtensor.comparison.contenders import Contender, Solvers, contenders
from purtensor.comparison.machine import surroundings
from purtensor.comparison.questions import Problems, Question, questions
from purtensor.comparison.result import Comparison
from purtensor.comparison.rule import CLOCKS, Rule
from purtensor.comparison.running import Found, OnStep, run_in_turns, run_side_by_side
from purtensor.errors import InvalidOptionError

_PACKAGES = ("numpy", "scipy", "numba", "ipfn", "humanleague", "POT", "cvxpy", "clarabel")

_SIDE_BY_SIDE = "other runs computed at the same time, so compare them within a round only"


def compare(
    problems: Problems,
    solvers: Solvers,
    *,
    budget: float = 60.0,
    tolerance: float = 1e-10,
    max_iterations: int = 100_000,
    repetitions: int = 5,
    clock: str = "wall",
    executor: Any = None,
    on_step: Callable[[str, str], Any] | None = None,
) -> Comparison:
    """Compare solvers on problems, with the same stopping rule, trace and budget for all.

    Every run starts at the reference. The returned tables are evaluated independently of the solvers, by sums over the
    table. The time is that of the solution, from arrays in the solver's own format. A solver that fails, dies or does
    not converge is recorded with its ending, and the comparison continues. Other packages run in separate processes.
    After Ctrl-C the completed runs are returned.

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
        Time limit of each run in seconds. Packages without a time limit are killed when they exceed it.
    tolerance
        A run has converged if the largest miss of a target is within the tolerance, and the sum of the misses of each
        constraint within 100 times the tolerance, at total mass 1.
    max_iterations
        Sweeps or steps that each run may take.
    repetitions
        Number of rounds in which the converged solvers are timed again, in turns; ratios are computed within a round.
    clock
        The clock: "wall", or "processor" for a shared machine; "processor" sums over threads.
    executor
        Runs every solver on every problem, as in `project_many`: None (sequentially in this process, which gives the
        most reliable times); a number of joblib workers, or a `joblib.Parallel`; any object with `submit`. The rounds
        of one problem run in turns on one worker. Residuals, divergences, gaps and counts do not depend on the
        executor; times and budgets do, because other runs compute at the same time, and the result says so. The memory
        of solvers that share a process is not reported, and with the processor clock they wait for each other. If a
        worker dies, only its run fails; threads continue to their limits after Ctrl-C. The certified answers of all
        problems are kept meanwhile. Other processes must be able to unpickle problems, and solvers of your own.
    on_step
        Called with the names of the problem and the solver before each run; with an executor, after it.

    Returns
    -------
    Comparison
        Tidy numbers, tables, ratios, and what curves and profiles are drawn from.

    Raises
    ------
    InvalidOptionError, InvalidTableError, InconsistentTargetsError
        Before anything runs: an unknown name, two of one name, something that is not a problem.

    Examples
    --------
    >>> import purtensor as pt
    >>> compared = pt.compare(["haberman", "a"], ["ipf", "newton"], budget=10, repetitions=1)
    >>> compared.runs[["problem", "solver", "ending"]].values.tolist()
    [['haberman', 'ipf', 'converged'], ['haberman', 'newton', 'converged'], ['a', 'ipf', 'converged'], \
['a', 'newton', 'converged']]
    """
    rule = _rule(budget, tolerance, max_iterations, clock)
    if not is_count(repetitions):
        raise InvalidOptionError(f"repetitions must be a count, got {repetitions!r}")
    if on_step is not None and not callable(on_step):
        raise InvalidOptionError(f"on_step must be a function of a problem's and a solver's name, got {on_step!r}")
    # the certified answer, to a far smaller tolerance, may take longer than any run
    asked, invited = questions(problems, max(10.0 * budget, 60.0)), contenders(solvers)
    for question in asked:
        question.check()
    budget, tolerance = rule.max_seconds, rule.tolerance
    names, found, cut = [question.name for question in asked], Found(), {}
    try:
        if executor is None:
            _run_one_by_one(asked, invited, rule, repetitions, on_step or _ignore, found)
        else:
            run_side_by_side(asked, invited, rule, repetitions, executor, on_step or _ignore, found)
    except KeyboardInterrupt:
        if not found.runs:
            raise
        at = f", at problem {names[-len(asked) - 1]}" if executor is None else ""
        cut = {"interrupted": f"by the user{at}; this is what was done until then"}
    if executor is not None:
        workers = f"{executor} workers" if isinstance(executor, int) else type(executor).__name__
        cut = {"times": f"taken side by side, by {workers}: {_SIDE_BY_SIDE}", **cut}
    settings = {
        "tolerance": f"{tolerance:g} (largest miss, total mass 1), {100 * tolerance:g} (L1 of the worst constraint)",
        "budget": f"{budget:g} s and {max_iterations:,} iterations a run",
        "repetitions": f"{repetitions}, in turns",
        "clock": clock,
        **cut,
        **surroundings(_PACKAGES),
    }
    return _sort(found, names, [contender.name for contender in invited], tolerance, settings, executor is not None)


def _run_one_by_one(
    asked: list[Question], invited: Sequence[Contender], rule: Rule, repetitions: int, on_step: OnStep, found: Found
) -> None:
    while asked:
        question = asked.pop(0)  # and let go of after its turn: large problems do not pile up
        try:
            run_in_turns(question, invited, rule, repetitions, on_step, found)
        finally:
            if any(problem == question.name for problem, _ in found.runs):
                found.facts[question.name] = question.facts()


def _sort(
    found: Found, problems: list[str], solvers: list[str], tolerance: float, settings: dict[str, str], beside: bool
) -> Comparison:
    """Return the comparison by problem and solver in the order of the question, whichever ended first."""
    cells = [(problem, solver) for problem in problems for solver in solvers]
    runs = {cell: found.runs[cell] for cell in cells if cell in found.runs}
    some = {problem for problem, _ in runs}
    times = pd.DataFrame(found.seconds, columns=["problem", "solver", "round", "seconds"])
    place = {problem: number for number, problem in enumerate(problems)}
    times = times.sort_values("problem", key=lambda of: of.map(place), kind="stable", ignore_index=True)
    facts = {problem: found.facts[problem] for problem in problems if problem in some}
    return Comparison.of(runs, times, tolerance, facts, settings, side_by_side=beside)


def _rule(budget: float, tolerance: float, max_iterations: int, clock: str) -> Rule:
    if not (is_number(budget) and budget > 0):
        raise InvalidOptionError(
            f"budget must be the seconds that each run may take, a positive number, got {budget!r}"
        )
    if not (is_number(tolerance) and 0 < tolerance < 1):
        raise InvalidOptionError(f"tolerance must be a share of the total mass in (0, 1), got {tolerance!r}")
    if not (is_count(max_iterations) and max_iterations >= 1):
        raise InvalidOptionError(f"max_iterations must be a positive count, got {max_iterations!r}")
    check_choice("clock", clock, CLOCKS)
    return Rule(float(tolerance), int(max_iterations), float(budget), clock)


def _ignore(problem: str, solver: str) -> None:
    """Do nothing."""
