"""How many sweeps are left: powers of the sweep linearised at the solution, and a bound on what a small basis misses.

An error z = C^T x shrinks to S^n z. A basis of sweeps of z and of inverses (I - S)^-1 z holds its fast and its slow
part; what it misses is bounded by the remainders of one more sweep of each of its vectors (notes/forecasts.md,
equations 2 and 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.convergence.grouped_sweep import GroupedSweep
from purtensor.solving.convergence.linear_sweep import LinearSweep, OrthonormalBasis
from purtensor.solving.iterate import row_sums
from purtensor.solving.problem import Problem
from purtensor.solving.solve import run
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.solvers.newton import Newton
from purtensor.solving.stopping import L1_FACTOR, Stopping

_STEPWISE = 2000
"""Up to so many sweeps each is examined; beyond, the residual falls steadily, and sweeps are made by leaps."""

_STRETCH = 128
"""So many leaps are examined together."""

_WORST = 32
"""So many rows are examined before all are."""

_FURTHEST = 1 << 40
"""More sweeps than this are as good as no end."""

_TIGHT = 1e-3
_SIZES = (8, 16, 32, 64)
"""Vectors of the basis: larger ones are tried while what they miss leaves the answer open."""

_ENTRIES = 1 << 26
"""Of vectors on profiles, at most."""


_EXACT = 1e-14

_MOST_STEPS = 60

_REAL_SWEEPS = 64
"""So many more are made before the sweep is taken as linear: errors that are large and fast go."""

_NONLINEAR = 0.6
"""Times the largest |log(p / q)|, in sweeps that divide the error by e: how far real sweeps were from linearised ones.

A step misses z^2 / 2 of e^z - 1 = z + z^2 / 2 + ..., and changes the size of what is slow by a share of z / 2.
"""

_FAR = 6.0
"""Beyond this largest |log(p / q)| the sweep at the answer gives no forecast."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The sweeps that are left: by the basis, and the least and the most that what it misses allows."""

    sweeps: float
    lower: float
    upper: float

    @property
    def is_tight(self) -> bool:
        """Whether both ends agree to a sweep, or to a tenth of a per cent."""
        return self.upper - self.lower <= max(1.0, _TIGHT * self.sweeps)


def linear_sweeps_left(sweep: GroupedSweep, error: FloatArray, tolerances: Sequence[float]) -> list[Interval] | None:
    """Return how many plain sweeps bring an error of the potentials below each tolerance; None where it is too large.

    Parameters
    ----------
    sweep
        Linearised at the solution; every constraint is a group of its own.
    error
        Shape (D,): potentials x of log(p / q) = C^T x.
    tolerances
        For the largest miss of a row; for the sum of misses of a constraint a hundred times as much. The total mass is
        1. The first one decides how large the basis has to be.
    """
    if not sweep.on_profiles(error).any():
        return [Interval(0.0, 0.0, 0.0) for _ in tolerances]
    order = [group[0] for group in sweep.groups]
    linear = LinearSweep.at(sweep.problem, sweep.masses / sweep.masses.sum(), order, dependencies=sweep.dependencies)
    ahead = None
    for size in _SIZES:
        if size * len(sweep.masses) > _ENTRIES:
            break
        ahead = _Ahead.of(sweep, linear, error, size)
        if ahead.is_whole or ahead.interval(tolerances[0], L1_FACTOR * tolerances[0]).is_tight:
            break
    return None if ahead is None else [ahead.interval(one, L1_FACTOR * one) for one in tolerances]


