"""Zeros that the constraints imply: a vector t with C^T t >= 0, b.t = 0 and C^T t > 0 on each of them proves them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.optimize
import scipy.sparse as sp

from purtensor._interrupts import apart
from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.verification.evidence import Evidence

_LARGEST_DENOMINATOR = 64
_ROUNDING = Fraction(1, 10**13)


def unproved_zeros(evidence: Evidence, empty: BoolArray) -> int:
    """Return how many of the empty profiles the constraints could not be shown to empty.

    One linear program proposes t, bounded by 1 and positive on as many of the profiles as it can; t is rounded to small
    fractions, and only what these prove in exact arithmetic counts: since every solution p has p.(C^T t) = b.t, a
    profile with (C^T t)_i > 0 has at most the mass b.t / (C^T t)_i, and b.t must be 0 to the rounding of the targets.
    """
    allowed = np.flatnonzero(~evidence.excluded)
    rows: list[IntArray] = []
    right = np.empty(0)
    for block in evidence.blocks:
        used, local = np.unique(block.row[allowed], return_inverse=True)
        rows.append(local + len(right))
        right = np.concatenate([right, block.targets[used]])
    zeros = np.flatnonzero(empty[allowed])
    proposed = _proposal(np.array(rows), right / evidence.total, zeros)
    if proposed is None:
        return len(zeros)
    t = [Fraction(value).limit_denominator(_LARGEST_DENOMINATOR) for value in proposed.tolist()]
    sums = [sum((t[row] for row in column), Fraction(0)) for column in np.array(rows).T.tolist()]
    value = sum((a * Fraction(b) for a, b in zip(t, right.tolist(), strict=True)), Fraction(0))
    if min(sums) < 0 or abs(value) > _ROUNDING * Fraction(evidence.total):
        return len(zeros)
    return sum(sums[i] <= 0 for i in zeros.tolist())


def _proposal(rows: IntArray, targets: FloatArray, zeros: IntArray) -> FloatArray | None:
    """Return t that maximises the sum over the zeros of min(C^T t, 1), with C^T t >= 0 and b.t <= 0."""
    constraints, profiles = rows.shape
    count, extra = len(targets), len(zeros)
    columns = np.tile(np.arange(profiles), constraints)
    transposed = sp.csr_array((np.ones(rows.size), (columns, rows.reshape(-1))), shape=(profiles, count))
    capped = sp.csr_array((np.ones(extra), (zeros, np.arange(extra))), shape=(profiles, extra))
    above = sp.vstack([sp.hstack([-transposed, capped]), sp.csr_array(np.append(targets, np.zeros(extra))[None, :])])
    found = apart(  # it does not hear Ctrl-C
        lambda: scipy.optimize.linprog(
            np.concatenate([np.zeros(count), -np.ones(extra)]),
            A_ub=above,
            b_ub=np.zeros(profiles + 1),
            bounds=[(-100, 100)] * count + [(0, 1)] * extra,
            method="highs",
        )
    )
    return found.x[:count] if found.x is not None else None
