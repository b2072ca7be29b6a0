"""Return a projection, warn, or raise an error, according to `on_failure`."""

from __future__ import annotations

import math
import warnings
from typing import Any, TypeVar

from purtensor.errors import NotConvergedError, NotConvergedWarning
from purtensor.projection.evidence import SolverEvidence
from purtensor.projection.lazy_verdict import explain, infeasible
from purtensor.projection.result import Projection
from purtensor.solving.convergence.forecast import sweeps_left_by_answer
from purtensor.solving.convergence.trend import SweepsToGo, round_sweeps
from purtensor.solving.termination import Termination

AnyProjection = TypeVar("AnyProjection", bound=Projection[Any])


_MOST_VISITS = 30_000
"""Profiles times constraints, up to which a message waits for the answer by Newton's method: about 0.2 s."""


def deliver(
    result: AnyProjection, on_failure: str, tolerance: float = 0.0, *, by_sweeps: bool = False
) -> AnyProjection:
    """Return a projection; raise or warn where it has not converged, as requested.

    With the tolerance of a run that came to a limit, the message says what may be left; of plain sweeps on a small
    problem what they and Newton's method would take.
    """
    if result.converged or on_failure == "return":
        return result
    if result.termination is Termination.INFEASIBLE:
        if on_failure == "raise":
            raise infeasible(result.diagnosis)
        message = explain(result.diagnosis)
    else:
        outlook = _outlook(result, tolerance, by_sweeps)
        message = (
            f"not converged after {result.iterations} iterations: {result.termination.value}; residual "
            f"{result.residual:.2e}, {result.residual_l1:.2e} in L1, total mass 1{outlook}"
        )
        if on_failure == "raise":
            raise NotConvergedError(message, result)
    warnings.warn(message, NotConvergedWarning, stacklevel=3)
    return result


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
    watch = SweepsToGo(tolerance)
    watch.take(result.trace["iteration"].values, result.trace["residual"].values)
    return f"; {watch.text}" if watch.text else ""
