"""Sweeps of iterative proportional fitting over a dense two-way table, as optimal transport has it.

The masses are u base v: a sweep fits the factors u of the rows and then v of the columns, and reads the base once. The
base takes the factors in where they become large, which keeps all numbers within the range of float64 however far apart
the masses of the reference are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from purtensor._threads import Chunk, chunks_of, for_each_chunk, sum_chunks
from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.system import System
from purtensor.kernels.elementary import divergence_gain
from purtensor.kernels.ipf.sweep_records import Goal
from purtensor.kernels.ipf.two_way_sweeps import fit_rows_of_base, row_sums
from purtensor.kernels.simd import WIDTH
from purtensor.solving.chunked import rebuild
from purtensor.solving.iterate import log_factors
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.log_domain_sweeps import spans_the_range
from purtensor.solving.solvers.ipf.sweeper import Sweeper, SweepResidual

SMALLEST = 1 << 12
"""Smaller tables are swept as quickly without a layout."""

CELLS_PER_CHUNK = 1 << 18
_LOWEST_FILL = 0.5
_SECONDS_PER_CELL = 3e-10

LARGEST_FACTOR = 2.0**300
"""The base takes factors in beyond this, or below its inverse."""

_NOWHERE: IntArray = np.empty(0, dtype=np.int64)
_LOWEST_COLUMN = 2.0**-300
"""If all cells of a column are smaller than this, relative to the largest of their rows, logarithms are needed."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoWay:
    """A dense table of two constraints' rows.

    Attributes
    ----------
    rows, columns
        Where the rows of the constraint that comes first in a sweep, and those of the other, lie among all rows.
    shape
        The rows, and the columns with those that pad them.
    place
        Shape (M,): the cell of each profile.
    chunks
        Ranges of rows that threads share.
    """

    rows: slice
    columns: slice
    shape: tuple[int, int]
    place: IntArray
    chunks: tuple[Chunk, ...]

    def is_filled_by(self, profiles: int) -> bool:
        """Return whether so many profiles pay: cells without one cost as much as others."""
        return profiles >= _LOWEST_FILL * self.shape[0] * self.shape[1]

    @property
    def sweep_arithmetic(self) -> float:
        """The estimated seconds of a sweep's arithmetic."""
        return _SECONDS_PER_CELL * self.shape[0] * self.shape[1]


def two_way_of(problem: Problem, order: tuple[int, ...]) -> TwoWay | None:
    """Return the layout for sweeps in this order, None where there is none; kept while the system lives.

    Needed are two constraints of which most pairs of rows have a profile, and none has two.
    """
    if len(problem.index) != 2 or len(problem.reference) < SMALLEST:
        return None
    return problem.system.remember(("layout", "two-way", order), lambda: _build(problem, order))


