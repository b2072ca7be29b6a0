"""The sums that prove a certificate in numpy, each rounded so that it is never below the true one."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.exact_levels import exact_levels
from purtensor.kernels.newton import near_proof, proof
from purtensor.kernels.numpy_forms.sums import spread_range

_UNIT, _SERIES, _SLACK = proof.UNIT, 1e-2, 1e-14


def _add_misses(
    masses: FloatArray,
    moves: FloatArray,
    row: IntArray,
    high: FloatArray,
    low: FloatArray,
    size: FloatArray,
    count: FloatArray,
) -> None:
    """Take the masses from the targets level by level of their digits: each level's sums have no rounding."""
    rows = len(high)
    profiles = np.bincount(row, minlength=rows).astype(np.float64)
    sizes, levels = np.zeros(rows), 0
    for sums in exact_levels(masses, row, rows):
        after = high - sums
        taken = after - high
        lost = (high - (after - taken)) - (sums + taken)
        high[:] = after
        low += lost
        sizes += np.abs(lost)
        levels += 1
    low -= np.bincount(row, moves, rows)
    sizes += np.bincount(row, np.abs(moves), rows)
    # so many additions were made to `low`, which the bound takes to be twice `count` at most
    size += sizes * (1.0 + levels / np.maximum(profiles, 1.0))
    count += profiles


def _add_moves(
    masses: FloatArray,
    index: IntArray,
    offsets: IntArray,
    potentials: FloatArray,
    begin: int,
    end: int,
    moves: FloatArray,
    sums: FloatArray,
) -> None:
    own = masses[begin:end]
    with np.errstate(invalid="ignore", over="ignore"):
        move = np.maximum(moves[begin:end] + own * spread_range(index, offsets, potentials, begin, end), -own)
        moves[begin:end] = move
        ratio = np.divide(move, own, out=np.zeros_like(move), where=own > 0.0)
        sums[:] = np.abs(move).sum(), (move * ratio).sum()


def _excess(w: FloatArray) -> FloatArray:
    """Return no less than (1 + w) log(1 + w) - w."""
    found = w * w * (0.5 - w * (1.0 / 6.0 - w * (1.0 / 12.0)) + 0.06 * np.abs(w * w * w)) * (1.0 + _SLACK)
    far = np.flatnonzero(np.abs(w) > _SERIES)
    if len(far):
        own = w[far]
        inner = np.where(own <= -1.0, 0.0, own)
        logarithm = np.log1p(inner)
        value = (1.0 + inner) * logarithm - inner + _SLACK * (1.0 + np.abs(inner)) * (1.0 + np.abs(logarithm))
        found[far] = np.where(own <= -1.0, 1.0, value)
    return np.asarray(found)


def _gap(w: FloatArray, v: FloatArray) -> FloatArray:
    """Return no less than (1 + w) (log(1 + w) - v) - (1 + w) + exp(v)."""
    inner = np.where(w <= -1.0, 0.0, w)
    logarithm, power = np.log1p(inner), np.exp(v)
    value = (1.0 + inner) * (logarithm - v) - (1.0 + inner) + power
    value = value + _SLACK * (1.0 + np.abs(inner)) * (1.0 + np.abs(logarithm) + np.abs(v)) + _SLACK * power
    return np.asarray(np.where(w <= -1.0, power * (1.0 + _SLACK), value))


def _gap_terms(w: FloatArray, u: FloatArray, v: FloatArray, near: FloatArray) -> FloatArray:
    """Return no less than the gap's term where w is known to u, and v to `near`."""
    low, high = np.maximum(w - u, -1.0), w + u
    largest = np.maximum(np.abs(low), np.abs(high))
    apart = np.abs(v - w) + (u + 0.51 * largest * largest) * 1.011 + near
    found = (1.0 + high) * apart * apart * 0.5 * (1.0 + apart)
    far = np.flatnonzero(~((largest < _SERIES) & (np.abs(v) < _SERIES)))
    if len(far):
        ends = [_gap(one[far], v[far] + side * near[far]) for one in (low, high) for side in (-1.0, 1.0)]
        found[far] = np.maximum.reduce(ends)
    return found


@np.errstate(all="ignore")  # numbers that are not finite end up in the sums
def _sum_rest(rest: FloatArray, masses: FloatArray) -> tuple[float, float]:
    on = np.flatnonzero(rest)
    some = rest[on]
    with np.errstate(divide="ignore", over="ignore"):
        return float(some.sum()), float(np.sum(some * (some / masses[on])))


def _add_proof(
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
    mass, c, e = masses[begin:end], moves[begin:end], rest[begin:end]
    left, some, constraints = mass + c, mass != 0.0, len(index)
    negative = ((left < 0.0) | ((e > 0.0) & (left * (1.0 - 4.0 * _UNIT) < e))).any()
    negative = negative or ((c != 0.0) | (e != 0.0))[~some].any()
    rounding = _UNIT * (5.0 + spread_range(index, offsets, weights, begin, end))
    out[2:] = np.abs(c + away * mass).sum(), e.sum(), rounding.max(initial=0.0), negative
    v = spread_range(index, offsets, potentials, begin, end)
    near = spread_range(index, offsets, sizes, begin, end)
    if not some.all():
        mass, c, e, v, near, rounding = (one[some] for one in (mass, c, e, v, near, rounding))
    w, u = c / mass, e / mass * (1.0 + 4.0 * _UNIT)
    near = rounding + 4.0 * _UNIT * (np.abs(w) + constraints * near)
    if not (np.isfinite(w).all() and np.isfinite(v).all() and np.isfinite(u).all()):
        out[:] = np.nan
        return
    upper = np.maximum(_excess(np.maximum(w - u, -1.0)), _excess(w + u)) if u.any() else _excess(w)
    out[:2] = (mass * upper).sum(), (mass * _gap_terms(w, u, v, near)).sum()


@np.errstate(all="ignore")  # where a mass is 0 nothing holds, and the sums say so
def _add_near(
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
    mass, v = masses[begin:end], spread_range(index, offsets, potentials, begin, end)
    move = np.maximum(mass * v, -mass)
    moves[begin:end] = move
    some, inverse = mass > 0.0, 1.0 / mass
    w = np.where(some, move * inverse, 0.0)
    size, square, moved = np.abs(w), move * w, move + away * mass
    rounding = _UNIT * (5.0 + spread_range(index, offsets, weights, begin, end))
    off = np.abs(w - v) + 0.5 * w * w * (1.0 + 0.83 * size)
    apart = off * (1.0 + 16.0 * _UNIT) + rounding + 16.0 * _UNIT * size + unsure
    upper = square * (0.5 - w * (1.0 / 6.0 - w * (1.0 / 12.0)) + 0.07 * size * size * size)
    gap = (mass + move) * apart * apart * (1.0 + apart)
    out[:7] = [one.sum() for one in (np.abs(move), square, upper, gap, np.abs(moved), inverse, moved)]
    out[7:] = size.max(), apart.max(), rounding.max(), -mass.min()


FORMS = {
    near_proof.add_near: _add_near,
    proof.add_misses: _add_misses,
    proof.add_moves: _add_moves,
    proof.sum_rest: _sum_rest,
    proof.add_proof: _add_proof,
}