@dataclass(frozen=True, slots=True, eq=False)
class _Ahead:
    """S on a small basis that begins with the error.

    Attributes
    ----------
    matrix
        Shape (m, m): H = V' diag(q) S V.
    misses
        Shape (D, m): the row sums of q times each vector.
    remainder
        Shape (m, m): the Gram matrix of S V - V H.
    size
        The norm of the error, which is the first vector times it.
    spread
        Shape (D,): the root of each row's mass, by which a norm bounds the miss of the row.
    """

    matrix: FloatArray
    misses: FloatArray
    remainder: FloatArray
    size: float
    spread: FloatArray
    blocks: list[slice]
    is_whole: bool

    @classmethod
    def of(cls, sweep: GroupedSweep, linear: LinearSweep, error: FloatArray, size: int) -> _Ahead:
        weights, system = linear.masses, sweep.problem.system
        basis = OrthonormalBasis(sweep.problem, weights)
        norm, _ = basis.append(error)
        images = [linear.sweep(basis.potentials[0])]
        latest = {"sweep": 0, "inverse": 0}  # the vectors that they are made of next
        # in turns: sweeps bring the fast modes into the basis, inverses the slow ones
        turn = "sweep"
        while latest and len(basis.potentials) < size:
            source = latest[turn]
            x = images[source] if turn == "sweep" else sweep.inverse(basis.potentials[source])
            if basis.append(x)[0] > 0.0:
                images.append(linear.sweep(basis.potentials[-1]))
                latest[turn] = len(images) - 1
            else:
                del latest[turn]  # nothing new comes of it
            turn = next((kind for kind in latest if kind != turn), turn)
        z = np.array(basis.profiles)
        remainders = np.empty_like(z)
        matrix = np.zeros((len(z), len(z)))
        for j, image in enumerate(images):
            left = sweep.on_profiles(image)
            for _ in range(2):
                share = z @ (weights * left)
                matrix[:, j] += share
                left -= share @ z
            remainders[j] = left
        misses = np.array([row_sums(system, weights * one) for one in z]).T
        return cls(
            matrix,
            misses,
            (remainders * weights) @ remainders.T,
            norm,
            np.sqrt(linear.sums),
            [system.block(k) for k in range(len(system.index))],
            not latest,
        )

    def interval(self, tolerance: float, tolerance_l1: float) -> Interval:
        """Return the first sweep at which the residual is met, by the basis and at either end of the bound."""
        powers = [self.matrix]
        lower, sweeps, upper = (self._first(sign, powers, tolerance, tolerance_l1) for sign in (-1.0, 0.0, 1.0))
        return Interval(sweeps, lower, upper)

    def _first(self, sign: float, powers: list[FloatArray], tolerance: float, tolerance_l1: float) -> float:
        """Return the first sweep at which both tolerances are met; inf where no run makes so many.

        Sweeps are examined in stretches of equal leaps. Powers of H to 2^k are added as they are needed. Over a leap
        the remainder changes almost nothing.
        """
        coefficients, missed, n = self.size * np.eye(len(self.matrix))[0], 0.0, 0
        if self._first_met(coefficients[:, None], np.zeros(1), tolerance, tolerance_l1) is not None:
            return 0.0
        most = 60  # leaps of at most 2^most sweeps
        while n <= _FURTHEST:
            # leaps of 2^k, 1/512 to 1/256 of the sweeps so far
            k = min(most, 0 if n < _STEPWISE else n.bit_length() - 9)
            while len(powers) <= k:
                powers.append(powers[-1] @ powers[-1])
            ahead = np.empty((len(coefficients), _STRETCH + 1))
            ahead[:, 0] = coefficients
            for column in range(_STRETCH):
                ahead[:, column + 1] = powers[k] @ ahead[:, column]
            left = self.remainders_of(ahead)
            ends = left[:-1] if k == 0 else np.maximum(left[:-1], left[1:])
            # notes/forecasts.md, equation 2; over a leap the larger end, for the remainder changes slowly
            misses = missed + np.cumsum((1 << k) * ends)
            met = self._first_met(ahead[:, 1:], sign * misses, tolerance, tolerance_l1)
            if met is not None and k == 0:
                return float(n + met + 1)
            made = _STRETCH if met is None else met
            # met within this stretch: the leap that met it is made again in smaller ones
            most = most if met is None else k - 1
            if made > 0:
                coefficients, missed, n = ahead[:, made], float(misses[made - 1]), n + (made << k)
        return math.inf

    def _first_met(self, columns: FloatArray, missed: FloatArray, tolerance: float, tolerance_l1: float) -> int | None:
        """Return the first column at which both tolerances are met, each a norm `missed` away from it; None without.

        A few rows, the worst ones at the end, rule nearly all columns out.
        """
        at_end = np.abs(self.misses @ columns[:, -1]) + missed[-1] * self.spread
        worst = np.argpartition(at_end, -_WORST)[-_WORST:] if len(at_end) > _WORST else np.arange(len(at_end))
        largest = (np.abs(self.misses[worst] @ columns) + missed * self.spread[worst, None]).max(axis=0)
        for column in np.flatnonzero(largest <= tolerance):
            rows = np.abs(self.misses @ columns[:, column])
            # a row of mass q_r misses at most sqrt(q_r) times the norm (Cauchy's inequality)
            if (rows + missed[column] * self.spread).max() > tolerance:
                continue
            if max(float(rows[block].sum()) for block in self.blocks) + missed[column] <= tolerance_l1:
                return int(column)
        return None

    def remainders_of(self, columns: FloatArray) -> FloatArray:
        """Return the norm of what one more sweep of each combination has outside of the basis."""
        return np.asarray(np.sqrt(np.maximum(0.0, (columns * (self.remainder @ columns)).sum(axis=0))))


