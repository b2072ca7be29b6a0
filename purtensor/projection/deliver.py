"""Return a projection, warn, or raise an error, according to `on_failure`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from purtensor.errors import NotConvergedError, NotConvergedWarning, PurtensorError
from purtensor.projection.evidence import SolverEvidence
from purtensor.projection.lazy_verdict import infeasible
from purtensor.projection.relaxation import Relaxation
from purtensor.projection.result import Projection
from purtensor.solving.convergence.forecast import sweeps_left_by_answer
from purtensor.solving.convergence.trend import SweepsToGo, round_sweeps
from purtensor.solving.termination import Termination

AnyProjection = TypeVar("AnyProjection", bound=Projection[Any])
_Result = TypeVar("_Result", bound=Projection[Any] | Relaxation)


_MOST_VISITS = 30_000
"""Profiles times constraints, up to which a message waits for the answer by Newton's method: about 0.2 s."""


def deliver(
    result: AnyProjection, on_failure: str, tolerance: float = 0.0, *, by_sweeps: bool = False
) -> AnyProjection:
    """Return a projection; raise or warn where it has not converged, as requested.

    With the tolerance of a run that came to a limit, the message says what may be left; of plain sweeps on a small
    problem what they and Newton's method would take.
    """

    def refuse(result: AnyProjection) -> PurtensorError:
        if result.termination is Termination.INFEASIBLE:
            return infeasible(result.diagnosis)
        return NotConvergedError(f"{ending_in_words(result)}{_outlook(result, tolerance, by_sweeps)}", result)

    return raise_or_warn(result, on_failure, refuse)


def raise_or_warn(
    result: _Result, on_failure: str, refuse: Callable[[_Result], PurtensorError], stacklevel: int = 4
) -> _Result:
    """Return a result that has converged; of any other return it, warn with the message of an error, or raise that.

    `stacklevel` is of the line that is warned about: 4 for one that called a function that calls `deliver`.
    """
    if not result.converged and on_failure != "return":
        error = refuse(result)
        if on_failure == "raise":
            raise error
        warnings.warn(str(error), NotConvergedWarning, stacklevel=stacklevel)
    return result


def ending_in_words(result: Projection[Any] | Relaxation, whose: str = "") -> str:
    """Return how a run that has not converged ended, and what it misses."""
    return (
        f"not converged after {result.iterations} iterations: {result.termination.value}; residual{whose} "
        f"{result.residual:.2e}, {result.residual_l1:.2e} in L1, total mass 1"
    )


def _outlook(result: Any, tolerance: float, by_sweeps: bool) -> str:
    """Return the likely number of further iterations of a run that reached a limit; empty if unknown."""
    if not tolerance or result.termination not in (Termination.ITERATION_LIMIT, Termination.TIME_LIMIT):
        return ""
    evidence = result.evidence
    # the answer is at hand for small problems: a forecast by it is far better than by the trend
    if by_sweeps and isinstance(evidence, SolverEvidence) and evidence.labelled.arrays.index.size <= _MOST_VISITS:
        found = sweeps_left_by_answer(evidence.labelled.arrays, evidence.run.iterate.potentials, tolerance)
        if found is not None and found.is_known and math.isfinite(found.sweeps):
            return f"; about {round_sweeps(found.sweeps)} more sweeps, or {found.newton_steps} Newton steps"
    # the trend of the residuals says when plain sweeps will meet the tolerance
    watch = SweepsToGo(tolerance)
    watch.take(result.trace["iteration"].values, result.trace["residual"].values)
    return f"; {watch.text}" if watch.text else ""


def is_interrupted(result: object) -> bool:
    """Return whether a projection or a relaxation is the state at which Ctrl-C came."""
    return getattr(result, "termination", None) is Termination.INTERRUPTED


def require_uninterrupted(result: _Result) -> _Result:
    """Return a result that was not interrupted.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C ended it: what follows would be computed from an answer that is not one.
    """
    if is_interrupted(result):
        raise KeyboardInterrupt
    return result


def what_is_missing(left: Iterable[str]) -> dict[str, str]:
    """Return the text of `interrupted` in a result after Ctrl-C: what was not completed.

    Examples
    --------
    >>> what_is_missing(["0.1", "0"])
    {'interrupted': 'by the user; not done: 0.1, 0'}
    """
    return {"interrupted": f"by the user; not done: {', '.join(left) or 'nothing'}"}


@contextmanager
def interrupting() -> Iterator[None]:
    """Turn the NotConvergedError of what Ctrl-C ended into a KeyboardInterrupt, which ends the calls around it."""
    try:
        yield
    except NotConvergedError as error:
        if error.interrupted:
            raise KeyboardInterrupt from error
        raise
