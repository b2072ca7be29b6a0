"""Extrapolate the residuals: the number of remaining sweeps, or that the run does not converge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from purtensor._options import is_number
from purtensor.errors import InvalidOptionError

if TYPE_CHECKING:
    from purtensor.solving.loop import Progress  # the loop's spaces use sweeps, and sweeps use trends

_FIRST = 30
"""Before so many iterations a decade of them says little."""

_FEW = 5
"""With fewer trace records than this, no text is produced."""

# powers of n: a residual that falls more slowly than n^-0.05 does not fall; those of zeros fall like 1 / n
_FLAT = 0.05
_POWERS = (0.3, 2.5)
_BENT = 1.3
"""A residual like rho^n has a slope in log-log that grows by the root of ten over half a decade, a power of n none."""


_TENTHS = ((0.03, 0.1, 1.4), (0.1, 0.7, 3.7), (0.4, 0.95, 5.0), (1.0, 0.98, 1.1))
"""Up to this share of sweeps already made, by the estimate: what eight in ten runs really took, over the estimate.

Measured on 264 random PUR problems of 20 to 100,000 sweeps (notes/forecasts.md). Errors that are slow but small are not
seen early on, and the fast ones of rare profiles die out before the tolerance.
"""


class Trend(Enum):
    """How residuals fall with the iterations; the value is the sentence that the user reads."""

    LINEAR = "the residual decreases by a factor per sweep"
    SUBLINEAR = (
        "the residual falls like a power of the sweeps, as it does where the constraints force zeros; "
        "weakly regularised problems do so temporarily"
    )
    FLAT = "the residual does not decrease, as when no distribution meets the constraints"
    OPEN = "too few sweeps"


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
    # steeper than the powers that boundaries make, or bending down: a factor per sweep
    if late > _POWERS[1] or late > _BENT * max(early, _FLAT):
        return Trend.LINEAR
    if _POWERS[0] <= late <= _POWERS[1] and early <= _BENT * late:
        return Trend.SUBLINEAR
    return Trend.OPEN


def _slopes(iterations: npt.NDArray[np.float64], residuals: npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """Return by which powers of n the residual falls over the two halves of the last decade of n, None where unknown.

    Only residuals above rounding count.
    """
    # 1e-15: below, residuals are rounding, and their slope is 0
    seen = (iterations > 0) & np.isfinite(residuals) & (residuals > 1e-15)
    if np.count_nonzero(seen) < 4 or iterations[seen][-1] < _FIRST:
        return None
    log_n, log_r = np.log(iterations[seen]), np.log(residuals[seen])
    # in log n, so that a power law is a straight line and rho^n bends down
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
    likely
        Between what eight in ten runs take that look like this one so far; `convergence.forecast` knows better.
    trend
        How the residual falls; a hint, no proof.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.load("b")
    >>> watch = pt.convergence.SweepsToGo(tolerance=1e-10)
    >>> result = pt.project(problem.reference, problem.constraints, solver=pt.IPF(), max_iterations=4000,
    ...                     on_failure="return", callback=watch)
    >>> 2000 < watch.left < 4000, watch.trend.name
    (True, 'LINEAR')
    """

    tolerance: float = 1e-10
    left: float = field(default=math.inf, init=False)
    likely: tuple[float, float] = field(default=(0.0, math.inf), init=False)
    trend: Trend = field(default=Trend.OPEN, init=False)
    _seen: list[tuple[int, float]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if not (is_number(self.tolerance) and 0.0 < self.tolerance < 1.0):
            raise InvalidOptionError(f"tolerance must be a share of the total mass in (0, 1), got {self.tolerance!r}")

    def __call__(self, progress: Progress[Any]) -> None:
        """Take in what a step has reached."""
        if self._seen and progress.iteration <= self._seen[-1][0]:
            self._seen.clear()  # another run
        self._seen.append((progress.iteration, progress.residual))
        self._judge()

    def take(self, iterations: npt.ArrayLike, residuals: npt.ArrayLike) -> None:
        """Take in a whole trace in the place of what was seen so far."""
        lines = zip(np.asarray(iterations).tolist(), np.asarray(residuals).tolist(), strict=True)
        self._seen = [(n, residual) for n, residual in lines if n > 0]
        if self._seen:
            self._judge()

    @property
    def text(self) -> str:
        """The likely number of remaining iterations, in words; empty if unknown."""
        lower, upper = self.likely
        if len(self._seen) < _FEW or not math.isfinite(upper) or self.left == 0.0:
            return ""
        if self.trend is Trend.SUBLINEAR:
            return Trend.SUBLINEAR.value
        return f"about {round_sweeps(lower)} to {round_sweeps(upper)} more iterations are likely"

    def _judge(self) -> None:
        iterations, residuals = zip(*self._seen, strict=True)
        self.trend = trend_of(iterations, residuals)
        self.left = sweeps_left(self._seen, self.tolerance, self.trend)
        self.likely = likely_left(iterations[-1], self.left, self.trend)


def round_sweeps(sweeps: float) -> str:
    """Return a number of sweeps to two digits, as text: more is not known."""
    digits = 1 - math.floor(math.log10(max(sweeps, 1.0)))
    return f"{round(sweeps, min(digits, 0)):,.0f}"


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
        # residual = a n^-power, solved for the n at which it is the tolerance
        power = math.log(before / residual) / math.log(now / then)
        return float(now * ((residual / tolerance) ** (1.0 / power) - 1.0))
    return math.log(residual / tolerance) / rate


def likely_left(made: int, left: float, trend: Trend) -> tuple[float, float]:
    """Return between what eight in ten runs take more, of which so many sweeps were made and estimated to be left.

    Sweeps that look like a power law may turn geometric at any time, so that nothing bounds them from below.
    """
    if not math.isfinite(left):
        return 0.0, math.inf
    if trend is Trend.SUBLINEAR:
        return 0.0, left
    # found by measurement: late in a run the estimate is good, early it misses what is still hidden
    least, most = next((low, high) for share, low, high in _TENTHS if made <= share * (made + left))
    return least * left, most * left


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