@dataclass(frozen=True, slots=True)
class SweepsLeft:
    """The likely number of sweeps, its ends, and how many steps Newton's method took instead.

    The sweeps are NaN where the answer is too far away, or its equations too large.
    """

    sweeps: float
    lower: float
    upper: float
    newton_steps: int

    @property
    def is_known(self) -> bool:
        """Whether there is a number of sweeps."""
        return not math.isnan(self.sweeps)


def sweeps_left_by_answer(problem: Problem, potentials: FloatArray, tolerance: float) -> SweepsLeft | None:
    """Return how many plain sweeps meet the tolerance from these potentials (notes/forecasts.md).

    None where Newton's method finds no answer, as where there is none inside.
    """
    found = run(problem, Newton(), Stopping(_EXACT, "residual", _MOST_STEPS, math.inf), start=potentials)
    # also where it is NaN; Newton may stop at rounding above its own tolerance
    if not found.residual.largest <= 100.0 * _EXACT:
        return None
    near = run(problem, IPF(), Stopping(tolerance, "residual", _REAL_SWEEPS, math.inf), start=potentials)
    if near.termination.converged:
        made = float(near.iterations)
        return SweepsLeft(made, made, made, found.iterations)
    ends = _linear(problem, near.iterate.potentials - found.iterate.potentials, found.iterate.masses, tolerance)
    return SweepsLeft(*ends, found.iterations)


def _linear(problem: Problem, error: FloatArray, masses: FloatArray, tolerance: float) -> tuple[float, float, float]:
    """Return the likely number of sweeps and its range from the sweep at the answer; NaN if it gives no forecast."""
    nothing = math.nan, 0.0, math.inf
    sweep = GroupedSweep.at(problem, masses)
    if sweep is None:
        return nothing
    distance = float(np.abs(sweep.on_profiles(error)).max())
    if distance > _FAR:
        return nothing
    # the second tolerance tells how many sweeps divide the error by e, the unit of what linearising misses
    intervals = linear_sweeps_left(sweep, error, (tolerance, tolerance / math.e))
    if intervals is None:
        return nothing
    linear, further = intervals
    rest = _NONLINEAR * distance * (further.sweeps - linear.sweeps)
    return (
        _REAL_SWEEPS + linear.sweeps,
        _REAL_SWEEPS + max(0.0, float(np.floor(linear.lower - rest))),
        _REAL_SWEEPS + float(np.ceil(linear.upper + rest)),
    )
