"""How far the exact projection can be from a point of its exponential family, by one least-norm solve.

With A = diag(b)^(-1/2) C diag(p)^(1/2) the least-norm solution v of A v = diag(b)^(-1/2) (b - C p) gives
w = v / sqrt(p), and p (1 + w) meets the constraints wherever w >= -1 (notes/verification.md, equations 2 to 4). Which
rows are independent does not matter: the solution of least norm is the same for every choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.verification.evidence import Evidence, LongArray

_MOST_DENSE = 500_000
_MOST_REFINEMENTS = 8
_SERIES_REACH = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """What is proved: D(q || p) <= bound nats and TV(q, p) <= tv_bound, inf and 1 when nothing is.

    Attributes
    ----------
    change
        w, one a profile that has mass.
    miss
        The L1 miss of p (1 + w), total mass 1: what rounding leaves.
    """

    bound: float
    tv_bound: float
    change: LongArray
    miss: float


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """All constraints stacked on the profiles that have mass: rows without a profile left are kept."""

    index: IntArray
    targets: LongArray

    @property
    def matrix(self) -> sp.csr_array:
        constraints, profiles = self.index.shape
        columns = np.tile(np.arange(profiles), constraints)
        ones = np.ones(constraints * profiles)
        return sp.csr_array((ones, (self.index.reshape(-1), columns)), shape=(len(self.targets), profiles))

    def miss(self, masses: LongArray) -> LongArray:
        sums = np.zeros(len(self.targets), dtype=np.longdouble)
        for row in self.index:
            np.add.at(sums, row, masses)
        return np.asarray(self.targets - sums)


def prove(evidence: Evidence, drift: float, membership: float) -> Proof:
    """Return what the least-norm feasible point proves of the table.

    Parameters
    ----------
    drift
        The total variation between the table and the point of the family that its potentials say.
    membership
        The largest relative difference between the two.
    """
    on = evidence.masses > 0
    total = np.longdouble(evidence.total)
    rows = _stacked(evidence, on, total)
    p = evidence.masses[on].astype(np.longdouble)
    p = p / p.sum()
    change, miss = _least_change(rows, p)
    if not miss <= 1e-12 or not np.all(change >= -1):
        return Proof(float("inf"), 1.0, change, miss)
    bound = float(np.sum(p * excess(change)))
    gap = float(np.sum(p * gap_terms(change)))
    moved = float(np.sum(p * np.abs(change))) / 2
    tv = min(np.sqrt(bound / 2), moved + np.sqrt(max(gap, 0.0) / 2)) + drift + miss
    return Proof(bound + 2 * float(tv) * membership, float(min(tv, 1.0)), change, miss)


def excess(w: LongArray) -> LongArray:
    """Return (1 + w) log(1 + w) - w, by its series for small w."""
    small = np.abs(w) <= _SERIES_REACH
    inner, outer = np.where(small, w, 0), np.where(small, 1, w)
    series = np.zeros_like(inner)
    for k in range(22, 1, -1):
        series = series * inner + np.longdouble((-1) ** k) / (k * (k - 1))
    closed = (1 + outer) * np.log1p(np.where(outer > -1, outer, 0)) - outer  # 0 log 0 = 0 at w = -1
    return np.asarray(np.where(small, series * inner**2, closed))


def gap_terms(w: LongArray) -> LongArray:
    """Return (1 + w) (log(1 + w) - w) - (1 + w) + exp(w), by its series w^4 / 8 - ... for small w."""
    small = np.abs(w) <= _SERIES_REACH
    inner, outer = np.where(small, w, 0), np.where(small, 1, w)
    series, factorial = np.zeros_like(inner), np.longdouble(1)
    coefficients = {}
    for k in range(1, 24):
        factorial = factorial * k
        coefficients[k] = 1 / factorial
    for k in range(23, 2, -1):
        series = series * inner + (np.longdouble((-1) ** k) / (k * (k - 1)) + coefficients[k])
    with np.errstate(over="ignore"):  # then nothing is proved
        closed = excess(outer) - outer - outer**2 + np.expm1(outer)
    return np.asarray(np.where(small, series * inner**3, closed))


def _stacked(evidence: Evidence, on: BoolArray, total: np.longdouble) -> _Rows:
    """Return the rows that have a positive target or a profile."""
    index, targets, offset = [], [], 0
    for block in evidence.blocks:
        kept = block.targets > 0
        kept[block.row[on]] = True
        place = np.cumsum(kept) - 1 + offset
        index.append(place[block.row[on]])
        targets.append(block.targets[kept].astype(np.longdouble) / total)
        offset += int(kept.sum())
    return _Rows(np.array(index), np.concatenate(targets))


def _least_change(rows: _Rows, p: LongArray) -> tuple[LongArray, float]:
    """Return w of least p-weighted norm, refined until the miss of p (1 + w) no longer halves, and that miss."""
    root = np.sqrt(p).astype(np.float64)
    weight = 1.0 / np.sqrt(np.maximum(rows.targets, np.finfo(np.float64).tiny).astype(np.float64))
    scaled = sp.csr_array(sp.diags_array(weight) @ rows.matrix @ sp.diags_array(root))
    solve = _dense_solver(scaled.toarray()) if math.prod(scaled.shape) <= _MOST_DENSE else _sparse_solver(scaled)
    change = np.zeros_like(p)
    best, best_miss = change, np.inf
    for _ in range(_MOST_REFINEMENTS):
        left = rows.miss(p * (1 + change))
        miss = float(np.abs(left).sum()) / len(rows.index)
        if not miss < best_miss / 2:
            break
        best, best_miss = change, miss
        right = (left * weight).astype(np.float64)
        size = float(np.abs(right).max())
        if size == 0:
            break
        change = change + solve(right / size) * size / np.sqrt(p)
    return best, best_miss


def _dense_solver(matrix: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the least-norm solution on the rows that QR with pivoting finds independent."""
    q, r, pivots = scipy.linalg.qr(matrix.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int(np.sum(diagonal > diagonal[0] * max(matrix.shape) * np.finfo(np.float64).eps))

    def solve(right: FloatArray) -> FloatArray:
        inner = scipy.linalg.solve_triangular(r[:rank, :rank], right[pivots[:rank]], trans="T")
        return np.asarray(q[:, :rank] @ inner)

    return solve


def _sparse_solver(matrix: sp.csr_array) -> Callable[[FloatArray], FloatArray]:
    """Return the least-norm solution by Lanczos bidiagonalisation, which from 0 stays in the row space."""
    limit = 20 * min(matrix.shape)

    def solve(right: FloatArray) -> FloatArray:
        return np.asarray(spla.lsqr(matrix, right, atol=1e-12, btol=1e-12, conlim=0, iter_lim=limit)[0])

    return solve
