"""The scale of a reference on disk, from quantities that the passes compute anyway."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from purtensor._typing import BoolArray, FloatArray
from purtensor.solving.scaling import exponent_between, loses_digits, refuse_beyond

_ABOVE = 100
"""A scale is kept that leaves the total of what zeros of the targets do not empty so many powers of two below 1."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The smallest and the total mass of some profiles of a problem, and the largest that zeros of the targets empty.

    All as the reference has them.
    """

    smallest: float = math.inf
    total: float = 0.0
    left_out: float = 0.0

    @classmethod
    def of(cls, values: FloatArray, alive: BoolArray) -> Extent:
        """Return the extent of some profiles, of which those alive are of the problem."""
        own = values[alive]
        return cls(float(own.min(initial=math.inf)), float(own.sum()), float(values[~alive].max(initial=0.0)))


NOTHING = Extent()
"""The extent of no profiles."""


def exponent_of(extents: Iterable[Extent], used: int) -> int:
    """Return the power of two by which to divide a reference, given its pieces: `used` where that is as good.

    Raises
    ------
    InvalidTableError
        No scale holds the smallest mass and the total, or one of those that zeros of the targets empty.
    """
    pieces = list(extents)
    smallest = min(extent.smallest for extent in pieces)
    total = math.fsum(extent.total for extent in pieces)
    wanted = exponent_between(smallest, total)
    # profiles without mass in the problem still have a reference, which the scale must be able to hold
    refuse_beyond(max(extent.left_out for extent in pieces), wanted)
    # a scale that is in use costs nothing: another one means that all parts are written again
    if not loses_digits(smallest, used) and 0 <= used - math.frexp(total)[1] <= _ABOVE:
        return used
    return wanted


def nats_left_out(lost: float, share: float) -> float:
    """Return what leaving out a share of the reference's mass adds to a divergence from it, given both shares."""
    # near 0 the log of the share has lost the digits of what is missing, near 1 the other way round
    return -math.log1p(-lost) if lost < 0.5 else -math.log(share)
