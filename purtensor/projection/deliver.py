"""How a projection is handed over: returned, warned about or raised, as was asked."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from purtensor.errors import InfeasibleError, NotConvergedError, NotConvergedWarning
from purtensor.projection.lazy_verdict import explained
from purtensor.projection.result import Projection
from purtensor.solving.convergence.trend import SweepsToGo
from purtensor.solving.termination import Termination

AnyProjection = TypeVar("AnyProjection", bound=Projection[Any])


def deliver(result: AnyProjection, on_failure: str, tolerance: float = 0.0) -> AnyProjection:
    """Return a projection; raise or warn where it has not converged, as was asked.

    With the tolerance of a run that came to a limit, the message tells what may be left.
    """
    if result.converged or on_failure == "return":
        return result
    if result.termination is Termination.INFEASIBLE:
        message = explained(result.diagnosis)
        if on_failure == "raise":
            raise InfeasibleError(message, result.diagnosis)
    else:
        message = (
            f"not converged after {result.iterations} iterations: {result.termination.value}; residual "
            f"{result.residual:.2e}, {result.residual_l1:.2e} in L1, total mass 1{_outlook(result, tolerance)}"
        )
        if on_failure == "raise":
            raise NotConvergedError(message, result)
    warnings.warn(message, NotConvergedWarning, stacklevel=3)
    return result


def _outlook(result: Any, tolerance: float) -> str:
    """Return how many more iterations a run that came to a limit is likely to take; nothing where that is not told."""
    if not tolerance or result.termination not in (Termination.ITERATION_LIMIT, Termination.TIME_LIMIT):
        return ""
    watch = SweepsToGo(tolerance)
    watch.take(result.trace["iteration"].values, result.trace["residual"].values)
    return f"; {watch.text}" if watch.text else ""
