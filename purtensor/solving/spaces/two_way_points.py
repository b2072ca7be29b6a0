"""Points of dense two-way tables with mass in every cell: sweeps, and the masses that they end with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from purtensor._threads import for_each_chunk, sum_chunks
from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.ipf.two_way_sweeps import write_masses
from purtensor.kernels.reductions import inner_product
from purtensor.solving.iterate import Budget, Iterate, Residual, Solver, Step, log_factors
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.anderson import AcceleratedTwoWay
from purtensor.solving.solvers.ipf.product_sweeps import NotOfProduct
from purtensor.solving.solvers.ipf.two_way_sweeps import TwoWaySweeps, layout_of
from purtensor.solving.spaces.dense import DenseSpace, Factors
from purtensor.solving.stopping import away_from_total

_TINIEST, _LARGEST = 2.0**-1000, 2.0**300
"""Masses in between, and their products with factors, keep all their digits."""

_FIRST_SWEEPS, _FIRST_SECONDS = 32, 0.01
"""The first step of a run makes at most so many sweeps, and takes no longer than this: calls cost as much as sweeps."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoWayTable:
    """A dense two-way table and its constraints as arrays.

    Attributes
    ----------
    sizes
        A problem with the sizes and the targets of this one, and no masses: these are NaN.
    names
        The attributes of the rows and of the columns, and none.
    cells
        Shape (I, J): the reference, a view of the caller's array.
    a, b
        The numbers of the constraints on the rows, which come first in a sweep, and on the columns.
    exponent
        All targets were divided by two to this power.
    is_accelerated
        Whether sweeps are to be accelerated.
    """

    sizes: Problem
    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    cells: FloatArray
    a: int
    b: int
    exponent: int
    is_accelerated: bool


@dataclass(slots=True, eq=False)
class _Masses:
    """The masses at the end of a run, shape (I, padded J), what they sum to, and the basis, once it was requested."""

    cells: FloatArray
    of_a: FloatArray
    of_b: FloatArray
    residual: Residual
    tree: tuple[IntArray, IntArray] | None = None


@dataclass(slots=True, eq=False)
class TwoWayPoints(DenseSpace):
    """Masses are base u v; only they are written at the end, so that a run can go on."""

    product: TwoWayTable
    sweeps: TwoWaySweeps = field(init=False)
    _room: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.sweeps = _sweeps(self.product)
        self._room = np.empty_like(self.sweeps.base)

    @property
    def _targets(self) -> tuple[FloatArray, FloatArray]:
        layout, targets = self.sweeps.layout, self.product.sizes.targets
        return targets[layout.rows], targets[layout.columns]

    def step(self, solver: Solver, point: Iterate, budget: Budget) -> Step[Iterate]:
        """Return a step of sweeps; refused where another method is to continue."""
        self.found = None
        return super(TwoWayPoints, self).step(solver, point, budget)

    def _measure_start(self) -> Residual:
        self.rebuild(self.start())  # no sums yet: those of the reference, scaled
        residual: Residual = self.found.residual
        self.found = None
        return residual

    def mass(self, point: Iterate) -> float:
        if self.found is not None:
            return float(self.found.of_b.sum())
        return self.sweeps.measure(False).mass if self.sweeps.done else self.total

    def rebuild(self, point: Iterate, *, quickly: bool = False) -> tuple[Iterate, bool]:
        """Write the masses beside the base."""
        sweeps, chunks, columns = self.sweeps, self.sweeps.layout.chunks, len(self._targets[1])
        cells, of_a = self._room, np.empty(len(sweeps.base))
        least, parts = np.empty(len(chunks)), np.empty((len(chunks), cells.shape[1]))

        def write(n: int, begin: int, end: int) -> None:
            least[n] = write_masses(sweeps.base, sweeps.u, sweeps.v, columns, begin, end, cells, of_a, parts[n])

        for_each_chunk(write, chunks)
        of_b = sum_chunks(parts)[:columns]
        # products that leave the range of float64 are for the logarithms of the general form
        if not least.min() > _TINIEST:
            raise NotOfProduct
        if away_from_total(float(of_b.sum()), self.total):
            raise NotOfProduct
        self.found = _Masses(cells, of_a, of_b, self._measure_residual(of_a, of_b))
        return point, False

    def first_chunk(self) -> int:
        return max(1, min(_FIRST_SWEEPS, int(_FIRST_SECONDS / self.sweeps.sweep_arithmetic)))

    def has_emptied(self, point: Iterate, residual_l1: float) -> bool:
        return False  # the product of the targets has mass in every cell: nothing is forced to be zero

    def _measure_residual(self, of_a: FloatArray, of_b: FloatArray) -> Residual:
        gaps = [np.abs(sums - targets) for sums, targets in zip((of_a, of_b), self._targets, strict=True)]
        largest, l1 = max(one.max() for one in gaps), max(one.sum() for one in gaps)
        return Residual(float(largest / self.total), float(l1 / self.total))

    def divergence(self) -> float:
        found, sweeps = self.found, self.sweeps
        columns = len(found.of_b)
        linear = inner_product(found.of_a, log_factors(sweeps.u))
        linear += inner_product(found.of_b, log_factors(sweeps.v[:columns]))
        mass = float(found.of_b.sum())
        return float(linear / mass - np.log(mass / sweeps.start))

    def write(self, cells: FloatArray) -> None:
        found = self.found.cells[:, : cells.shape[1]]
        np.multiply(found, 2.0**self.product.exponent, out=cells[:, :, 0])

    def factors(self) -> list[Factors]:
        product, (rows, columns, _) = self.product, self.product.names
        u, v = self.sweeps.u.copy(), self.sweeps.v[: len(self._targets[1])].copy()
        return [
            Factors(product.a, (rows, (), ()), partial(_write_line, u)),
            Factors(product.b, (columns, (), ()), partial(_write_line, v)),
        ]


def _sweeps(table: TwoWayTable) -> TwoWaySweeps:
    """Return the sweeps that start at the reference."""
    layout = layout_of(table.sizes.system, (table.a, table.b))
    base = np.zeros(layout.shape)
    base[:, : table.cells.shape[1]] = table.cells
    own = base[:, : table.cells.shape[1]]
    with np.errstate(all="ignore"):
        start = float(np.einsum("ij->", own))
    if not (_TINIEST * max(1.0, start) < own.min() and start < _LARGEST):  # also where one is not a number
        raise NotOfProduct
    v = np.zeros(layout.shape[1])
    v[: table.cells.shape[1]] = 1.0
    kind = _AcceleratedOnly if table.is_accelerated else _PlainOnly
    # the reference scaled to the targets' total, from where the dual is counted
    u = np.full(len(base), table.sizes.total / start)
    return kind(table.sizes, layout, np.zeros(table.sizes.system.rows), base, u, v, start)


class _PlainOnly(TwoWaySweeps):
    __slots__ = ()

    def _fold(self) -> None:
        raise NotOfProduct  # factors so large are for the logarithms of the general form


class _AcceleratedOnly(AcceleratedTwoWay):
    __slots__ = ()

    def _fold(self) -> None:
        raise NotOfProduct


def _write_line(factors: FloatArray, cells: FloatArray) -> None:
    """Write the factors of the rows or of the columns into an array of shape (I, 1, 1)."""
    cells[:, 0, 0] = factors
