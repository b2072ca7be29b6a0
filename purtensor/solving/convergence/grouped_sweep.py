"""Cyclic projections on groups of constraints, linearised: the leading eigenvalue by shift-inverted Arnoldi.

A sweep projects exactly on one group of constraints after the other; groups of one constraint each are those of plain
iterative proportional fitting. Near a point q it is the linear map S = (I - E_G) ... (I - E_1) on V, the functions
C^T x, with E_g the orthogonal projection in L2(q) on the span of the rows of group g. In potentials it is block
Gauss-Seidel for H = C diag(q) C^T, so that I - S is inverted by one solve with H (notes/block_ipf.md, equation 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.convergence.krylov import Complexes, LeadingEigenvalue, decays_of, leading_by_sweeps
from purtensor.solving.convergence.linear_sweep import Dependencies, OrthonormalBasis
from purtensor.solving.hessian.choice import find_factorized_hessian
from purtensor.solving.hessian.factored import Factored
from purtensor.solving.iterate import on_profiles
from purtensor.solving.problem import Problem

_Solve = Callable[[FloatArray], FloatArray]

Groups = Sequence[Sequence[int]]
"""Positions of constraints, group by group in the order of the sweep."""

_DENSE_GAUGE = 400
"""Up to so many gauges their equations are solved as a dense matrix, which may be singular."""

_DENSE = 100
"""Up to so many independent potentials all eigenvalues are computed."""

_MOST_SECONDS = 8.0
_SOLVES = 20
_SECONDS_PER_MEMBERSHIP = 3e-8
"""Estimated time: beyond, nothing is factorised. A pass over all rows of all profiles is made for each solve."""

_LARGEST_BASIS = 40
"""Arnoldi's method ends here at the latest; the median needs 7 vectors."""

_MOST_SWEEPS = 80

