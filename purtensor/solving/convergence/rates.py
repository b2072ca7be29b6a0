"""How fast iterative proportional fitting ends: the leading eigenvalues of its linearised sweep, and bounds on them.

Bounds come from quantities that are cheaper to compute (notes/rate_bounds.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from purtensor._typing import FloatArray
from purtensor.solving.convergence.linear_sweep import LinearSweep
from purtensor.solving.problem import Problem

_DENSE = 64
"""Up to so many independent potentials all eigenvalues are computed."""

_NOTHING = 1e-12
"""What a sweep may leave, relative to its start, and count as nothing: marginals that have a closed form."""

_FEW_SWEEPS = 4

_BASIS = 40
"""Vectors that Arnoldi's method keeps between its restarts."""

_GROWTH_SWEEPS = 500
_GROWTH_FLOOR = 1e-14

_RELATIVE = 0.01
"""Of the bracket of log(2 - relaxation): each further digit costs several hundred sweeps."""

Eigenvalues = npt.NDArray[np.complex128]


LARGEST_DENSE = 1500
"""Up to so many rows the trace of the inverse is computed, from all eigenvalues of a dense matrix."""

_RESOLVED = 1e-11
"""Below this, eigenvalues of a matrix of norm 1 and more are rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The leading eigenvalues of a sweep, largest modulus first, and what the first one's error looks like.

    Attributes
    ----------
    eigenvalues
        At most two more than a conjugate pair; zero where a sweep leaves nothing.
    slowest
        Shape (D,): an error of the potentials that sweeps shrink by the first eigenvalue; complex where that is.
    """

    eigenvalues: Eigenvalues
    slowest: npt.NDArray[np.complex128]


def sweeps_per_decade(eigenvalue: complex) -> float:
    """Return how many sweeps divide an error by ten that each of them multiplies by the eigenvalue; inf from 1 on."""
    modulus = abs(eigenvalue)
    if modulus >= 1.0:
        return math.inf
    return math.log(10.0) / -math.log(modulus) if modulus > 0.0 else 0.0


def spectrum_of(sweep: LinearSweep) -> Spectrum:
    """Return the leading eigenvalues of a sweep, by Arnoldi's method on the potentials (notes/rates.md, equation 4).

    Accurate to about 1 % of the rate; the same on every call.
    """
    size = sweep.size
    start = np.random.default_rng(0).standard_normal(size)
    nothing = Spectrum(np.zeros(1, dtype=complex), np.zeros(sweep.problem.system.rows, dtype=complex))
    if _leaves_nothing(sweep, start):
        return nothing
    if size <= _DENSE:
        # small: all eigenvalues cost less than Arnoldi's restarts
        matrix = np.stack([sweep.apply(column) for column in np.eye(size)], axis=1)
        values, vectors = np.linalg.eig(matrix)
    else:
        values, vectors = _arnoldi(sweep, start)
    # stable, so that of a conjugate pair the first stays first
    order = np.argsort(-np.abs(values), kind="stable")[:4]
    slowest = np.zeros(sweep.problem.system.rows, dtype=complex)
    slowest[sweep.dependencies.independent] = vectors[:, order[0]]
    return Spectrum(np.asarray(values[order], dtype=complex), slowest)


def _leaves_nothing(sweep: LinearSweep, start: FloatArray) -> bool:
    """Return whether a few sweeps bring any error to zero, as they do where there is a closed form."""
    if sweep.size == 0:
        return True
    potentials = np.zeros(sweep.problem.system.rows)
    potentials[sweep.dependencies.independent] = start
    before = sweep.norm(potentials)
    for _ in range(min(_FEW_SWEEPS, len(sweep.order))):
        potentials = sweep.sweep(potentials)
    return sweep.norm(potentials) <= _NOTHING * before


def _arnoldi(sweep: LinearSweep, start: FloatArray) -> tuple[Eigenvalues, Eigenvalues]:
    """Return the leading eigenvalues and eigenvectors, recomputed more precisely if they are close to 1."""
    size = sweep.size
    operator = LinearOperator((size, size), matvec=sweep.apply, dtype=np.float64)
    tolerance = 1e-4
    while True:
        try:
            values, vectors = eigs(
                operator, k=3, v0=start, tol=tolerance, ncv=min(_BASIS, size - 1), maxiter=2000, which="LM"
            )
        except ArpackNoConvergence as error:
            # some have converged: a rate from these is better than none
            if len(error.eigenvalues) == 0:
                raise
            return error.eigenvalues, error.eigenvectors
        # the rate depends on 1 - |lambda|, so near 1 the eigenvalue is needed to more digits
        needed = 0.003 * (1.0 - float(np.abs(values).max()))
        if tolerance <= needed or tolerance <= 1e-12:
            return values, vectors
        tolerance = max(needed, 1e-12)
        start = np.real(vectors @ np.ones(3))


def distinct_rates(eigenvalues: Sequence[complex] | Eigenvalues) -> list[float]:
    """Return the sweeps per decade of the eigenvalues, slowest first, a conjugate pair counted once."""
    rates: list[float] = []
    for value in eigenvalues:
        if np.imag(value) < 0.0 and any(np.isclose(value, np.conj(other)) for other in eigenvalues):
            continue
        rates.append(sweeps_per_decade(complex(value)))
    return sorted(rates, reverse=True)


