"""The sums that prove a certificate, each rounded so that it is never below the true one (notes/certificate.md)."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.reductions import BLOCK, spread_from

UNIT = 2.0**-53
"""The largest relative error of one rounding."""

_SERIES = 1e-2
"""Up to here logarithms are bounded by the first terms of their series: cheap, and without cancellation."""

_SLACK = 1e-14
"""What rounding may make of the terms beyond, each of a few operations on numbers of size 1."""


@compiled
def add_misses(
    masses: FloatArray,
    moves: FloatArray,
    row: IntArray,
    high: FloatArray,
    low: FloatArray,
    size: FloatArray,
    count: FloatArray,
) -> None:
    """Take masses and their moves from the targets of one constraint, which `high` holds, in twice the digits.

    What rounding takes from `high` is added up in `low`. `size` gets the sum of the sizes of what `low` takes in, and
    `count` the number of profiles, so that |target - sums - (high + low)| <= 2 count UNIT size (1 + 2^-20).
    """
    for i in range(row.size):
        r = row[i]
        before = high[r]
        after = before - masses[i]
        taken = after - before
        lost = (before - (after - taken)) - (masses[i] + taken)
        high[r] = after
        low[r] = (low[r] + lost) - moves[i]
        size[r] += abs(lost) + abs(moves[i])
        count[r] += 1.0


@compiled
def add_moves(
    masses: FloatArray,
    index: IntArray,
    offsets: IntArray,
    potentials: FloatArray,
    begin: int,
    end: int,
    moves: FloatArray,
    sums: FloatArray,
) -> None:
    """Add p (C^T potentials) to `moves`, no less than leaves a mass at 0, for the profiles begin .. end - 1.

    `sums`, shape (2,), gets the sums of the sizes of the moves, and of their squares over the masses.
    """
    sums[:] = 0.0
    ratio = np.empty(BLOCK)
    for at in range(begin, end, BLOCK):
        here = ratio[: min(BLOCK, end - at)]
        spread_from(index, offsets, potentials, at, here)
        for i in range(here.size):
            mass = masses[at + i]
            move = max(moves[at + i] + mass * here[i], -mass)
            moves[at + i] = move
            sums[0] += abs(move)
            if mass > 0.0:
                sums[1] += move * (move / mass)


@compiled
def sum_rest(rest: FloatArray, masses: FloatArray) -> tuple[float, float]:
    """Return the sums of the rest, and of rest^2 / mass: infinite where a mass of 0 has some."""
    total = square = 0.0
    for i in range(rest.size):
        some = rest[i]
        if some > 0.0:
            total += some
            square += some * (some / masses[i]) if masses[i] > 0.0 else np.inf
    return total, square


@compiled
def _excess(w: float) -> float:
    """Return no less than (1 + w) log(1 + w) - w."""
    if abs(w) <= _SERIES:
        # the series alternates: w^2/2 - w^3/6 + w^4/12 - ...; what is left out is below |w|^5 / 20 / (1 - |w|)
        return w * w * (0.5 - w * (1.0 / 6.0 - w * (1.0 / 12.0)) + 0.06 * abs(w * w * w)) * (1.0 + _SLACK)
    if w <= -1.0:
        return 1.0
    logarithm = float(np.log1p(w))
    return (1.0 + w) * logarithm - w + _SLACK * (1.0 + abs(w)) * (1.0 + abs(logarithm))


@compiled
def _gap(w: float, v: float) -> float:
    """Return no less than (1 + w) (log(1 + w) - v) - (1 + w) + exp(v)."""
    if w <= -1.0:
        return float(np.exp(v)) * (1.0 + _SLACK)
    logarithm, power = float(np.log1p(w)), float(np.exp(v))
    value = (1.0 + w) * (logarithm - v) - (1.0 + w) + power
    return value + _SLACK * (1.0 + abs(w)) * (1.0 + abs(logarithm) + abs(v)) + _SLACK * power


@compiled
def add_proof(
    masses: FloatArray,
    moves: FloatArray,
    rest: FloatArray,
    index: IntArray,
    offsets: IntArray,
    potentials: FloatArray,
    sizes: FloatArray,
    weights: FloatArray,
    away: float,
    begin: int,
    end: int,
    out: FloatArray,
) -> None:
    """Write what proves the distances over the profiles begin .. end - 1 into `out`, shape (6,).

    The feasible point is p + moves + e with |e| <= rest. With w = (moves + e) / p, v = C^T potentials, of which
    `sizes` are the absolute values, and r = UNIT (5 + C^T weights), by what share masses may be off those that the
    potentials of p itself say, these are upper bounds of

        sum p phi(w),   sum p max ((1 + w) (log(1 + w) - v + r) - (1 + w) + exp(v - r)),   sum |moves + away p|,
        sum rest,      max r,

    and at last 1 where p + moves + e may be negative, else 0. All are NaN where a number is not finite.
    """
    constraints = index.shape[0]
    ratio, size, own = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    out[:] = 0.0
    finite = True
    for at in range(begin, end, BLOCK):
        count = min(BLOCK, end - at)
        spread_from(index, offsets, potentials, at, ratio[:count])
        spread_from(index, offsets, sizes, at, size[:count])
        spread_from(index, offsets, weights, at, own[:count])
        for i in range(count):
            mass, c, e = masses[at + i], moves[at + i], rest[at + i]
            left = mass + c
            if left < 0.0 or (e > 0.0 and left * (1.0 - 4.0 * UNIT) < e):
                out[5] = 1.0
            rounding = UNIT * (5.0 + own[i])
            out[2] += abs(c + away * mass)
            out[3] += e
            out[4] = max(out[4], rounding)
            if mass == 0.0:
                if c != 0.0 or e != 0.0:
                    out[5] = 1.0
                continue
            v, w, u = ratio[i], c / mass, e / mass * (1.0 + 4.0 * UNIT)
            near = rounding + 4.0 * UNIT * (abs(w) + constraints * size[i])
            finite = finite and np.isfinite(w) and np.isfinite(v) and np.isfinite(u)
            low, high = max(w - u, -1.0), w + u
            if u == 0.0:
                out[0] += mass * _excess(w)
            else:
                out[0] += mass * max(_excess(low), _excess(high))
            if low > -_SERIES and high < _SERIES and abs(v) < _SERIES:
                largest = max(abs(low), abs(high))
                apart = abs(v - w) + (u + 0.51 * largest * largest) * 1.011 + near
                out[1] += mass * (1.0 + high) * apart * apart * 0.5 * (1.0 + apart)
            else:
                out[1] += mass * max(
                    max(_gap(low, v - near), _gap(low, v + near)), max(_gap(high, v - near), _gap(high, v + near))
                )
    if not finite:
        out[:] = np.nan
