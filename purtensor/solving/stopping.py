"""The stopping rule: it is evaluated at the point that would be returned, not at the solver's internal point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.iterate import Budget, Residual
from purtensor.solving.run_state import TraceLine
from purtensor.solving.spaces.space import P, Space

if TYPE_CHECKING:
    from purtensor.solving.certificate import Certificate

L1_FACTOR = 100
"""Met means: residual within the tolerance, and residual_l1 within this many tolerances."""

# 256 eps
_SAME_TOTAL = 2.0**-44
"""Totals that differ by no larger share are the same but for the rounding of their sums."""

EMPTIED, EMPTIED_SHARE = 10.0, 1e-7
"""Profiles of no more mass than ten times the residual in L1, and of 1e-7 of their share before, may be zeros."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """When to stop: the tolerance and on what it is judged, and the limits; and `dual_later` of `Budget`."""

    tolerance: float
    stop_on: str
    max_iterations: int
    max_seconds: float
    dual_later: bool = False

    @property
    def residual(self) -> float:
        """The largest residual that counts as met."""
        return self.tolerance if self.stop_on == "residual" else 0.0

    @property
    def residual_l1(self) -> float:
        """The largest residual in L1 that counts as met."""
        return L1_FACTOR * self.residual

    def is_met_by(self, residual: float, residual_l1: float) -> bool:
        """Return whether these residuals count as met; not where one is NaN."""
        return residual <= self.residual and residual_l1 <= self.residual_l1


@dataclass(frozen=True, slots=True, eq=False)
class Rebuilt(Generic[P]):
    """A point as its potentials make it, scaled to the targets' total: its residual, and whether scaling moved it."""

    point: P
    residual: Residual
    was_scaled: bool


@dataclass(slots=True, eq=False)
class Judge(Generic[P]):
    """Tests whether a point meets the stopping rule, and keeps the bounds that it computes."""

    space: Space[P]
    stopping: Stopping
    certify: Callable[[P], Certificate] | None
    _certified: tuple[P, Certificate] | None = None
    _rebuilt: tuple[P, Rebuilt[P]] | None = None
    _awaited: float = field(init=False)

    def __post_init__(self) -> None:
        # a residual in L1 is at most twice the distance in total variation, and no more than exp(log ratio) - 1: before
        # twice the tolerance, which is less than 1, neither bound can be met
        self._awaited = 2 * self.stopping.tolerance

    def budget(self, iterations: int) -> Budget:
        """Return what a step may do before it comes back to be judged."""
        if self.stopping.stop_on != "residual":
            return Budget(iterations, float("inf"), self._awaited)
        return Budget(iterations, self.stopping.residual, self.stopping.residual_l1, self.stopping.dual_later)

    def is_met(self, point: P, line: TraceLine) -> bool:
        """Return whether the point meets the stopping rule; `line` is the trace record that measured it."""
        if self.stopping.stop_on != "residual":
            return self._is_certified(point, line)
        if not self.stopping.is_met_by(line.record.residual, line.record.residual_l1):
            return False
        # the point that would be returned costs another pass, so it is judged only once the trace says that it is met
        residual = self.rebuild(point).residual
        return self.stopping.is_met_by(residual.largest, residual.l1)

    def certificate_of(self, point: P) -> Certificate | None:
        """Return what the rule asked to be proved of this very point; None where it asked nothing, or of another."""
        return None if self._certified is None or self._certified[0] is not point else self._certified[1]

    def rebuild(self, point: P, *, quickly: bool = False) -> Rebuilt[P]:
        """Return a point as it would be returned; made once for each point.

        Newton's steps keep the total only as well as they meet the targets.
        """
        if self._rebuilt is None or self._rebuilt[0] is not point:
            made, was_scaled = self.space.rebuild(point, quickly=quickly)
            self._rebuilt = point, Rebuilt(made, self.space.residual(made), was_scaled)
        return self._rebuilt[1]

    def _is_certified(self, point: P, line: TraceLine) -> bool:
        """Ask for a certificate where the residual makes one likely: it costs some Newton iterations.

        The residual is awaited at which the bound would be met if it fell as the residual does, half at the least.
        """
        residual_l1 = line.record.residual_l1
        if self.certify is None or residual_l1 > self._awaited:
            return False
        certificate = self.certify(point)
        self._certified = point, certificate
        if self.stopping.stop_on == "log_ratio":
            line.log_ratio_bound = reached = certificate.log_ratio_bound
        else:
            line.tv_bound = reached = certificate.tv_bound
        tolerance = self.stopping.tolerance
        if reached > tolerance:
            # 5 % lower at least, or every iteration would ask; half at most, for the bound may fall faster
            self._awaited = residual_l1 * min(0.95, max(0.5, tolerance / reached))
        return reached <= tolerance


def away_from_total(mass: float, total: float) -> float:
    """Return by what share masses exceed a total; 0 where rounding explains it, or no factor brings them there."""
    away = mass / total - 1.0
    return away if 0.0 < mass < np.inf and abs(away) > _SAME_TOTAL else 0.0


def gain_of_scaling(away: float) -> float:
    """Return what the dual gains, in nats, as masses that exceed a total by such a share are scaled to it."""
    # the change of the dual by the constant -log(1 + away) in the potentials (notes/duality.md, equation 2), per mass
    return away - float(np.log1p(away))


def has_emptied(masses: FloatArray, reference: FloatArray, totals: tuple[float, float], residual_l1: float) -> bool:
    """Return whether a point that meets the targets has nearly empty profiles, which may be forced to be zero.

    What the constraints force to be zero holds no more mass than some multiple of what they are missed by. `totals` are
    those of the masses and of the reference.
    """
    # epsneg: even where every target is met to the last digit, sums know their profiles no better
    few = EMPTIED * max(residual_l1, float(np.finfo(np.float64).epsneg))
    light = np.flatnonzero(masses <= few * totals[0])
    # a profile that was light from the start says nothing: it must have lost its share
    return bool(np.any(masses[light] / totals[0] <= EMPTIED_SHARE / totals[1] * reference[light]))