def growth(sweep: LinearSweep) -> float:
    """Return the measured factor by which late sweeps shrink an error: the spectral radius, for any eigenvalues.

    Where over-relaxation is best, many eigenvalues have the same modulus, on which Arnoldi's method is slow.
    """
    potentials = np.zeros(sweep.problem.system.rows)
    potentials[sweep.dependencies.independent] = np.random.default_rng(0).standard_normal(sweep.size)
    norms = [sweep.norm(potentials)]
    # down to 1e-14 of the start, beyond which rounding would be measured
    while len(norms) <= _GROWTH_SWEEPS and norms[-1] > _GROWTH_FLOOR * norms[0]:
        potentials = sweep.sweep(potentials)
        norms.append(sweep.norm(potentials))
    half = len(norms) // 2
    if len(norms) - 1 == half or norms[-1] == 0.0:
        return 0.0
    return float((norms[-1] / norms[half]) ** (1.0 / (len(norms) - 1 - half)))


def best_relaxation_of(sweep: LinearSweep, plain: complex) -> tuple[float, float]:
    """Return the relaxation whose sweeps shrink errors fastest, and the factor by which they do.

    Young's formula for two constraints (notes/rates.md, equation 5) is where the search begins; it is by Brent's method
    on log(2 - relaxation).
    """
    # rounding may leave a modulus of 1 or more, of which there is no root
    modulus = min(abs(plain), 1.0 - 1e-12)
    young = 2.0 / (1.0 + math.sqrt(1.0 - modulus))

    def radius(logarithm: float) -> float:
        return growth(replace(sweep, relaxation=2.0 - math.exp(logarithm)))

    # log(2 - relaxation) is at most 0 where the relaxation is 1: plain sweeps are the end of the search
    low, high = math.log(2.0 - young) - 0.7, min(0.0, math.log(2.0 - young) + 0.9)
    found = minimize_scalar(radius, bounds=(low, high), method="bounded", options={"xatol": _RELATIVE * (high - low)})
    best, factor = float(found.x), float(found.fun)
    # no relaxation beat plain sweeps
    if factor >= abs(plain):
        return 1.0, abs(plain)
    return 2.0 - math.exp(best), factor


def orders_up_to_rotation(count: int, most: int, seed: int = 0) -> list[tuple[int, ...]]:
    """Return orders of the constraints of which no two have the same rate for that reason alone.

    A rotation and a reversal of the order change no eigenvalue (notes/rates.md, equation 6): (count - 1)! / 2 orders
    are left. Where these are more than `most`, so many are drawn, the order as given among them.
    """
    if count <= 3:
        return [tuple(range(count))]
    if math.factorial(count - 1) // 2 <= most:
        # 0 first takes out rotations, the smaller end first takes out reversals
        rest = (tail for tail in itertools.permutations(range(1, count)) if tail[0] < tail[-1])
        return [(0, *tail) for tail in rest]
    rng = np.random.default_rng(seed)
    found = {tuple(range(count)): None}
    while len(found) < most:
        tail = (rng.permutation(count - 1) + 1).tolist()
        found[(0, *(tail if tail[0] < tail[-1] else tail[::-1]))] = None
    return list(found)


def gap_of_three(merged_gap: float, slab_gap: float) -> float:
    """Return a lower bound on 1 - rho of sweeps over three constraints (notes/rate_bounds.md, equation 1).

    Parameters
    ----------
    merged_gap
        1 - the squared Friedrichs cosine of one of them and the two others together.
    slab_gap
        1 - that of the two others.
    """
    sigma = math.sqrt(max(0.0, 1.0 - slab_gap))
    return merged_gap * slab_gap * (2.0 + sigma) / (2.0 + 2.0 * sigma)


def gap_by_trace(problem: Problem, masses: FloatArray, rank: int, distance: float = 0.0) -> float | None:
    """Return an upper bound on 1 - rho of plain sweeps (notes/rate_bounds.md, equation 4); None if out of reach.

    Parameters
    ----------
    rank
        Of the constraints, exact: it tells how many eigenvalues are zero.
    distance
        The bound is one at all masses whose logarithms differ by no more than this (equation 8).
    """
    rows = problem.system.rows
    if rows > LARGEST_DENSE:
        return None
    sums = np.concatenate([np.bincount(row, masses) for row in problem.index])
    joint = np.zeros((rows, rows))
    places = problem.index.astype(np.int64) + problem.offsets[:-1, None]
    for one in places:
        for other in places:
            np.add.at(joint, (one, other), masses)
    scale = 1.0 / np.sqrt(sums)
    # in ascending order, so these are all but the zeros, whose number is known exactly
    eigenvalues = np.linalg.eigvalsh(joint * scale[:, None] * scale)[-rank:]
    # 1 / eigenvalue would be 1 / rounding
    if eigenvalues[0] < _RESOLVED:
        return None
    trace = float((1.0 / eigenvalues).sum())
    # notes/rate_bounds.md, equation 8
    trace /= 1.0 + len(problem.index) * math.expm1(2.0 * distance) * trace
    # n0 is at least the rank of any one constraint, which is its number of rows
    zeros = int(np.diff(problem.offsets).max())
    if rank <= zeros or trace <= rank:  # then the bound says nothing
        return 1.0
    return 1.0 / (0.5 + (trace - zeros) / (2.0 * (rank - zeros)))
