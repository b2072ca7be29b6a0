"""The observed rate of sweeps, by error and by residuals; the two may differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from purtensor._options import is_count, is_number
from purtensor._printing import Shown
from purtensor.convergence.forecasting import require_marginals
from purtensor.convergence.prediction import number_text
from purtensor.errors import InvalidOptionError
from purtensor.projection.options import solver_of
from purtensor.projection.result import Projection
from purtensor.projection.solved import arrays_of
from purtensor.solving.convergence.observed import MOST_SWEEPS, course_of
from purtensor.solving.iterate import Solver
from purtensor.solving.solve import run
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.solvers.newton import Newton
from purtensor.solving.stopping import Stopping

_EXACT = 1e-12
"""The residual of the answer that errors are measured by, at the most."""


@dataclass(frozen=True, slots=True, repr=False)
class ObservedRate(Shown):
    """The convergence rate observed late in a run from the reference, in sweeps per decade.

    Attributes
    ----------
    by_error
        Sweeps a decade of the dual norm of the error, over the last two decades before `smallest`: the rate that
        `predict` and `convergence_rate` speak of. inf where the sweeps that were made did not get there.
    by_residuals
        Sweeps a decade of the largest miss of a target, over the two decades before the tolerance, as it is usually
        read off a trace. Where rare profiles are slow it is too small, for a row of little mass is missed by little
        however wrong it is.
    sweeps_to_tolerance
        After how many sweeps the largest miss was within the tolerance; inf where it never was.
    error_at_tolerance
        The dual norm of the error that was left then: half its square is the divergence from the answer, in nats.
    tolerance, smallest
        The options.
    """

    by_error: float
    by_residuals: float
    sweeps_to_tolerance: float
    error_at_tolerance: float
    tolerance: float
    smallest: float

    def summary(self) -> dict[str, str]:
        """Return what was seen as text, one line each."""
        return {
            "sweeps for a factor of ten": f"{number_text(self.by_error)} by the error, "
            f"{number_text(self.by_residuals)} by residuals",
            f"sweeps to {self.tolerance:g}": f"{number_text(self.sweeps_to_tolerance)}, which leave an error of "
            f"{self.error_at_tolerance:.2g}",
        }


def observed_rate(
    result: Projection,
    *,
    solver: Solver | str | None = None,
    tolerance: float = 1e-10,
    smallest: float = 1e-12,
    max_iterations: int = MOST_SWEEPS,
) -> ObservedRate:
    """Return the rate of real sweeps from the reference of a projection, by their distance from the answer.

    The answer is that of Newton's method, from the projection on. Fitting a line to residuals instead is about the rows
    with the most mass, while what is slow sits in others (notes/rates.md).

    Parameters
    ----------
    result
        A projection onto marginals, by whatever solver.
    solver
        Whose iterations are watched, also by name as in `project`; plain sweeps when None.
    tolerance
        Of the residual, for what residuals show.
    smallest
        The dual norm of the error at which the watching ends; from about 1e-14 on rounding shows.
    max_iterations
        Or after so many.

    Raises
    ------
    InvalidOptionError
        No projection onto marginals, one without an answer inside, or numbers out of range.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.load("b_lam0")
    >>> result = pt.project(problem.reference, problem.constraints)
    >>> seen = pt.convergence.observed_rate(result)
    >>> abs(seen.by_error / pt.convergence_rate(result).sweeps_per_decade - 1) < 0.02
    True
    """
    require_marginals(result)
    for name, value in (("tolerance", tolerance), ("smallest", smallest)):
        if not (is_number(value) and 0.0 < value < 1.0):
            raise InvalidOptionError(f"{name} must be in (0, 1), got {value!r}")
    if not (is_count(max_iterations) and max_iterations >= 1):
        raise InvalidOptionError(f"max_iterations must be a positive count, got {max_iterations!r}")
    problem = arrays_of(result)[0].arrays
    # tolerance 0: Newton's method goes on until rounding, since every error is measured from here
    answer = run(problem, Newton(), Stopping(0.0, "residual", 200, math.inf))
    # `not <=` also refuses NaN
    if not answer.residual.largest <= _EXACT:
        raise InvalidOptionError(
            f"errors are measured by an answer inside, and Newton's method found none: residual "
            f"{answer.residual.largest:.1e}"
        )
    watched = IPF() if solver is None else solver_of(solver)
    most = int(max_iterations)
    course = course_of(problem, watched, answer.iterate.potentials, smallest=smallest, most=most)
    to_tolerance = course.first_at(course.residuals, tolerance)
    return ObservedRate(
        course.per_decade(course.errors, smallest),
        course.per_decade(course.residuals, tolerance),
        to_tolerance,
        # in a long run not every sweep is recorded
        float(np.interp(to_tolerance, course.sweeps, course.errors)),
        float(tolerance),
        float(smallest),
    )
