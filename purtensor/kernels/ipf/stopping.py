"""When sweeps may end, and what they leave in the trace."""

from __future__ import annotations

from typing import NamedTuple


class Goal(NamedTuple):
    """What a run of sweeps is judged by.

    Attributes
    ----------
    tolerance, tolerance_l1
        The largest residual, and the largest in L1, that end the run, in the units of the targets.
    dense
        How many sweeps of every octave are recorded.
    start
        The total of the reference, from which the dual is counted.
    """

    tolerance: float
    tolerance_l1: float
    dense: int
    start: float