_FAST = 0.9
"""Below this modulus the eigenvalue nearest to 1 may not be the leading one, and sweeps find that quickly."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupedSweep:
    """A sweep over groups of constraints near certain masses, as a map of potentials, and its inverse at 1.

    Attributes
    ----------
    problem
        The problem; its targets are not read.
    masses
        Shape (M,): where the sweep is linearised.
    groups
        The groups in the order of the sweep.
    """

    problem: Problem
    masses: FloatArray
    groups: tuple[tuple[int, ...], ...]
    _factored: Factored
    _gauge: _Gauge

    @classmethod
    def at(cls, problem: Problem, masses: FloatArray, groups: Groups | None = None) -> GroupedSweep | None:
        """Return the sweep near the masses; every constraint is a group of its own where none are given.

        None where Newton's equations are too large to be factorised; conjugate gradients are not exact enough.
        """
        chosen = [(k,) for k in range(len(problem.index))] if groups is None else [tuple(group) for group in groups]
        passes = _SOLVES * _SECONDS_PER_MEMBERSHIP * problem.index.size
        form = find_factorized_hessian(problem, _SOLVES, _MOST_SECONDS - passes)
        if form is None:
            return None
        # only the factors are wanted: every solve comes later
        _, factored = form.factor_and_solve(masses, np.zeros(problem.system.rows))
        return cls(problem, masses, tuple(chosen), factored, _Gauge.of(problem, masses, chosen))

    @property
    def dependencies(self) -> Dependencies:
        """Which rows follow from others."""
        return self._gauge.dependencies

    @property
    def independent(self) -> IntArray:
        """The rows that no others imply."""
        return np.flatnonzero(self.dependencies.independent)

    def lower(self, potentials: FloatArray) -> FloatArray:
        """Return (L + D) x: the rows of each group summed over what it and the groups before it move, shape (D,)."""
        problem = self.problem
        moved, out = np.zeros_like(self.masses), np.zeros(problem.system.rows)
        for group in self.groups:
            for k in group:
                moved += potentials[problem.system.block(k)][problem.index[k]]
            weighted = self.masses * moved
            for k in group:
                block = problem.system.block(k)
                out[block] = np.bincount(problem.index[k], weighted, block.stop - block.start)
        return out

    def inverse(self, potentials: FloatArray) -> FloatArray:
        """Return potentials of (I - S)^-1 C^T x, shape (D,), zero on dependent rows."""
        right = self.lower(potentials)
        # notes/block_ipf.md, equation 3: H y = ... has a solution only where the right side is orthogonal to all gauges
        return self._factored.solve(right + self.lower(self._gauge.repair(right)))

    def on_profiles(self, potentials: FloatArray) -> FloatArray:
        """Return C^T x, shape (M,)."""
        return on_profiles(self.problem.system, potentials)


@dataclass(frozen=True, slots=True, eq=False)
class _Gauge:
    """The potentials n with C^T n = 0, and what makes (L + D)(x + n) orthogonal to all of them.

    Their matrix N^T (L + D) N has the symmetric part N^T D N / 2, which is positive where every constraint is a group
    of its own. Gauges that live within one group are moved by nothing, and are left out.
    """

    dependencies: Dependencies
    basis: sparse.csc_array
    solve: _Solve | None

    @classmethod
    def of(cls, problem: Problem, masses: FloatArray, groups: Groups) -> _Gauge:
        known = Dependencies.of(problem)
        basis = _kernel(known, problem.system.rows)
        parts = [_part(problem, group, basis) for group in groups]
        moving = np.flatnonzero(sum(abs(part).sum(axis=0) for part in parts) > 0)
        if not len(moving):
            return cls(known, basis[:, moving], None)
        parts = [part[:, moving] for part in parts]
        total, matrix = sparse.csc_array(parts[0].shape), sparse.csc_array((len(moving), len(moving)))
        weights = sparse.diags_array(masses)
        for part in parts:
            total = total + part
            matrix = matrix + part.T @ (weights @ total)
        if len(moving) > _DENSE_GAUGE:
            return cls(known, basis[:, moving], splu(matrix.tocsc()).solve)
        return cls(
            known,
            basis[:, moving],
            _solve_on_range(matrix.toarray(), sum(part.T @ part for part in parts).toarray()),
        )

    def repair(self, right: FloatArray) -> FloatArray:
        """Return the gauge n, shape (D,), for which right + (L + D) n is orthogonal to all gauges."""
        if self.solve is None:
            return np.zeros_like(right)
        return np.asarray(self.basis @ self.solve(-(self.basis.T @ right)))


def _kernel(known: Dependencies, rows: int) -> sparse.csc_array:
    """Return a basis of the potentials with C^T n = 0: a column of whole numbers each dependent row."""
    count = len(known.row)
    column = np.repeat(np.arange(count), np.diff(known.begins))
    places = np.concatenate([known.others, known.row]), np.concatenate([column, np.arange(count)])
    values = np.concatenate([known.weights, -known.multiplier])
    return sparse.coo_array((values, places), shape=(rows, count)).tocsc()


def _part(problem: Problem, group: Sequence[int], basis: sparse.csc_array) -> sparse.csc_array:
    """Return C_g^T N_g on the profiles, without the entries that cancel."""
    rows = basis.tocsr()
    part = sparse.csr_array((problem.system.profiles, basis.shape[1]))
    for k in group:
        part = part + rows[problem.system.block(k)][problem.index[k].astype(np.int64)]
    part.eliminate_zeros()  # whole numbers: what cancels is exactly 0
    return part.tocsc()


def _solve_on_range(matrix: FloatArray, plain: FloatArray) -> _Solve:
    """Return a solver for the matrix on the range of `plain`, its counterpart in whole numbers.

    What is singular is decided in whole numbers, whose eigenvalues are 0 or far from it, not from the masses.
    """
    # of whole numbers, whose rank has nothing to do with how small masses are
    eigenvalues, vectors = np.linalg.eigh(plain)
    moving = vectors[:, eigenvalues > 1e-9 * eigenvalues[-1]]
    factor = linalg.lu_factor(moving.T @ matrix @ moving)
    return lambda right: moving @ linalg.lu_solve(factor, moving.T @ right)


def leading_eigenvalue(sweep: GroupedSweep, *, tolerance: float = 1e-5, seed: int = 0) -> LeadingEigenvalue:
    """Return the leading eigenvalue of a grouped sweep.

    Up to 100 independent potentials it is the one of largest modulus of all. Beyond, sweeps of single constraints are
    tried first, and serve where they are fast (krylov.py); what is slow is found by Arnoldi's method on (I - S)^-1 in
    L2(q), as the eigenvalue nearest to 1: of two groups all are real and none is negative.

    Parameters
    ----------
    tolerance
        Relative, of 1 - lambda: where two estimates in a row agree to it the method ends.
    seed
        Of the start.
    """
    independent = sweep.independent
    if len(independent) <= _DENSE:
        return _densely(sweep, independent)
    if all(len(group) == 1 for group in sweep.groups):
        order = [group[0] for group in sweep.groups]
        leave = sweep.dependencies.leave
        found = leading_by_sweeps(
            sweep.problem, sweep.masses, order, sweeps=_MOST_SWEEPS, tolerance=tolerance, seed=seed, leave=leave
        )
        if abs(found.value) < _FAST:
            return found
    return _by_inverse(sweep, tolerance, seed)


def _by_inverse(sweep: GroupedSweep, tolerance: float, seed: int) -> LeadingEigenvalue:
    rows = sweep.problem.system.rows
    found, before = LeadingEigenvalue(0.0, 1.0, 0, True, np.zeros(rows, dtype=complex)), None
    basis, projected = OrthonormalBasis(sweep.problem, sweep.masses), np.zeros((_LARGEST_BASIS + 1, _LARGEST_BASIS))
    norm, _ = basis.append(np.random.default_rng(seed).standard_normal(rows))
    for j in range(_LARGEST_BASIS if norm else 0):
        norm, projected[: j + 1, j] = basis.append(sweep.inverse(basis.potentials[j]))
        projected[j + 1, j] = norm
        values, vectors = _eigen(projected[: j + 1, : j + 1])
        gaps = _gaps(values)
        # shift-inverted Arnoldi finds what is nearest to 1, not what has the largest modulus
        lead = int(np.argmin(np.abs(gaps)))
        gap = complex(gaps[lead])
        mode = np.array(basis.potentials[: j + 1]).T @ vectors[:, lead]
        # without anything new the basis is invariant, so its eigenvalues are exact
        settled = norm == 0.0 or (before is not None and abs(gap - before) <= tolerance * abs(gap))
        found = LeadingEigenvalue(1.0 - gap, gap, j + 1, bool(settled), mode)
        if settled:
            break
        before = gap
    return found


def _densely(sweep: GroupedSweep, independent: IntArray) -> LeadingEigenvalue:
    """Return the leading eigenvalue from the whole matrix of (I - S)^-1 on the independent potentials."""
    rows, size = sweep.problem.system.rows, len(independent)
    matrix = np.empty((size, size))
    unit = np.zeros(rows)
    for column, row in enumerate(independent):
        unit[row] = 1.0
        matrix[:, column] = sweep.inverse(unit)[independent]
        unit[row] = 0.0
    values, vectors = _eigen(matrix)
    gaps = _gaps(values)
    lead = int(np.argmin(decays_of(gaps)))
    mode = np.zeros(rows, dtype=complex)
    mode[independent] = vectors[:, lead]
    gap = complex(gaps[lead])
    return LeadingEigenvalue(1.0 - gap, gap, size, True, mode)


def _eigen(matrix: FloatArray) -> tuple[Complexes, Complexes]:
    values, vectors = np.linalg.eig(matrix)
    return values.astype(np.complex128), vectors.astype(np.complex128)


def _gaps(values: Complexes) -> Complexes:
    """Return 1 - lambda from the eigenvalues of (I - S)^-1; |lambda| < 1, so that those within 1/2 of 0 are noise."""
    return np.asarray(1.0 / np.where(np.abs(values) > 0.5, values, 1.0))
