"""When sweeps may end, what a sweep leaves in the trace, and whether it was the last: for compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.ipf.steps import is_recorded, measure_others, miss


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


PASSED_OVER = 0
RECORDED = 1
ENDED = 2


@compiled
def judge_sweep(
    masses: FloatArray,
    index: IntArray,
    offsets: IntArray,
    targets: FloatArray,
    sums: FloatArray,
    first: int,
    sweep: int,
    tolerance: float,
    tolerance_l1: float,
    dense: int,
    measured: FloatArray,
    record: FloatArray,
) -> int:
    """Write the record of a sweep where one is due; return RECORDED then, ENDED where the tolerances are met as well.

    What the dual gained, and its value, are left to those who know better ways to them.

    `sums` holds the marginal over constraint `first`: only where that is met, or the trace wants it, are all measured.
    A number that is not finite ends the run too. Of `measured` all but constraint `first` is overwritten.
    """
    rows = slice(offsets[first], offsets[first + 1])
    # the sums of the first constraint are there, as the next sweep begins with them
    largest, l1 = miss(sums[rows], targets[rows])
    met = largest <= tolerance and l1 <= tolerance_l1
    # comparisons with NaN are false: it would never meet a tolerance
    finite = np.isfinite(l1)
    due = is_recorded(sweep, dense)
    if not (met or due or not finite):
        return PASSED_OVER
    residual, residual_l1 = measure_others(masses, index, offsets, targets, first, (largest, l1), measured)
    ended = not finite or (residual <= tolerance and residual_l1 <= tolerance_l1)
    if not (ended or due):
        return PASSED_OVER
    record[0] = sweep
    record[1] = residual
    record[2] = residual_l1
    record[5] = sums[rows].sum()
    return ENDED if ended else RECORDED
