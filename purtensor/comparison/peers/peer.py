"""The interface to other packages: problem and result."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from purtensor._typing import FloatArray
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.rule import Ending, Rule


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the trace of a run."""

    iteration: int
    seconds: float
    residual: float
    residual_l1: float
    dual_gap: float = float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """What a solver handed back.

    Attributes
    ----------
    masses
        Shape (M,): the table on the support, total mass 1; None when there is none.
    iterations
        As the solver counts them; None if it does not report them.
    limit
        The limit that ended the run, if one did.
    says
        A remark of the solver on its answer, if relevant.
    seconds
        By its own clock, where a call costs more than the solution; None for the clock around the call.
    lines
        The trace, where the run can be looked into.
    here
        Whether the memory was taken by this process, where it can be measured.
    """

    masses: FloatArray | None
    iterations: int | None = None
    limit: Ending | None = None
    says: str = ""
    seconds: float | None = None
    lines: tuple[Line, ...] = ()
    here: bool = True


class Peer(ABC):
    """Another package as a contender.

    Attributes
    ----------
    modules
        The modules that it needs besides those that purtensor needs.
    """

    modules: ClassVar[tuple[str, ...]] = ()

    def missing(self) -> str:
        """Return what would have to be installed; nothing when all is there."""
        return missing_modules(*self.modules)

    @abstractmethod
    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        """Return a call that solves the problem from its start; the conversion of the problem is done before.

        Raises
        ------
        NotApplicableError
            The peer cannot take this problem.
        """


def missing_modules(*names: str) -> str:
    """Return the names of those modules that cannot be imported, as a text."""
    return ", ".join(name for name in names if find_spec(name) is None)


def driven(
    problem: PlainProblem,
    rule: Rule,
    start: FloatArray,
    advance: Callable[[FloatArray, int], FloatArray],
    unit: int = 1,
) -> Attempt:
    """Return the run of a peer that can continue from its own table: our rule stops it, our judging is not timed.

    Parameters
    ----------
    start
        The reference as the peer takes it.
    advance
        Returns the table after so many more sweeps.
    unit
        So many it makes at once: no other numbers are requested.
    """
    table, done, seconds, lines = start, 0, 0.0, []
    while True:
        largest, l1 = problem.misses(problem.on_support(table))
        lines.append(Line(done, seconds, largest, l1))
        limit = _limit_reached(rule, largest, l1, done, seconds)
        if limit is not None:
            reached = None if limit is Ending.CONVERGED else limit
            return Attempt(problem.on_support(table), done, reached, seconds=seconds, lines=tuple(lines))
        # judged after every tenth of the sweeps so far, rounded up to what the peer makes at once
        sweeps = -(-min(max(1, done // 10), rule.max_iterations - done) // unit) * unit
        began = rule.now()
        table = advance(table, sweeps)
        seconds += rule.now() - began
        done += sweeps


def _limit_reached(rule: Rule, largest: float, l1: float, done: int, seconds: float) -> Ending | None:
    if rule.is_met(largest, l1):
        return Ending.CONVERGED
    if math.isnan(largest):
        return Ending.NOT_FINITE
    if seconds >= rule.max_seconds:
        return Ending.TIME_LIMIT
    return Ending.ITERATION_LIMIT if done >= rule.max_iterations else None
