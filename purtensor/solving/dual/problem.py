"""The problem that the dual solver sees: cells and slacks as columns, every row an equality."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.solving.dual.columns.composite import CompositeColumns
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.columns.kind import ColumnKind
from purtensor.solving.dual.columns.squares import LinearCostColumns, SquareColumns
from purtensor.solving.dual.matrix import (
    Coefficients,
    ExplicitMatrix,
    Matrix,
    Solve,
    densify_if_full,
    scale_rows,
    sizes_of_rows,
)

_DOUBT = 1e-9
"""A refutation by less than this share of its terms is left to a proof in fractions that is searched for later."""


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """H = C diag(weights) C^T + diag(diagonal), of Newton's equations H d = r; written out only to be factored."""

    matrix: Matrix
    weights: FloatArray
    diagonal: FloatArray

    def solver(self) -> Solve:
        """Factor H and return what solves; `numpy.linalg.LinAlgError` where that fails."""
        return self.matrix.solver(self.weights, self.diagonal)


@dataclass(frozen=True, slots=True, eq=False)
class RowCosts:
    """The conditions on the rows: lower <= C x <= upper, and the cost of violations.

    All arrays have one entry a row.

    Attributes
    ----------
    coefficients
        C, shape (rows, cells), dense or sparse.
    lower, upper
        The interval that costs nothing; equal for a target.
    absolute
        The cost per unit of a miss; infinite where it is forbidden (or costs by `variance` alone).
    variance
        A miss r costs r^2 / (2 variance); 0 where it does not. With a finite `absolute` beside it the two make Huber's
        penalty, quadratic up to absolute * variance.
    divergence
        The row pays divergence * KL(C x || upper); NaN where it does not.
    """

    coefficients: Coefficients
    lower: FloatArray
    upper: FloatArray
    absolute: FloatArray
    variance: FloatArray
    divergence: FloatArray

    def scale(self, by: FloatArray) -> RowCosts:
        """Return the same question of rows times positive numbers."""
        return RowCosts(
            scale_rows(self.coefficients, by),
            self.lower * by,
            self.upper * by,
            self.absolute / by,
            self.variance * by**2,
            # KL of a row scaled by s is s times that of the row
            self.divergence / by,
        )


