"""Sums over groups in numpy, exact to the last bits; records are counted with them before any kernel is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from purtensor._typing import FloatArray, IntArray

_LARGEST_POWER = 1000


def exact_levels(values: FloatArray, group: IntArray, count: int) -> Iterator[FloatArray]:
    """Split values into multiples of powers of two, and yield the sums of each level, none of which rounds."""
    # so many values of a level can be added up before a sum needs more than 53 bits
    bits = max(26, len(values).bit_length())
    rest = values
    while largest := float(np.abs(rest).max(initial=0.0)):
        if not math.isfinite(largest):
            yield _add_up(group, rest, count)
            return
        power = math.frexp(largest)[1] + bits
        if power > _LARGEST_POWER:  # what splits these would overflow: smaller, they keep all digits
            is_large = np.abs(rest) > 1.0
            for level in exact_levels(np.ldexp(np.where(is_large, rest, 0.0), -2 * bits), group, count):
                yield np.ldexp(level, 2 * bits)
            rest = np.where(is_large, 0.0, rest)
            continue
        splitter = math.ldexp(1.5, power)
        # what rounding to a multiple of the splitter leaves: exact, and so is the rest (Rump, Ogita, Oishi)
        level = (rest + splitter) - splitter
        rest = rest - level
        yield _add_up(group, level, count)


def _add_up(group: IntArray, values: FloatArray, count: int) -> FloatArray:
    return np.bincount(group, values, count).astype(np.float64, copy=False)  # integers where there is no value


def group_sums_in_numpy(values: FloatArray, group: IntArray, count: int) -> FloatArray:
    """Add up the sums of all levels, with what rounding takes from them."""
    sums, lost = np.zeros(count), np.zeros(count)
    for more in exact_levels(values, group, count):
        total = sums + more
        larger = np.abs(sums) >= np.abs(more)
        lost += np.where(larger, (sums - total) + more, (more - total) + sums)
        sums = total
    return sums + lost
