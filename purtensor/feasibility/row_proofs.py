"""Proofs that general rows with bounds are infeasible, in exact fractions of the floats (notes/one_dual.md, 16)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.dual.question import Question

# simple fractions first, which make a readable proof; None takes the floats as they are
_DENOMINATORS = (1, 2, 6, 60, 5040, 10**6, 10**9, None)


def refute(question: Question, weights: FloatArray) -> tuple[Fraction, ...] | None:
    """Return fractions y near the weights for which y's rows ask for more than the bounds allow; None without any.

    It is a proof in exact arithmetic of the floats as they are (notes/one_dual.md, 16): the sum of lower y+ - upper y-
    is above that of high z+ - low z-, z = C^T y.
    """
    size = np.abs(weights).max(initial=0.0)
    if not size > 0.0:
        return None
    # smaller ones are the tolerance of the program that proposed the weights; and an infinite end asks for nothing
    asking = np.where(weights > 0, question.row_lower, question.row_upper)
    used = np.flatnonzero((np.abs(weights) > 1e-9 * size) & np.isfinite(asking))
    for denominator in _DENOMINATORS:
        ray = [Fraction(0)] * question.rows
        for row in used.tolist():
            exact = Fraction(float(weights[row] / size))
            ray[row] = exact if denominator is None else exact.limit_denominator(denominator)
        for lifted in _lift(question, used, ray):
            if excess_of(question, lifted) > 0:
                return tuple(lifted)
    return None


def _lift(question: Question, used: IntArray, ray: list[Fraction]) -> Iterator[list[Fraction]]:
    """Yield the ray, and those lowered by a row that is positive on all unbounded cells, until none rises there."""
    yield ray
    unbounded = np.flatnonzero(np.isinf(question.upper))
    pulls = combine(question, ray) if len(unbounded) else []
    over = max((pulls[cell] for cell in unbounded), default=Fraction(0))
    if over <= 0:
        return
    for row in used[np.isfinite(question.row_upper[used])].tolist():
        own = question.coefficients[[row]].toarray().reshape(-1)[unbounded]
        if (own > 0.0).all():
            lower = list(ray)
            # by what brings the largest z on unbounded cells to 0: with z > 0 there the bound would be infinite
            lower[row] -= over / Fraction(float(own.min()))
            yield lower


def combine(question: Question, ray: Sequence[Fraction]) -> list[Fraction]:
    """Return C^T y."""
    pulls = [Fraction(0)] * len(question.reference)
    c = question.coefficients
    for row, y in enumerate(ray):
        if y:
            own = slice(c.indptr[row], c.indptr[row + 1])
            for cell, value in zip(c.indices[own].tolist(), c.data[own].tolist(), strict=True):
                pulls[cell] += y * Fraction(value)
    return pulls


def excess_of(question: Question, ray: Sequence[Fraction]) -> Fraction:
    """Return by how much the rows that a ray combines ask for more than the bounds allow.

    It is not positive where the ray proves nothing.
    """
    excess = Fraction(0)
    for y, lower, upper in zip(ray, question.row_lower.tolist(), question.row_upper.tolist(), strict=True):
        if y:
            asked = lower if y > 0 else upper
            if math.isinf(asked):
                return Fraction(-1)
            excess += y * Fraction(asked)
    for z, low, high in zip(combine(question, ray), question.lower.tolist(), question.upper.tolist(), strict=True):
        if z:
            allowed = high if z > 0 else low
            if math.isinf(allowed):
                return Fraction(-1)
            excess -= z * Fraction(allowed)
    return excess
