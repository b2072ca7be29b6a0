"""The plain numpy space: the readable definition that every other space is tested against.

No kernel, no slab order, no special form: C is an index array for each constraint, and C diag(p) C^T a dense matrix on
independent rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.rank.independence import independent_rows
from purtensor.solving.iterate import Budget, Record, Residual, Step, is_rounding
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.space import Direction, Sums
from purtensor.solving.stopping import away_from_total, has_emptied

_BLOCK = 4096
"""Sums run over blocks of so many profiles first: their error grows with the number of blocks, not of profiles."""

_RIDGE = 1e-14
"""Added to the unit diagonal of the scaled C diag(p) C^T, so that rounding leaves it positive definite."""


@dataclass(slots=True, eq=False)
class PlainPoint:
    """Potentials t, the masses p = reference * exp(C^T t), and their row sums C p."""

    potentials: FloatArray
    masses: FloatArray
    sums: FloatArray
    memory: object = None


class PlainTrial(NamedTuple):
    """See `Trial`."""

    slope: float
    loss: float
    largest: float
    space: PlainSpace
    potentials: FloatArray

    def point(self) -> PlainPoint:
        """Return the point, made now."""
        return self.space.at(self.potentials)


class PlainChange(NamedTuple):
    """See `Change`; `missed` is what p (1 + w) misses."""

    point: PlainPoint
    potentials: FloatArray
    solve: Callable[[FloatArray], FloatArray]
    scale: float
    missed: FloatArray
    left: float
    uneven: float


@dataclass(slots=True, eq=False)
class PlainSpace:
    """A problem in plain numpy: see `purtensor.solving.spaces.space` for what each method returns."""

    problem: Problem
    _independent: tuple[IntArray, scipy.sparse.csr_array] | None = None

    @property
    def total(self) -> float:
        return self.problem.total

    @property
    def constraints(self) -> int:
        return len(self.problem.index)

    @property
    def newton_note(self) -> str:
        return "dense, in numpy"

    # --- the five primitives

    def row_sums(self, k: int, values: FloatArray) -> FloatArray:
        """Return C_k values, the sums of constraint k."""
        rows, row = self._rows(k), self.problem.index[k]
        count = rows.stop - rows.start
        sums = np.zeros(count)
        for first in range(0, len(values), _BLOCK):
            block = slice(first, first + _BLOCK)
            sums += np.bincount(row[block], values[block], minlength=count)
        return sums

    def all_sums(self, values: FloatArray) -> FloatArray:
        """Return C values, shape (D,)."""
        return np.concatenate([self.row_sums(k, values) for k in range(self.constraints)])

    def on_profiles(self, potentials: FloatArray) -> FloatArray:
        """Return C^T potentials, shape (M,)."""
        return np.asarray(np.sum([potentials[self._rows(k)][row] for k, row in enumerate(self.problem.index)], axis=0))

    def solver(self, weights: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return what solves C diag(weights) C^T x = rhs on independent rows, x being 0 on the others."""
        kept, coefficients = self._independent_coefficients()
        matrix = ((coefficients * weights) @ coefficients.T).toarray()
        scale = 1.0 / np.sqrt(np.diag(matrix))
        factor = scipy.linalg.cho_factor(matrix * scale * scale[:, None] + _RIDGE * np.eye(len(scale)))

        def solve(rhs: FloatArray) -> FloatArray:
            found = np.zeros(self.problem.system.rows)
            found[kept] = scale * scipy.linalg.cho_solve(factor, scale * rhs[kept])
            return found

        return solve

    def at(self, potentials: FloatArray) -> PlainPoint:
        """Return the point at these potentials."""
        masses = self.problem.reference * np.exp(self.on_profiles(potentials))
        return PlainPoint(potentials, masses, self.all_sums(masses))

    # --- points

    def start(self) -> PlainPoint:
        return self.at(self._shifted(np.zeros(self.problem.system.rows), float(self.problem.reference.sum())))

    def residual(self, point: PlainPoint) -> Residual:
        largest, l1 = self._misses(point.sums)
        return Residual(largest / self.total, l1 / self.total)

    def dual(self, point: PlainPoint) -> float:
        linear = float(self.problem.targets @ point.potentials) / self.total
        return linear - math.log(point.masses.sum() / self.problem.reference.sum())

    def mass(self, point: PlainPoint) -> float:
        return float(point.masses.sum())

    def rebuild(self, point: PlainPoint, *, quickly: bool = False) -> tuple[PlainPoint, bool]:
        if not away_from_total(self.mass(point), self.total):
            return self.at(point.potentials), False
        return self.at(self._shifted(point.potentials, self.mass(point))), True

    def has_emptied(self, point: PlainPoint, residual_l1: float) -> bool:
        reference = self.problem.reference
        return has_emptied(point.masses, reference, (self.total, float(reference.sum())), residual_l1)

    def emptying_gain(self) -> float:
        return 0.0

    def first_chunk(self) -> int:
        return 64

    def keep(self, state: object) -> None:
        """Do nothing: a run in memory is not resumed."""

    # --- moves

    def sweep(self, point: PlainPoint, order: tuple[int, ...] | None, budget: Budget) -> Step[PlainPoint]:
        potentials, records = point.potentials, list[Record]()
        while len(records) < budget.iterations:
            before, point = potentials, self._sweep_once(potentials, order)
            potentials, residual = point.potentials, self.residual(point)
            gain = float(self.problem.targets @ (potentials - before)) / self.total
            records.append(Record(len(records) + 1, residual.largest, residual.l1, gain, self.dual(point)))
            if residual.largest <= budget.residual and residual.l1 <= budget.residual_l1:
                break
        stalled = is_rounding(records[-1].kl_step, self.constraints)
        return Step(point, len(records), records, stalled=stalled, judged=True)

    def warm_up(self, point: PlainPoint, order: tuple[int, ...] | None, sweeps: int) -> tuple[PlainPoint, int]:
        return self._sweep_once(point.potentials, order), 1

    def _sweep_once(self, potentials: FloatArray, order: tuple[int, ...] | None) -> PlainPoint:
        """Return the point after one sweep: each step makes one constraint's sums equal to its targets."""
        moved, masses = potentials.copy(), self.at(potentials).masses
        for k in range(self.constraints) if order is None else order:
            factor = self.problem.targets[self._rows(k)] / self.row_sums(k, masses)
            moved[self._rows(k)] += np.log(factor)
            masses = masses * factor[self.problem.index[k]]
        return self.at(moved)

    def direction(self, point: PlainPoint, floor: float) -> Direction:
        miss = self.problem.targets - point.sums
        found = self.solver(self._weights(point, floor))(miss)
        return Direction(found, float(miss @ found))

    def try_step(self, point: PlainPoint, direction: Direction, step: float) -> PlainTrial:
        change = self.on_profiles(direction.potentials)
        loss = float((point.masses * exponential_excess(step * change)).sum())
        reached = point.potentials + step * direction.potentials
        return PlainTrial(direction.slope, loss, float(np.abs(change).max()), self, reached)

    # --- what is proved of a point

    def first_change(self, point: PlainPoint, floor: float) -> PlainChange | None:
        scale = self.total / self.mass(point)
        solve = self.solver(self._weights(point, floor))
        return self._changed(point, solve(self.problem.targets / scale - point.sums), solve, scale)

    def refine(self, change: PlainChange) -> PlainChange:
        found = change.potentials + change.solve(change.missed / change.scale)
        return self._changed(change.point, found, change.solve, change.scale)

    def sums(self, point: PlainPoint, change: PlainChange) -> Sums:
        w, p = self.on_profiles(change.potentials), point.masses / self.mass(point)
        upper, gap = certificate_terms(w)
        return Sums(float(w.min()), float((p * upper).sum()), float((p * gap).sum()), float((p * np.abs(w)).sum()))

    def weight(self, point: PlainPoint) -> float:
        return float((point.masses * self.on_profiles(np.abs(point.potentials))).sum()) / self.mass(point)

    def _changed(
        self, point: PlainPoint, found: FloatArray, solve: Callable[[FloatArray], FloatArray], scale: float
    ) -> PlainChange:
        sums = self.all_sums(scale * point.masses * (1.0 + self.on_profiles(found)))
        targets, missed = self.problem.targets, self.problem.targets - sums
        uneven = math.sqrt((missed**2 / np.maximum(targets, np.abs(missed))).sum())
        return PlainChange(point, found, solve, scale, missed, self._misses(sums)[1], uneven)

    # --- arrays

    def _rows(self, k: int) -> slice:
        return self.problem.system.block(k)

    def _misses(self, sums: FloatArray) -> tuple[float, float]:
        miss = np.abs(self.problem.targets - sums)
        return float(miss.max()), max(float(miss[self._rows(k)].sum()) for k in range(self.constraints))

    def _shifted(self, potentials: FloatArray, mass: float) -> FloatArray:
        """Return the potentials with a constant added that brings this mass to the total."""
        moved = potentials.copy()
        moved[self._rows(0)] += math.log(self.total / mass)
        return moved

    def _weights(self, point: PlainPoint, floor: float) -> FloatArray:
        """Return the masses, raised by a part of an even share of the targets (notes/newton.md, equation 9)."""
        if floor == 0.0:
            return point.masses
        counts = self.all_sums(np.ones_like(point.masses))
        shares = [(self.problem.targets / counts)[self._rows(k)][row] for k, row in enumerate(self.problem.index)]
        return np.asarray(point.masses + floor * np.min(shares, axis=0))

    def _independent_coefficients(self) -> tuple[IntArray, scipy.sparse.csr_array]:
        """Return independent rows and their coefficients, shape (rank, M)."""
        if self._independent is None:
            system, profiles = self.problem.system, len(self.problem.reference)
            kept = np.asarray(independent_rows(system).rows)
            row = np.concatenate([self._rows(k).start + row for k, row in enumerate(self.problem.index)])
            column = np.tile(np.arange(profiles), self.constraints)
            coefficients = scipy.sparse.csr_array((np.ones(len(row)), (row, column)), (system.rows, profiles))
            self._independent = kept, coefficients[kept]
        return self._independent


def exponential_excess(z: FloatArray) -> FloatArray:
    """Return exp(z) - 1 - z, by a series where the difference would cancel."""
    series = z * z * (0.5 + z * (1 / 6 + z * (1 / 24 + z / 120)))
    return np.where(np.abs(z) < 1e-3, series, np.expm1(z) - z)


def certificate_terms(w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return phi(w) = (1 + w) log(1 + w) - w and phi(w) - w - w^2 + exp(w) - 1, by series where w is small."""
    square = w * w
    small = np.abs(w) < 1e-2
    with np.errstate(all="ignore"):  # below -1 nothing is proved
        upper = (1 + w) * np.log1p(w) - w
        upper = np.where(w == -1.0, 1.0, upper)
        series = square * (0.5 - w / 6 + square / 12 - square * w / 20 + square * square / 30)
        upper = np.where(small, series, upper)
        series = square * square * (1 / 8 - w / 24 + 5 * square / 144 - square * w * (1 / 42 - 1 / 5040))
        gap = np.where(small, series, upper - w - square + np.expm1(w))
    return upper, gap
