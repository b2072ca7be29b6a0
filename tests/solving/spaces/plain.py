"""The plain numpy space: the readable definition that the spaces of the package are tested against.

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
from purtensor.solving.basis import heaviest_basis
from purtensor.solving.iterate import Budget, Record, Residual, Step
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.space import NEGLIGIBLE, Direction, Sums
from purtensor.solving.stopping import away_from_total, has_emptied
from tests.solving.spaces.plain_terms import exponential_excess, gap_terms, relative_excess

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
    """See `Change`; `missed` is what p + moves misses."""

    point: PlainPoint
    potentials: FloatArray
    moves: FloatArray
    solve: Callable[[FloatArray], FloatArray]
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
        # a unit diagonal takes out the range of the masses, so that one ridge fits all
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

    def scale_point(self, point: PlainPoint) -> tuple[PlainPoint, float]:
        return self.rebuild(point)[0], 0.0

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
            # after a step the total is that of the targets, so the dual gains its linear part alone
            gain = float(self.problem.targets @ (potentials - before)) / self.total
            records.append(Record(len(records) + 1, residual.largest, residual.l1, gain, self.dual(point)))
            if residual.largest <= budget.residual and residual.l1 <= budget.residual_l1:
                break
        return Step(point, len(records), records, judged=True)

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
        solve = self.solver(self._weights(point, floor))
        return self._changed(point, solve(self.problem.targets - point.sums), solve)

    def refine(self, change: PlainChange) -> PlainChange:
        return self._changed(change.point, change.potentials + change.solve(change.missed), change.solve)

    def sums(self, point: PlainPoint, change: PlainChange) -> Sums | None:
        basis = heaviest_basis(self.problem, point.masses)
        if basis is None:
            return None
        p, c = point.masses, change.moves
        rest = basis.sizes(np.abs(change.missed) * (1.0 + 2.0**-50))
        own = self.on_profiles(np.abs(point.potentials))
        rounding = 2.0**-53 * (5.0 + (self.constraints - 1) * own)
        # phi and the gap are convex: their largest value lies at an end of what e may be
        v, ends = self.on_profiles(change.potentials), [np.maximum((c - rest) / p, -1.0), (c + rest) / p]
        with np.errstate(divide="ignore"):  # where a profile is emptied
            divergence = p @ np.max([relative_excess(w) for w in ends], axis=0)
            gap = p @ np.max([gap_terms(w, v, rounding) for w in ends], axis=0)
        # the change of the total is no distance: p is compared when scaled by it
        distance = 0.5 * float(np.abs(c - c.sum() / p.sum() * p).sum()) + float(rest.sum())
        feasible = bool((p + c >= rest).all()) and change.left <= NEGLIGIBLE * self.total
        upward = (1.0 + 1e-8) / self.total
        return Sums(
            float(divergence) * upward,
            float(gap) * upward,
            distance * upward,
            float(rest.sum()) * upward,
            float(rounding.max()),
            feasible,
            bool(p.all()),
        )

    def _changed(self, point: PlainPoint, found: FloatArray, solve: Callable[[FloatArray], FloatArray]) -> PlainChange:
        # never below -p: a mass of p^ may come to 0, but not below
        targets, moves = self.problem.targets, np.maximum(point.masses * self.on_profiles(found), -point.masses)
        missed = self._misses_rounded_once(point.masses, moves)
        uneven = math.sqrt((missed**2 / np.maximum(targets, np.abs(missed))).sum())
        left = max(float(np.abs(missed[self._rows(k)]).sum()) for k in range(self.constraints))
        return PlainChange(point, found, moves, solve, missed, left, uneven)

    def _misses_rounded_once(self, masses: FloatArray, moves: FloatArray) -> FloatArray:
        """Return b - C (masses + moves), each sum rounded once."""
        # fsum rounds once, where numpy's sums would lose what is to be measured
        terms = [[target] for target in self.problem.targets.tolist()]
        for k, row in enumerate(self.problem.index):
            for r, mass, move in zip(
                (row + self._rows(k).start).tolist(), masses.tolist(), moves.tolist(), strict=True
            ):
                terms[r] += (-mass, -move)
        return np.array([math.fsum(one) for one in terms])

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
