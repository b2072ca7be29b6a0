"""How far the exact projection can be from a point of its exponential family, by one least-norm solve.

With A = diag(b)^(-1/2) C diag(p)^(1/2) the least-norm solution v of A v = diag(b)^(-1/2) (b - C p) is A^T y for some y.
Then w = C^T diag(b)^(-1/2) y, and p (1 + w) meets the constraints wherever w >= -1 (notes/verification.md, equations 2
to 4). Which rows are independent does not matter: the solution of least norm is the same for every choice. Where
rounding hides a row, it gets no part in y: w lies in the row space all the same, and what it misses is counted. So is
what is missed by taking -1 for a w below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.verification.evidence import Evidence, LongArray

Solve: TypeAlias = Callable[[FloatArray], FloatArray]

_MOST_DENSE = 500_000
_MOST_REFINEMENTS = 8
_SERIES_REACH = 0.1
_LIGHT = 1e-40
"""Profiles of a smaller share of the mass stay as they are: that misses nothing, and w there would be rounding."""

_CUTS = (1e-11, 1e-8, 1e-5)


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

    def spread(self, potentials: LongArray) -> LongArray:
        """C^T potentials."""
        return np.asarray(potentials[self.index].sum(axis=0))

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
    some = evidence.masses[evidence.masses > 0].astype(np.longdouble)
    if not len(some):
        return Proof(float("inf"), 1.0, np.zeros(0, dtype=np.longdouble), 1.0)
    heavy = evidence.masses > _LIGHT * evidence.masses.sum()
    rows = _stacked(evidence, heavy, np.longdouble(evidence.total))
    p = evidence.masses[heavy] / some.sum()
    proofs = [_proved(p, *_least_change(rows, p, *solver), drift, membership) for solver in _solvers(rows, p)]
    best = min(proofs, key=lambda proof: proof.tv_bound + math.sqrt(proof.bound))
    change = np.zeros(len(evidence.masses), dtype=np.longdouble)
    change[heavy] = best.change
    return Proof(
        bound=min(proof.bound for proof in proofs),
        tv_bound=min(proof.tv_bound for proof in proofs),
        change=change[evidence.masses > 0],
        miss=best.miss,
    )


def _proved(p: LongArray, change: LongArray, miss: float, drift: float, membership: float) -> Proof:
    """Return what p (1 + change) proves, if it is a distribution that meets the constraints."""
    if not (miss <= 1e-12 and np.isfinite(change).all()):
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


def _solvers(rows: _Rows, p: LongArray) -> Iterator[tuple[Solve, FloatArray]]:
    """Yield solvers of A A^T y = right that leave out ever more rows as rounding, and the scaling of A's rows."""
    root = np.sqrt(p).astype(np.float64)
    weight = 1.0 / np.sqrt(np.maximum(rows.targets, np.finfo(np.float64).tiny).astype(np.float64))
    scaled = sp.csr_array(sp.diags_array(weight) @ rows.matrix @ sp.diags_array(root))
    if math.prod(scaled.shape) > _MOST_DENSE:
        yield _sparse_solver(scaled), weight
        return
    for solve in _dense_solvers(scaled.toarray()):
        yield solve, weight


def _least_change(rows: _Rows, p: LongArray, solve: Solve, weight: FloatArray) -> tuple[LongArray, float]:
    """Return w of least p-weighted norm, -1 at least, and the miss of p (1 + w), refined while that halves."""
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
        change = change + rows.spread(np.asarray(solve(right / size) * size * weight, dtype=np.longdouble))
    found = np.maximum(best, -1)
    return found, float(np.abs(rows.miss(p * (1 + found))).sum()) / len(rows.index)


def _dense_solvers(matrix: FloatArray) -> Iterator[Solve]:
    """Yield what gives y of which A^T y is the least-norm solution, on rows that QR with pivoting finds independent.

    What is next to dependent may be rounding: of each rank that the cuts give there is one.
    """
    r, pivots = scipy.linalg.qr(matrix.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(r))
    cuts = (max(matrix.shape) * np.finfo(np.float64).eps, *_CUTS)
    for rank in dict.fromkeys(int(np.sum(diagonal > diagonal[0] * cut)) for cut in cuts):
        yield partial(_solve_triangles, r[:rank, :rank], pivots[:rank])


def _solve_triangles(triangle: FloatArray, pivots: IntArray, right: FloatArray) -> FloatArray:
    """Return y with R^T R y = right on the rows `pivots`, 0 elsewhere."""
    y = np.zeros(len(right))
    inner = scipy.linalg.solve_triangular(triangle, right[pivots], trans="T")
    y[pivots] = scipy.linalg.solve_triangular(triangle, inner)
    return y


def _sparse_solver(matrix: sp.csr_array) -> Solve:
    """Return y of which A^T y is the least-norm solution, which Lanczos bidiagonalisation finds from 0."""
    limit = 20 * min(matrix.shape)
    transposed = matrix.T.tocsr()

    def solve(right: FloatArray) -> FloatArray:
        least = spla.lsqr(matrix, right, atol=1e-12, btol=1e-12, conlim=0, iter_lim=limit)[0]
        return np.asarray(spla.lsqr(transposed, least, atol=1e-12, btol=1e-12, conlim=0, iter_lim=limit)[0])

    return solve
