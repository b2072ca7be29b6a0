"""The plain numpy space: the definition that every other space is tested against."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse

from purtensor._typing import FloatArray
from purtensor.solving.iterate import Budget, Record, Residual, Step
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.space import Sums
from purtensor.solving.stopping import away_from_total, has_emptied, is_rounding_of

_BLOCK = 4096


def excess(z: FloatArray) -> FloatArray:
    """Return exp(z) - 1 - z without cancellation."""
    series = z * z * (0.5 + z * (1 / 6 + z * (1 / 24 + z / 120)))
    return np.where(np.abs(z) < 1e-3, series, np.expm1(z) - z)


@dataclass(slots=True, eq=False)
class PlainPoint:
    """Potentials, what they make, and what it sums to."""

    potentials: FloatArray
    masses: FloatArray
    sums: FloatArray
    memory: Any = None


class PlainAhead(NamedTuple):
    slope: float
    loss: float
    largest: float
    space: PlainSpace
    potentials: FloatArray

    def point(self) -> PlainPoint:
        return self.space.at(self.potentials)


class PlainDirection(NamedTuple):
    potentials: FloatArray
    slope: float


class PlainChange(NamedTuple):
    point: PlainPoint
    potentials: FloatArray
    solve: Any
    scale: float
    missed: FloatArray
    left: float
    uneven: float


@dataclass(slots=True, eq=False)
class PlainSpace:
    """A problem in plain numpy: C as an index array, C diag(p) C^T dense on independent rows."""

    problem: Problem
    rows: Any = None
    sweeps_at_once: bool = True
    newton_note: str = "dense, in numpy"
    _blocks: list[slice] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._blocks = [self.problem.system.block(k) for k in range(self.constraints)]

    @property
    def total(self) -> float:
        return self.problem.total

    @property
    def constraints(self) -> int:
        return len(self.problem.index)

    # --- the primitives
    def row_sums(self, k: int, values: FloatArray) -> FloatArray:
        """Return C_k values: summed in blocks, so that errors grow like the number of blocks."""
        count, row = self._blocks[k].stop - self._blocks[k].start, self.problem.index[k]
        if len(values) <= _BLOCK:
            return np.bincount(row, values, minlength=count)
        parts = [
            np.bincount(row[i : i + _BLOCK], values[i : i + _BLOCK], minlength=count)
            for i in range(0, len(values), _BLOCK)
        ]
        return np.sum(parts, axis=0)

    def on_profiles(self, k: int, values: FloatArray) -> FloatArray:
        """Return C_k^T values, in a shape that broadcasts against masses."""
        return values[self.problem.index[k]]

    def tally(self, values: FloatArray) -> FloatArray:
        """Return C values."""
        return np.concatenate([self.row_sums(k, values) for k in range(self.constraints)])

    def spread(self, t: FloatArray) -> FloatArray:
        """Return C^T t."""
        out = np.zeros(self.shape)
        for k, block in enumerate(self._blocks):
            out += self.on_profiles(k, t[block])
        return out

    @property
    def reference(self) -> FloatArray:
        return self.problem.reference

    @property
    def shape(self) -> tuple[int, ...]:
        return self.reference.shape

    def solver(self, weights: FloatArray) -> Any:
        """Return what solves C_i diag(weights) C_i^T x = rhs over independent rows."""
        if self.rows is None:
            from purtensor.constraints.rank.independence import independent_rows

            problem = self.problem
            keep = np.asarray(independent_rows(problem.system).rows)
            row = np.concatenate([b.start + r for b, r in zip(self._blocks, problem.index, strict=True)])
            column = np.tile(np.arange(len(weights)), self.constraints)
            ones = scipy.sparse.csr_array((np.ones(len(row)), (row, column)), (problem.system.rows, len(weights)))
            self.rows = keep, ones[keep]
        keep, own = self.rows
        matrix = ((own * weights) @ own.T).toarray()
        scale = 1 / np.sqrt(np.diag(matrix))
        factor = scipy.linalg.cho_factor(matrix * scale * scale[:, None] + 1e-14 * np.eye(len(scale)))

        def solve(rhs: FloatArray) -> FloatArray:
            out = np.zeros(self.problem.system.rows)
            out[keep] = scale * scipy.linalg.cho_solve(factor, scale * rhs[keep])
            return out

        return solve

    # --- points
    def at(self, potentials: FloatArray) -> PlainPoint:
        masses = self.reference * np.exp(self.spread(potentials))
        return PlainPoint(potentials, masses, self.tally(masses))

    def start(self) -> PlainPoint:
        t = np.zeros(self.problem.system.rows)
        t[self._blocks[0]] = math.log(self.total / self.reference.sum())
        return self.at(t)

    def _residual(self, sums: FloatArray) -> tuple[float, float]:
        miss = np.abs(self.problem.targets - sums)
        return float(miss.max()), max(float(miss[block].sum()) for block in self._blocks)

    def residual(self, point: PlainPoint) -> Residual:
        largest, l1 = self._residual(point.sums)
        return Residual(largest / self.total, l1 / self.total)

    def dual(self, point: PlainPoint) -> float:
        linear = float(self.problem.targets @ point.potentials) / self.total
        return linear - math.log(point.masses.sum() / self.reference.sum())

    def mass(self, point: PlainPoint) -> float:
        return float(point.masses.sum())

    def scaled(self, point: PlainPoint, *, quickly: bool = False) -> PlainPoint:
        t = point.potentials.copy()
        if away_from_total(self.mass(point), self.total):
            t[self._blocks[0]] += math.log(self.total / self.mass(point))
            return self.at(t)
        return self.at(point.potentials)

    def was_scaled(self, point: PlainPoint, made: PlainPoint) -> bool:
        return made.potentials is not point.potentials

    # --- moves
    def sweep(self, point: PlainPoint, order: tuple[int, ...] | None, budget: Budget) -> Step:
        t, masses, records, n = point.potentials.copy(), point.masses.copy(), [], 0
        while n < budget.iterations:
            before = t.copy()
            for k in order or range(self.constraints):
                block = self._blocks[k]
                factor = self.problem.targets[block] / self.row_sums(k, masses)
                t[block] += np.log(factor)
                masses *= self.on_profiles(k, factor)
            n += 1
            sums = self.tally(masses)
            largest, l1 = self._residual(sums)
            dual = self.dual(PlainPoint(t, masses, sums))
            gain = float(self.problem.targets @ (t - before)) / self.total
            records.append(Record(n, largest / self.total, l1 / self.total, gain, dual))
            if largest / self.total <= budget.residual and l1 / self.total <= budget.residual_l1:
                break
        return Step(self.at(t), n, records, stalled=is_rounding_of(self, records[-1].kl_step), judged=True)

    def warm_up(self, point: PlainPoint, order: tuple[int, ...] | None, sweeps: int) -> tuple[PlainPoint, int]:
        return self.sweep(point, order, Budget(sweeps, -1.0, -1.0)).iterate, sweeps

    def direction(self, point: PlainPoint, floor: float) -> PlainDirection:
        miss = self.problem.targets - point.sums
        found = self.solver(self._weights(point, floor))(miss)
        return PlainDirection(found, float(miss @ found))

    def ahead(self, point: PlainPoint, direction: PlainDirection, step: float) -> PlainAhead:
        change = self.spread(direction.potentials)
        loss = float((point.masses * excess(step * change)).sum())
        return PlainAhead(
            direction.slope, loss, float(np.abs(change).max()), self, point.potentials + step * direction.potentials
        )

    # --- what is proved
    def first_change(self, point: PlainPoint, floor: float) -> PlainChange:
        scale = self.total / self.mass(point)
        solve = self.solver(self._weights(point, floor))
        return self._changed(point, solve(self.problem.targets / scale - point.sums), solve, scale)

    def refined(self, change: PlainChange) -> PlainChange:
        found = change.potentials + change.solve(change.missed / change.scale)
        return self._changed(change.point, found, change.solve, change.scale)

    def _changed(self, point: PlainPoint, found: FloatArray, solve: Any, scale: float) -> PlainChange:
        sums = self.tally(scale * point.masses * (1 + self.spread(found)))
        missed = self.problem.targets - sums
        uneven = math.sqrt((missed**2 / np.maximum(self.problem.targets, np.abs(missed))).sum())
        return PlainChange(point, found, solve, scale, missed, self._residual(sums)[1], uneven)

    def sums(self, point: PlainPoint, change: PlainChange) -> Sums:
        w, p = self.spread(change.potentials), point.masses / self.mass(point)
        with np.errstate(all="ignore"):
            small, s = np.abs(w) < 1e-2, w * w
            phi = np.where(small, s * (0.5 - w / 6 + s / 12 - s * w / 20 + s * s / 30), (1 + w) * np.log1p(w) - w)
            phi = np.where(w == -1.0, 1.0, phi)
            gap = np.where(small, s * s / 8, phi - w - s + np.expm1(w))
        return Sums(float(w.min()), float((p * phi).sum()), float((p * gap).sum()), float((p * np.abs(w)).sum()))

    def weight(self, point: PlainPoint) -> float:
        return float((point.masses * self.spread(np.abs(point.potentials))).sum()) / self.mass(point)

    def _weights(self, point: PlainPoint, floor: float) -> FloatArray:
        return point.masses + floor * self._shares() if floor else point.masses

    def _shares(self) -> FloatArray:
        counts, out = self.tally(np.ones(self.shape)), np.full(self.shape, np.inf)
        for k, block in enumerate(self._blocks):
            out = np.minimum(out, self.on_profiles(k, self.problem.targets[block] / np.maximum(counts[block], 1)))
        return out

    def has_emptied(self, point: PlainPoint, residual_l1: float) -> bool:
        totals = self.total, float(self.reference.sum())
        return has_emptied(point.masses, self.reference, totals, residual_l1)

    def emptying(self) -> float:
        return 0.0

    def chunk(self) -> int:
        return 64

    def keep(self, state: Any) -> None:
        pass


@dataclass(slots=True, eq=False)
class ProductSpace(PlainSpace):
    """A dense table: sums over axes, no codes; what is proved is solved for by linear sweeps."""

    table: Any = None
    axes: tuple[tuple[int, ...], ...] = ()
    newton_note: str = "linear sweeps on a product support"

    @property
    def reference(self) -> FloatArray:
        return self.table

    def row_sums(self, k: int, values: FloatArray) -> FloatArray:
        away = tuple(a for a in range(values.ndim) if a not in self.axes[k])
        return values.sum(axis=away).reshape(-1)

    def on_profiles(self, k: int, values: FloatArray) -> FloatArray:
        return values.reshape([n if a in self.axes[k] else 1 for a, n in enumerate(self.shape)])

    def solver(self, weights: FloatArray) -> Any:
        sums = self.tally(weights)

        def solve(rhs: FloatArray) -> FloatArray:
            x, w = np.zeros_like(rhs), np.zeros(self.shape)
            for _ in range(10):
                for k, block in enumerate(self._blocks):
                    d = (rhs[block] - self.row_sums(k, weights * w)) / sums[block]
                    x[block] += d
                    w += self.on_profiles(k, d)
            return x

        return solve
