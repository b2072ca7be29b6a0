"""What the residuals so far say about the way that is left: how many sweeps, or that there is no end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

from purtensor._options import is_number
from purtensor.errors import InvalidOptionError
from purtensor.solving.loop import Progress

_FIRST = 30
"""Before so many iterations a decade of them says little."""

_FLAT = 0.05
_POWERS = (0.3, 2.5)
_BENT = 1.3
"""A residual like rho^n has a slope in log-log that grows by the root of ten over half a decade, a power of n none."""


class Trend(Enum):
    """How residuals fall with the iterations; the value is the sentence that the user reads."""

    LINEAR = "the residual falls by a factor a sweep"
    SUBLINEAR = (
        "the residual falls like a power of the sweeps, as it does where the constraints force zeros; "
        "weakly regularised problems show that for a while"
    )
    FLAT = "the residual does not fall, as it does not where no distribution meets the constraints"
    OPEN = "too few sweeps to tell"


def trend_of(iterations: npt.ArrayLike, residuals: npt.ArrayLike) -> Trend:
    """Return how residuals fall over the last decade of iterations: a hint, no proof.

    Parameters
    ----------
    iterations, residuals
        Those recorded, in the order of the iterations.
    """
    slopes = _slopes(np.asarray(iterations, dtype=np.float64), np.asarray(residuals, dtype=np.float64))
    if slopes is None:
        return Trend.OPEN
    early, late = slopes
    if max(early, late) < _FLAT:
        return Trend.FLAT
    if late > _POWERS[1] or late > _BENT * max(early, _FLAT):
        return Trend.LINEAR
    if _POWERS[0] <= late <= _POWERS[1] and early <= _BENT * late:
        return Trend.SUBLINEAR
    return Trend.OPEN


def _slopes(iterations: npt.NDArray[np.float64], residuals: npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """Return by which powers of n the residual falls over the two halves of the last decade of n, None where unknown.

    Only residuals above rounding count.
    """
    seen = (iterations > 0) & np.isfinite(residuals) & (residuals > 1e-15)
    if np.count_nonzero(seen) < 4 or iterations[seen][-1] < _FIRST:
        return None
    log_n, log_r = np.log(iterations[seen]), np.log(residuals[seen])
    half = math.log(10.0) / 2.0
    ends = log_n[-1] - np.array([2.0 * half, half, 0.0])
    if ends[0] < log_n[0]:
        return None
    first, middle, last = np.interp(ends, log_n, log_r)
    return float((first - middle) / half), float((middle - last) / half)


@dataclass(slots=True)
class SweepsToGo:
    """How many more sweeps a running projection needs: a callback for `project`, which it never ends.

    Parameters
    ----------
    tolerance
        The residual to reach.

    Attributes
    ----------
    left
        The sweeps that are left by the rate over the second half of those made, or by the power law where the
        residual falls like one; inf where it does not fall. A lower estimate early on: fast errors go first.
    trend
        How the residual falls; a hint, no proof.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.load("b")
    >>> watch = pt.SweepsToGo(tolerance=1e-10)
    >>> result = pt.project(problem.reference, problem.constraints, solver=pt.IPF(), max_iterations=4000,
    ...                     on_failure="return", callback=watch)
    >>> 2000 < watch.left < 4000, watch.trend.name
    (True, 'LINEAR')
    """

    tolerance: float = 1e-10
    left: float = field(default=math.inf, init=False)
    trend: Trend = field(default=Trend.OPEN, init=False)
    _seen: list[tuple[int, float]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if not (is_number(self.tolerance) and 0.0 < self.tolerance < 1.0):
            raise InvalidOptionError(f"tolerance is a share of the total mass in (0, 1), this is {self.tolerance!r}")

    def __call__(self, progress: Progress) -> None:
        """Take in what a step has reached."""
        if self._seen and progress.iteration <= self._seen[-1][0]:
            self._seen.clear()  # another run
        self._seen.append((progress.iteration, progress.residual))
        iterations, residuals = zip(*self._seen, strict=True)
        self.trend = trend_of(iterations, residuals)
        self.left = sweeps_left(self._seen, self.tolerance, self.trend)


def sweeps_left(seen: Sequence[tuple[int, float]], tolerance: float, trend: Trend) -> float:
    """Return how many more sweeps bring the last residual to the tolerance, going on as since half of the sweeps."""
    now, residual = seen[-1]
    if residual <= tolerance:
        return 0.0
    rate = fall_per_sweep(seen, now // 2)
    if rate == 0.0:
        return math.inf
    if trend is Trend.SUBLINEAR:
        then, before = _line_at(seen, now // 2)
        power = math.log(before / residual) / math.log(now / then)
        return float(now * ((residual / tolerance) ** (1.0 / power) - 1.0))
    return math.log(residual / tolerance) / rate


def fall_per_sweep(seen: Sequence[tuple[int, float]], since: int) -> float:
    """Return by how much the logarithm of the residual fell per sweep since then; 0 where it did not fall.

    Parameters
    ----------
    seen
        Sweeps and residuals, in the order of the sweeps.
    since
        The sweep to begin at; the nearest before it that was seen.
    """
    (now, residual), (then, before) = seen[-1], _line_at(seen, since)
    return math.log(before / residual) / (now - then) if now > then and 0.0 < residual < before else 0.0


def _line_at(seen: Sequence[tuple[int, float]], sweep: int) -> tuple[int, float]:
    return ([line for line in seen if line[0] <= sweep] or seen[:1])[-1]
