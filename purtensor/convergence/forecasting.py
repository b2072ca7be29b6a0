"""How many sweeps a run that stopped early still needs: by the answer, which Newton's method finds in a few steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

from purtensor._options import is_number
from purtensor._printing import Shown
from purtensor._typing import FloatArray
from purtensor.convergence.prediction import number_text
from purtensor.errors import InvalidOptionError
from purtensor.projection.evidence import SolverEvidence
from purtensor.projection.labels import potentials_from
from purtensor.projection.project import project
from purtensor.projection.result import Projection, require_projection
from purtensor.projection.solved import arrays_of, in_its_engine
from purtensor.solving.convergence.forecast import sweeps_left_by_answer
from purtensor.solving.convergence.trend import likely_left, sweeps_left, trend_of
from purtensor.solving.problem import LabelledProblem
from purtensor.solving.solvers.newton import Newton


@dataclass(frozen=True, slots=True, repr=False)
class Forecast(Shown):
    """The predicted number of further sweeps of plain iterative proportional fitting.

    Attributes
    ----------
    sweeps
        The most likely number of sweeps; inf if the residual does not decrease.
    lower, upper
        The expected range: from the linearised sweep, with the measured deviation of real sweeps from it, or, for a
        trend, the range of eight in ten runs.
    by
        "answer": from the sweep linearised at the answer. "trend": from the residuals alone, because Newton's equations
        are too large, or the answer is too far away or lies on the boundary.
    newton_steps
        The number of steps of Newton's method from the state of the run to the answer; None if it did not converge.
    tolerance
        The tolerance of the residual, as in `project`.
    """

    sweeps: float
    lower: float
    upper: float
    by: str
    newton_steps: int | None
    tolerance: float

    def summary(self) -> dict[str, str]:
        """Return the forecast as named texts."""
        return {
            "sweeps left": f"{number_text(self.sweeps)} ({number_text(self.lower)} to {number_text(self.upper)})",
            "steps of Newton's method": "" if self.newton_steps is None else str(self.newton_steps),
            "explanation": self.explanation,
        }

    @property
    def explanation(self) -> str:
        """The forecast in a sentence."""
        if self.sweeps == 0.0:
            return f"The residual is within {self.tolerance:g}."
        if math.isinf(self.sweeps):
            return "The residual does not decrease, so no number of sweeps can be predicted."
        ends = f"{number_text(self.lower)} to {number_text(self.upper)}"
        newton = "" if self.newton_steps is None else f", or {self.newton_steps} steps of Newton's method"
        about = f"About {number_text(self.sweeps)} more sweeps to {self.tolerance:g} ({ends}){newton}."
        return (
            about
            if self.by == "answer"
            else f"{about} Extrapolated from residuals: two in ten runs end outside of this range."
        )


@in_its_engine
def forecast(result: Projection, *, tolerance: float = 1e-10) -> Forecast:
    """Return a forecast of the further sweeps that a stopped run of iterative proportional fitting needs.

    Newton's method computes the answer q from the state of the run, and powers of the sweep linearised at q are
    applied to the remaining error until its misses are within the tolerance (notes/forecasts.md). If Newton's
    equations can be solved, the forecast costs more than the answer itself.

    Parameters
    ----------
    result
        A projection that stopped early, or at a looser tolerance, such as that of a `NotConvergedError`, by sweeps
        in the order of the constraints.
    tolerance
        As in `project`: for the largest miss, and a hundred times it for the sum of misses of a constraint.

    Raises
    ------
    InvalidOptionError
        The result is not a projection onto marginals by sweeps, or the tolerance is outside of (0, 1).
    InfeasibleError
        There is no answer.

    Examples
    --------
    >>> import purtensor as pt
    >>> slow = pt.problems.load("b")
    >>> early = pt.project(slow.reference, slow.constraints, solver=pt.IPF(), max_iterations=50, on_failure="return")
    >>> found = pt.convergence.forecast(early)
    >>> full = pt.project(slow.reference, slow.constraints, solver=pt.IPF(), max_iterations=10_000)
    >>> found.lower < full.iterations - 50 < found.upper, found.by
    (True, 'answer')
    >>> abs(found.sweeps - (full.iterations - 50)) < 0.01 * full.iterations
    True
    """
    require_marginals(result)
    if not (is_number(tolerance) and 0.0 < tolerance < 1.0):
        raise InvalidOptionError(f"tolerance must be a share of the total mass in (0, 1), got {tolerance!r}")
    if result.residual <= tolerance and result.residual_l1 <= 100.0 * tolerance:
        return Forecast(0.0, 0.0, 0.0, "answer", None, tolerance)
    labelled, potentials = _state_of(result)
    found = sweeps_left_by_answer(labelled.arrays, potentials, tolerance)
    # either there is no answer, which `project` explains by its error, or it lies on the boundary
    if found is None:
        project(  # raises the error if there is no answer
            result.reference, result.constraints, solver=Newton(), reference_in=result.reference_in
        )
        return _by_trend(result, None, tolerance)
    # the answer is known, but the sweep linearised there gives no forecast: only the residuals are left
    if not found.is_known:
        return _by_trend(result, found.newton_steps, tolerance)
    return Forecast(found.sweeps, found.lower, found.upper, "answer", found.newton_steps, tolerance)


def require_marginals(result: Projection) -> None:
    """Refuse what is not a projection onto marginals in memory.

    Raises
    ------
    InvalidOptionError
        It is not.
    """
    require_projection(result)
    if result.is_general:
        raise InvalidOptionError(
            "sweeps are defined for marginals with targets only: this projection has other rows or bounds"
        )


def _state_of(result: Projection) -> tuple[LabelledProblem, FloatArray]:
    evidence = result.evidence
    if isinstance(evidence, SolverEvidence):
        # the solver's own potentials need no matching by label
        return evidence.labelled, evidence.run.iterate.potentials
    labelled, _ = arrays_of(result)
    return labelled, potentials_from(labelled, result.potentials)


def _by_trend(result: Projection, steps: int | None, tolerance: float) -> Forecast:
    iterations, residuals = (result.trace[name].values for name in ("iteration", "residual"))
    # line 0 of the trace is the reference, before any sweep
    seen = [(int(n), float(residual)) for n, residual in zip(iterations, residuals, strict=True) if n > 0]
    if not seen:
        return Forecast(math.inf, 0.0, math.inf, "trend", steps, tolerance)
    trend = trend_of(iterations, residuals)
    left = sweeps_left(seen, tolerance, trend)
    lower, upper = likely_left(seen[-1][0], left, trend)
    return Forecast(left, lower, upper, "trend", steps, tolerance)