@dataclass(frozen=True, eq=False)  # no slots: what is computed on demand lives in the instance's dict
class DualProblem:
    """Minimise the sum of h_j(x_j) over x with A x = targets, A = [C | S], S of one nonzero a column.

    Attributes
    ----------
    matrix
        C on the cells, rows scaled to a largest coefficient of 1.
    row_scales
        What the rows were multiplied by.
    slack_rows, slack_signs
        For each slack column the row that it stands in, and its coefficient, 1 or -1.
    targets
        Right-hand sides of the scaled rows.
    columns
        The cells, then the slacks.
    mass
        What misses are measured by: the total mass.
    """

    matrix: Matrix
    row_scales: FloatArray
    slack_rows: IntArray
    slack_signs: FloatArray
    targets: FloatArray
    columns: CompositeColumns
    mass: float

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.targets)

    @property
    def cells(self) -> int:
        """The number of cells, which are the first columns."""
        return self.matrix.shape[1]

    def times(self, x: FloatArray) -> FloatArray:
        """Return A x."""
        slacks = np.bincount(self.slack_rows, self.slack_signs * x[self.cells :], self.rows)
        return self.matrix.times(x[: self.cells]) + slacks

    def size_times(self, x: FloatArray) -> FloatArray:
        """Return |A| |x|."""
        slacks = np.bincount(self.slack_rows, np.abs(x[self.cells :]), self.rows)
        return self.matrix.size_times(np.abs(x[: self.cells])) + slacks

    def back(self, y: FloatArray) -> FloatArray:
        """Return A^T y."""
        return np.concatenate([self.matrix.back(y), self.slack_signs * y[self.slack_rows]])

    def equations(self, weights: FloatArray, softening: float = 0.0) -> Equations:
        """Return A diag(weights) A^T + softening times the identity."""
        diagonal = np.bincount(self.slack_rows, weights[self.cells :], self.rows).astype(np.float64, copy=False)
        return Equations(self.matrix, weights[: self.cells], diagonal + softening)

    def net(self, slacks: FloatArray) -> FloatArray:
        """Return slacks of linear cost of which a row is missed to one side only, by as much as before."""
        linear = self.columns.linear
        if linear is None:
            return slacks
        # slacks of absolute penalties, not of intervals, whose cost is 0
        misses = np.flatnonzero(np.isinf(linear.upper) & (linear.lower == 0.0) & (linear.cost > 0.0))
        half = len(misses) // 2  # what a row lacks, then what it has too much
        short, over = misses[:half], misses[half:]
        both = np.minimum(slacks[short], slacks[over])
        netted = slacks.copy()
        netted[short] -= both
        netted[over] -= both
        return netted

    def slacks_inside(self, x: FloatArray, z: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Return which slacks of linear cost are inside of their intervals, and which are at a bound.

        A slack belongs to its bound where that costs less than to put its potential at its cost.
        """
        own, linear = self.columns.linear_slice, self.columns.linear
        if linear is None:
            nothing = np.zeros(0, dtype=bool)
            return nothing, nothing
        # the slope of the slack's own terms in the dual: positive pushes to the upper bound
        push = z[own] - linear.cost
        bound = np.where(push > 0.0, linear.upper, linear.lower)
        held = np.abs(x[own] - bound) < np.abs(push) * self.mass
        return ~held & (linear.lower < linear.upper), held

    @cached_property
    def _unlimited(self) -> IntArray:
        """The rows with a slack that has no bound: they can be met whatever the cells are."""
        slacks = slice(self.cells, None)
        free = np.isinf(self.columns.lower[slacks]) & np.isinf(self.columns.upper[slacks])
        both = np.bincount(self.slack_rows, np.isinf(self.columns.upper[slacks]), self.rows) > 1  # a penalty each way
        return np.flatnonzero((np.bincount(self.slack_rows, free, self.rows) > 0) | both)

    def is_refuted_by(self, y: FloatArray, z: FloatArray | None = None) -> bool:
        """Return whether y shows that no columns within their bounds meet the rows, beyond all doubt of rounding.

        It does where y.b is more than y.A x can be (notes/one_dual.md, 16). Cells without an upper bound hardly let it.
        `z` is A^T y, where it is known.
        """
        if not np.isfinite(self.columns.upper[: self.cells]).all():
            return False
        put, low, high = y, self.columns.lower, self.columns.upper
        if len(self._unlimited):
            put, z = y.copy(), None
            # such a row can be met whatever the cells are, so it can refute nothing
            put[self._unlimited] = 0.0
        z = self.back(put) if z is None else z
        with np.errstate(invalid="ignore"):
            # 0 times an infinite bound is 0 here, not NaN
            most = np.where(z == 0.0, 0.0, np.where(z > 0.0, high, low) * z)
        needed = put * self.targets
        return bool(needed.sum() - most.sum() > _DOUBT * (np.abs(needed).sum() + np.abs(most).sum()))

    def with_columns(self, columns: CompositeColumns) -> DualProblem:
        """Return the same rows over other costs."""
        return replace(self, columns=columns)


def dual_problem(cells: ColumnKind, asked: RowCosts, mass: float, matrix: Matrix | None = None) -> DualProblem:
    """Return the problem of these cells and rows: what may be missed becomes slack columns (notes/one_dual.md, 2).

    `matrix` is another form of the coefficients, where their largest are 1 already.
    """
    largest = sizes_of_rows(asked.coefficients)
    # users do not scale rows: with the largest coefficient 1 misses of all rows mean the same
    scales = 1.0 / np.where(largest > 0.0, largest, 1.0)
    rows = asked.scale(scales)
    held = ~np.isnan(rows.divergence)
    # an interval's slack counts from the point nearest to 0, a kl row's from 0: there the slack is the row's sum
    base = np.where(rows.lower == rows.upper, rows.lower, np.clip(0.0, rows.lower, rows.upper))
    base = np.where(held, 0.0, base)
    blocks: list[ColumnKind] = [cells]
    places: list[IntArray] = []
    signs: list[FloatArray] = []

    def add(where: BoolArray, sign: float) -> IntArray:
        at = np.flatnonzero(where)
        places.append(at)
        signs.append(np.full(len(at), sign))
        return at

    # a kl row of target 0 has no slack: it must be 0
    at = add(held & (rows.upper > 0.0), -1.0)
    if len(at):
        zero, infinite = np.zeros(len(at)), np.full(len(at), np.inf)
        blocks.append(EntropyColumns(rows.upper[at], rows.divergence[at], zero, infinite))
    at = add(rows.variance > 0.0, -1.0)
    if len(at):
        infinite = np.full(len(at), np.inf)
        blocks.append(SquareColumns(np.zeros(len(at)), rows.variance[at], -infinite, infinite))
    interval = add((rows.lower < rows.upper) & ~held, -1.0)
    # in this order, on which `DualProblem.net` relies
    short, over = add(np.isfinite(rows.absolute), 1.0), add(np.isfinite(rows.absolute), -1.0)
    if len(interval) + len(short):
        nothing = np.zeros(len(interval))
        zeros, infinite = np.zeros(2 * len(short)), np.full(2 * len(short), np.inf)
        blocks.append(
            LinearCostColumns(
                np.concatenate([nothing, rows.absolute[short], rows.absolute[over]]),
                np.concatenate([(rows.lower - base)[interval], zeros]),
                np.concatenate([(rows.upper - base)[interval], infinite]),
            )
        )
    return DualProblem(
        matrix=ExplicitMatrix(densify_if_full(rows.coefficients)) if matrix is None else matrix,
        row_scales=scales,
        slack_rows=np.concatenate(places),
        slack_signs=np.concatenate(signs),
        targets=base,
        columns=CompositeColumns(blocks),
        mass=mass,
    )
