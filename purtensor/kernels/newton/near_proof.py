"""The sums that prove a certificate where no mass moves by more than a quarter: no logarithm, and no branch.

They leave aside what the moves still miss; `purtensor.solving.spaces.near_proof` adds that by norms
(notes/certificate.md, equations 12 to 15).
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.newton.line_search import largest_absolute
from purtensor.kernels.newton.proof import UNIT
from purtensor.kernels.reductions import lane_sum, spread_from

LARGEST = 0.25
"""The share of a mass up to which the series hold that bound the logarithm."""

SUMS, NUMBERS = 7, 11
"""What is added up over the profiles, and all that is written: then come four extremes."""

_BLOCK = 256
"""Profiles whose terms are written before any is added up: all of them lie in the fastest cache."""


@compiled
def add_near(
    masses: FloatArray,
    index: IntArray,
    offsets: IntArray,
    potentials: FloatArray,
    weights: FloatArray,
    unsure: float,
    away: float,
    begin: int,
    end: int,
    moves: FloatArray,
    out: FloatArray,
) -> None:
    """Write the moves p (C^T potentials), no less than -p, for the profiles begin .. end - 1, and what proves them.

    With w = moves / p, v = C^T potentials to `unsure`, r = UNIT (5 + C^T weights), `out` gets upper bounds of

        sum |moves|,  sum p w^2,  sum p phi(w),  sum p (1 + w) a^2 (1 + a),  sum |moves + away p|,  sum 1 / p,

    where |log(1 + w) - v| + r <= a, the sum of moves + away p, the largest |w|, a and r, and minus the smallest mass.
    They hold, up to the rounding of the sums, where the largest |w| is at most LARGEST.
    """
    spread, own = np.empty(_BLOCK), np.empty(_BLOCK)
    terms, inverse = np.empty((SUMS, _BLOCK)), np.empty(_BLOCK)
    apart, rounding = np.empty(_BLOCK), np.empty(_BLOCK)
    out[:] = 0.0
    out[10] = -np.inf
    for at in range(begin, end, _BLOCK):
        count = min(_BLOCK, end - at)
        spread_from(index, offsets, potentials, at, spread[:count])
        spread_from(index, offsets, weights, at, own[:count])
        for i in range(count):
            mass, v = masses[at + i], spread[i]
            move = max(mass * v, -mass)
            moves[at + i] = move
            some = mass > 0.0
            inverse[i] = 1.0 / mass if some else np.inf
            w = move * inverse[i] if some else 0.0
            size = abs(w)
            square = move * w
            rounding[i] = UNIT * (5.0 + own[i])
            # |log(1 + w) - w| <= w^2 (1 + 0.83 |w|) / 2 up to 1/4, and w is off by 3 roundings at most
            off = abs(w - v) + 0.5 * w * w * (1.0 + 0.83 * size)
            apart[i] = off * (1.0 + 16.0 * UNIT) + rounding[i] + 16.0 * UNIT * size + unsure
            terms[0, i] = abs(move)
            terms[1, i] = square
            # the series w^2/2 - w^3/6 + w^4/12 - ...: what is left out is below |w|^5 / 20 / (1 - |w|)
            terms[2, i] = square * (0.5 - w * (1.0 / 6.0 - w * (1.0 / 12.0)) + 0.07 * size * size * size)
            terms[3, i] = (mass + move) * apart[i] * apart[i] * (1.0 + apart[i])
            terms[4, i] = abs(move + away * mass)
            terms[5, i] = inverse[i]
            terms[6, i] = move + away * mass
            spread[i] = w
            own[i] = mass
        for n in range(SUMS):
            out[n] += lane_sum(terms[n, :count])
        out[7] = max(out[7], largest_absolute(spread[:count]))
        out[8] = max(out[8], largest_absolute(apart[:count]))
        out[9] = max(out[9], largest_absolute(rounding[:count]))
        out[10] = max(out[10], -_smallest(own[:count]))


@compiled
def _smallest(values: FloatArray) -> float:
    """Return the smallest value."""
    a = b = c = d = np.inf  # one minimum after the other would wait for each
    whole = values.size - values.size % 4
    for i in range(0, whole, 4):
        a = min(a, values[i])
        b = min(b, values[i + 1])
        c = min(c, values[i + 2])
        d = min(d, values[i + 3])
    for i in range(whole, values.size):
        a = min(a, values[i])
    return min(min(a, b), min(c, d))