def layout_of(system: System, order: tuple[int, ...]) -> TwoWay:
    """Return the layout of a table of all pairs of rows of two constraints."""
    rows, columns = (system.block(k) for k in order)
    count, width = rows.stop - rows.start, -(-(columns.stop - columns.start) // WIDTH) * WIDTH
    return TwoWay(rows, columns, (count, width), _NOWHERE, chunks_of(count, max(1, CELLS_PER_CHUNK // width)))


def _build(problem: Problem, order: tuple[int, ...]) -> TwoWay | None:
    layout = layout_of(problem.system, order)
    (count, width), profiles = layout.shape, len(problem.reference)
    if not layout.is_filled_by(profiles):
        return None
    place = problem.index[order[0]].astype(np.int64) * width + problem.index[order[1]]
    taken = np.zeros(count * width, dtype=bool)
    taken[place] = True
    # two profiles would share a cell
    if np.count_nonzero(taken) < profiles:
        return None
    return replace(layout, place=place)


@dataclass(slots=True, eq=False)
class TwoWaySweeps(Sweeper):
    """Sweeps over a two-way layout: the state between two calls.

    Attributes
    ----------
    t
        The potentials that the base has taken in.
    base
        Shape (rows, columns): reference * exp(C^T t), 0 where there is no profile.
    u, v
        The factors of rows and columns, 0 in those that pad them; of the sweep before, u_before and v_before.
    sums
        What the base times u sums to in the columns.
    """

    problem: Problem
    layout: TwoWay
    t: FloatArray
    base: FloatArray
    u: FloatArray
    v: FloatArray
    start: float
    done: int = 0
    witness: int = 0
    u_before: FloatArray = field(init=False)
    v_before: FloatArray = field(init=False)
    sums: FloatArray = field(init=False)

    @classmethod
    def at(cls, problem: Problem, layout: TwoWay, potentials: FloatArray) -> Self | None:
        """Return the sweeps that start at the given potentials; None where only logarithms are precise enough."""
        t, u = potentials.copy(), np.ones(layout.shape[0])
        if spans_the_range(problem):
            largest = _largest_of_rows(problem, layout, t)
            # each row divided by its largest mass, which u keeps: otherwise whole rows might underflow
            t[layout.rows] -= largest
            u = np.exp(largest)
        base = _base(problem, layout, t)
        count = layout.columns.stop - layout.columns.start
        if base[:, :count].max(axis=0).min() < _LOWEST_COLUMN:
            return None
        # 0 in the columns that pad the table, which then add nothing to any row
        v = np.zeros(layout.shape[1])
        v[:count] = 1.0
        return cls(problem, layout, t, base, u, v, float(problem.reference.sum()))

    def __post_init__(self) -> None:
        self.u_before, self.v_before, self.sums = self.u.copy(), self.v.copy(), np.zeros_like(self.v)

    @property
    def sweep_arithmetic(self) -> float:
        """The estimated seconds of a sweep's arithmetic."""
        return self.layout.sweep_arithmetic

    def potentials(self) -> FloatArray:
        """Return the potentials after the sweeps made so far."""
        found = self.t.copy()
        found[self.layout.rows] += log_factors(self.u)
        found[self.layout.columns] += log_factors(self._v())
        return found

    def sweep_once(self) -> None:
        """Make one more sweep, and let the base take the factors in first where they are large."""
        # before the sweep, not after: the gain is read from the factors of the last sweep
        if self.done and self._is_large():
            self._fold()
        self.u_before[:], self.v_before[:] = self.u, self.v
        missed = self._fit_rows()
        with np.errstate(all="ignore"):  # numbers that are not finite end the run
            self._v()[:] = self._targets[1] / self._sums
        self.witness = int(missed.argmax())
        self.done += 1

    def _fit_rows(self) -> FloatArray:
        """Fit the rows, sum the base times u in the columns, and return what the rows missed before."""
        missed, parts = np.empty_like(self.u), np.empty((len(self.layout.chunks), self.layout.shape[1]))
        for_each_chunk(
            lambda c, begin, end: fit_rows_of_base(
                self.base, self._targets[0], self.v, begin, end, self.u, missed, parts[c]
            ),
            self.layout.chunks,
        )
        self.sums = sum_chunks(parts)
        return missed

    def may_be_met(self, goal: Goal) -> bool:
        """Return whether the row that missed most before meets the goal or is not a number."""
        one = slice(self.witness, self.witness + 1)
        found = np.empty(1)
        # one row costs next to nothing, and the one that missed most is rarely the first to be met
        row_sums(self.base[one], self.v, 0, 1, found)
        missed = abs(float(found[0] * self.u[self.witness] - self._targets[0][self.witness]))
        # in this form NaN counts as met, and so gets measured
        return not missed > goal.tolerance

    def measure(self, hopeful: bool) -> SweepResidual:
        """Return the residual over both constraints."""
        of_rows, of_columns = self._targets
        found = np.empty_like(self.u)
        for_each_chunk(lambda _, begin, end: row_sums(self.base, self.v, begin, end, found), self.layout.chunks)
        found *= self.u
        misses = [np.abs(found - of_rows), np.abs(self._v() * self._sums - of_columns)]
        self.witness = int(misses[0].argmax())
        return SweepResidual(
            float(max(one.max() for one in misses)), float(max(one.sum() for one in misses)), float(found.sum())
        )

    def gain(self) -> float:
        """Return what the dual gained by the last sweep."""
        # a step gains the divergence of its targets from the sums that it found (notes/ipf.md, equation 2)
        of_rows = divergence_gain(self._targets[0], self.u, self.u_before)
        return of_rows + divergence_gain(self._targets[1], self._v(), self.v_before[: len(self._sums)])

    @property
    def _targets(self) -> tuple[FloatArray, FloatArray]:
        return self.problem.targets[self.layout.rows], self.problem.targets[self.layout.columns]

    @property
    def _sums(self) -> FloatArray:
        return self.sums[: self.layout.columns.stop - self.layout.columns.start]

    def _v(self) -> FloatArray:
        return self.v[: self.layout.columns.stop - self.layout.columns.start]

    def _is_large(self) -> bool:
        v = self._v()
        highest, lowest = max(self.u.max(), v.max()), min(self.u.min(), v.min())
        return not (highest < LARGEST_FACTOR and lowest * LARGEST_FACTOR > 1.0)

    def _fold(self) -> None:
        self.t = self.potentials()
        self.base = _base(self.problem, self.layout, self.t)
        # columns that pad the table keep their 0
        self.u[:], self._v()[:] = 1.0, 1.0


def _base(problem: Problem, layout: TwoWay, t: FloatArray) -> FloatArray:
    base = np.zeros(layout.shape)
    base.reshape(-1)[layout.place] = rebuild(problem, t)
    return base


def _largest_of_rows(problem: Problem, layout: TwoWay, t: FloatArray) -> FloatArray:
    """Return the logarithm of the largest mass of each row, at potentials."""
    logs = np.full(layout.shape, -np.inf)
    logs.reshape(-1)[layout.place] = problem.logarithms()
    logs[:, : layout.columns.stop - layout.columns.start] += t[layout.columns]
    return np.asarray(logs.max(axis=1) + t[layout.rows])
