"""The leading eigenvalue of a sweep: how fast errors fall by it, and how sweeps alone find it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.newton.linear_sweep import linear_sweep
from purtensor.kernels.reductions import spread
from purtensor.solving.iterate import row_sums
from purtensor.solving.problem import Problem

Complexes = npt.NDArray[np.complex128]


_EXHAUSTED = 1e-12
"""Of a vector of norm 1: a sweep leaves no more than that outside of the basis, which then holds all."""

_LARGEST_GAUGE = 1e8
"""Potentials beyond this times what they move have rounding that moves profiles as well."""


@dataclass(frozen=True, slots=True, eq=False)
class LeadingEigenvalue:
    """The leading eigenvalue of a sweep.

    Attributes
    ----------
    value
        lambda, 0 where a sweep leaves nothing.
    gap
        1 - lambda, with relative accuracy: 1 - `value` has lost its digits where the sweep is slow.
    steps
        How many solves with H it took, or sweeps.
    settled
        Whether the last two estimates agree to the tolerance that was requested.
    mode
        Shape (D,): potentials of the eigenvector; complex where lambda is.
    """

    value: complex
    gap: complex
    steps: int
    settled: bool
    mode: Complexes


def decay_of(gap: complex) -> float:
    """Return -log |1 - gap|: how much a sweep takes off the logarithm of the error; inf where it leaves nothing."""
    return float(decays_of(np.array([gap], dtype=np.complex128))[0])


def decays_of(gaps: Complexes) -> FloatArray:
    """Return -log |1 - gap|, accurate for small gaps; inf where the sweep leaves nothing."""
    real, imaginary = gaps.real, gaps.imag
    squared = (-2.0 + real) * real + imaginary**2  # |1 - gap|^2 - 1
    with np.errstate(divide="ignore"):
        # log1p of |1 - gap|^2 - 1, as log |1 - gap| would lose the digits of a small gap
        return np.asarray(-0.5 * np.log1p(np.maximum(squared, -1.0)))


def leading_by_sweeps(
    problem: Problem,
    masses: FloatArray,
    order: Sequence[int],
    *,
    sweeps: int = 24,
    tolerance: float = 1e-3,
    seed: int = 0,
    leave: Callable[[FloatArray], object] | None = None,
) -> LeadingEigenvalue:
    """Return the eigenvalue of largest modulus of a plain sweep, by Arnoldi's method on S itself.

    It has settled when the last three estimates of -log |lambda| agree to the tolerance; before, it is too small.
    Vectors are kept as potentials x and as H x, both of length D: inner products in L2(q) are x'H y, so that no more
    than two arrays of all profiles are needed at a time.

    Parameters
    ----------
    leave
        Takes from potentials, in place, what moves no profile. What moves none grows against the rest with each step,
        and its rounding with it. By default means over what two constraints share are moved from one to the other,
        which needs no exact algebra, and leaves the part that is due to zeros.
    """
    rows, weights = problem.system.rows, masses / masses.sum()
    sums, steps = row_sums(problem.system, weights), np.asarray(order, dtype=np.int64)
    z, leave = np.empty_like(weights), leave or partial(_leave_shared, shared=_group_shared_rows(problem))

    def image(x: FloatArray) -> FloatArray:
        spread(problem.index, problem.offsets, x, z)
        return row_sums(problem.system, weights * z)

    x = np.random.default_rng(seed).standard_normal(rows)
    leave(x)
    hx = image(x)
    norm = math.sqrt(max(0.0, float(x @ hx)))
    basis, images = np.empty((sweeps, rows)), np.empty((sweeps, rows))
    projected = np.zeros((sweeps + 1, sweeps))
    decays: list[float] = []
    settled = False
    for j in range(sweeps):
        basis[j], images[j] = x / norm, hx / norm
        x = basis[j].copy()
        spread(problem.index, problem.offsets, x, z)
        linear_sweep(weights, problem.index, problem.offsets, sums, steps, 1.0, x, z)
        for _ in range(2):
            # images hold H x, so these products are inner products in L2(q); twice, for once leaves rounding
            shares = images[: j + 1] @ x
            projected[: j + 1, j] += shares
            x -= shares @ basis[: j + 1]
        leave(x)
        hx = image(x)
        norm = projected[j + 1, j] = math.sqrt(max(0.0, float(x @ hx)))
        values = np.linalg.eigvals(projected[: j + 1, : j + 1]).astype(np.complex128)
        decays.append(float(decays_of(1.0 - values).min()))
        # three in a row: two may agree while the basis has not met the slow mode yet
        settled = norm <= _EXHAUSTED or (
            len(decays) > 2 and max(decays[-3:]) - min(decays[-3:]) <= tolerance * decays[-1]
        )
        if settled or np.abs(x).max() > _LARGEST_GAUGE * norm:
            break
    return replace(_ritz(projected[: j + 1, : j + 1], basis[: j + 1]), settled=settled)


def _ritz(projected: FloatArray, basis: FloatArray) -> LeadingEigenvalue:
    values, vectors = np.linalg.eig(projected.astype(np.complex128))
    lead = int(np.argmax(np.abs(values)))
    value = complex(values[lead])
    return LeadingEigenvalue(value, 1.0 - value, len(basis), False, basis.T @ vectors[:, lead])


_Shared = list[tuple[slice, slice, IntArray, IntArray, FloatArray]]


def _group_shared_rows(problem: Problem) -> _Shared:
    """Return for each pair of constraints their blocks, and the categories that each row has of what they share."""
    system, found = problem.system, []
    sizes = {name: len(own) for name, own in zip(system.domain.attributes, system.domain.categories, strict=True)}
    for one, other in itertools.combinations(range(len(system.scopes)), 2):
        codes = [np.zeros(problem.offsets[k + 1] - problem.offsets[k], dtype=np.int64) for k in (one, other)]
        for name in set(system.scopes[one]) & set(system.scopes[other]):
            for k, code in zip((one, other), codes, strict=True):
                code *= sizes[name]
                code += system.row_codes[k][system.scopes[k].index(name)]
        _, group = np.unique(np.concatenate(codes), return_inverse=True)
        first, second = np.split(group, [len(codes[0])])
        counts = np.maximum(1.0, np.bincount(second, minlength=int(group.max()) + 1))
        found.append((system.block(one), system.block(other), first, second, counts))
    return found


def _leave_shared(x: FloatArray, shared: _Shared) -> None:
    """Move means over what two constraints share from the later to the earlier one: no profile moves."""
    for first, second, group_first, group_second, counts in shared:
        means = np.bincount(group_second, x[second], len(counts)) / counts
        # a mean over what both have in common may stand on either: no C^T x changes
        x[second] -= means[group_second]
        x[first] += means[group_first]
