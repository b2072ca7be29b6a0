"""Proofs that general rows with bounds are infeasible, in exact fractions of the floats (notes/one_dual.md, 16)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import sparse

from purtensor._typing import FloatArray, IntArray

# simple fractions first, for the sake of whoever reads the proof; None takes the floats as they are
_DENOMINATORS = (1, 2, 6, 60, 5040, 10**6, 10**9, None)


def refute(
    c: sparse.csr_array,
    lower: FloatArray,
    upper: FloatArray,
    low: FloatArray,
    high: FloatArray,
    weights: FloatArray,
) -> tuple[Fraction, ...] | None:
    """Return fractions y near the weights for which y's rows ask for more than the bounds allow; None without any.

    It is a proof in exact arithmetic of the floats as they are (notes/one_dual.md, 16): the sum of lower y+ - upper y-
    is above that of high z+ - low z-, z = C^T y.
    """
    size = np.abs(weights).max(initial=0.0)
    if not size > 0.0:
        return None
    # smaller ones are the tolerance of the program that proposed the weights
    used = np.flatnonzero(np.abs(weights) > 1e-9 * size)
    columns = c[used].tocsc()
    unbounded = np.flatnonzero(np.isinf(high))
    for denominator in _DENOMINATORS:
        ray = [_near(float(weights[r] / size), denominator) for r in used]
        ray = [
            # an end that is infinite asks for nothing: such a weight is rounding
            Fraction(0) if (y > 0 and lower[r] == -np.inf) or (y < 0 and upper[r] == np.inf) else y
            for y, r in zip(ray, used, strict=True)
        ]
        for lifted in _lift(c, used, ray, upper, unbounded):
            if excess_of(columns, used, lifted, lower, upper, low, high) > 0:
                full = [Fraction(0)] * c.shape[0]
                for r, y in zip(used, lifted, strict=True):
                    full[int(r)] = y
                return tuple(full)
    return None


def _near(value: float, denominator: int | None) -> Fraction:
    exact = Fraction(value)
    return exact if denominator is None else exact.limit_denominator(denominator)


def _lift(
    c: sparse.csr_array, used: IntArray, ray: list[Fraction], upper: FloatArray, unbounded: IntArray
) -> list[list[Fraction]]:
    """Return the ray, and those lowered by a row that is positive on all unbounded cells, until none rises there."""
    tried = [ray]
    if not len(unbounded):
        return tried
    columns = c[used].tocsc()
    over = max((_combine(columns, int(i), ray) for i in unbounded), default=Fraction(0))
    if over <= 0:
        return tried
    dense = c[used][:, unbounded]
    for k, r in enumerate(used):
        own = dense[[k]].toarray().reshape(-1)
        if np.isfinite(upper[r]) and (own > 0.0).all():
            lower = list(ray)
            # by what brings the largest z on unbounded cells to 0: with z > 0 there the bound would be infinite
            lower[k] -= over / Fraction(float(own.min()))
            tried.append(lower)
    return tried


def _combine(columns: sparse.csc_array, cell: int, ray: list[Fraction]) -> Fraction:
    own = slice(columns.indptr[cell], columns.indptr[cell + 1])
    pairs = zip(columns.indices[own], columns.data[own], strict=True)
    return sum((ray[int(k)] * Fraction(float(value)) for k, value in pairs), Fraction(0))


def excess_of(
    columns: sparse.csc_array,
    used: IntArray,
    ray: list[Fraction],
    lower: FloatArray,
    upper: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> Fraction:
    """Return by how much the rows that a ray combines ask for more than the bounds allow.

    It is not positive where the ray proves nothing.
    """
    excess = Fraction(0)
    for y, r in zip(ray, used, strict=True):
        if y > 0:
            excess += y * Fraction(float(lower[r]))
        elif y < 0:
            if upper[r] == np.inf:
                return Fraction(-1)
            excess += y * Fraction(float(upper[r]))
    for cell in range(columns.shape[1]):
        z = _combine(columns, cell, ray)
        if z > 0:
            if high[cell] == np.inf:
                return Fraction(-1)
            excess -= z * Fraction(float(high[cell]))
        elif z < 0:
            if low[cell] == -np.inf:
                return Fraction(-1)
            excess -= z * Fraction(float(low[cell]))
    return excess
