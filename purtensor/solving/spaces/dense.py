"""What the spaces of dense tables with mass in every cell have in common: their runs are in their sweeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.certificate import Certificate
from purtensor.solving.iterate import Budget, Iterate, Residual, Solver, Step
from purtensor.solving.solvers.automatic import Automatic
from purtensor.solving.solvers.ipf.product_sweeps import NotOfProduct
from purtensor.solving.solvers.ipf.sweeper import SweepResidual


class Factors(NamedTuple):
    """The factors of a constraint: its number, the attributes of three axes, and what writes into an array of these."""

    constraint: int
    names: tuple[tuple[str, ...], ...]
    write: Callable[[FloatArray], None]


@dataclass(slots=True, eq=False)
class DenseSpace(ABC):
    """See `purtensor.solving.spaces.space.Space`; where a run stands is in its sweeps, a point only names it.

    Attributes
    ----------
    product
        The table and its constraints in arrays.
    found
        The masses, what they sum to and miss, once they are written.
    """

    product: Any
    sweeps: Any = field(init=False)
    found: Any = field(default=None, init=False)

    @property
    def total(self) -> float:
        return float(self.sweeps.total)

    @property
    def constraints(self) -> int:
        return len(self.product.sizes.index)

    def start(self) -> Iterate:
        return Iterate(np.empty(0), np.empty(0), self.sweeps)

    def step(self, solver: Solver, point: Iterate, budget: Budget) -> Step[Iterate]:
        """Return a step of sweeps; refused where another method is to continue."""
        if not isinstance(solver, Automatic):
            return solver.step(self.product.sizes, point, budget)
        step, reason = solver.sweep(self.product.sizes, point, budget)
        # Newton's method needs rows and an order of profiles: only the general form has them
        if reason is not None:
            raise NotOfProduct
        return step

    def scale_point(self, point: Iterate) -> tuple[Iterate, float]:
        return point, 0.0  # where sweeps leave another total the general form takes over

    def dual(self, point: Iterate) -> float:
        if self.sweeps.done == 0:
            return 0.0
        return float(self.sweeps.linear() / self.total - np.log(self.mass(point) / self.sweeps.start))

    @property
    def _scale(self) -> float:
        """What brings the reference to the targets' total: no factor has it before the first sweep."""
        return float(self.total / self.sweeps.start)

    def emptying_gain(self) -> float:
        return 0.0

    def first_chunk(self) -> int:
        return 1

    def keep(self, state: object) -> None:  # noqa: B027, for there is nothing that could differ
        """Do nothing: a run in memory is not resumed."""

    def residual(self, point: Iterate) -> Residual:
        if self.found is not None:
            return self.found.residual  # type: ignore[no-any-return]
        if self.sweeps.done == 0:
            return self._measure_start()
        return self._as_residual(self.sweeps.measure(False))

    def _as_residual(self, measured: SweepResidual) -> Residual:
        return Residual(measured.residual / self.total, measured.residual_l1 / self.total)

    @abstractmethod
    def _measure_start(self) -> Residual:
        """Return the residual of the reference, scaled to the targets' total."""
        ...

    @abstractmethod
    def mass(self, point: Iterate) -> float: ...

    @abstractmethod
    def rebuild(self, point: Iterate, *, quickly: bool = False) -> tuple[Iterate, bool]: ...

    @abstractmethod
    def has_emptied(self, point: Iterate, residual_l1: float) -> bool: ...

    @abstractmethod
    def divergence(self) -> float:
        """Return the divergence from the reference: the sum of the potentials times the row sums of the masses."""
        ...

    @abstractmethod
    def write(self, cells: FloatArray) -> None:
        """Write the masses, in the units of the targets as given, into an array of the table's three axes."""
        ...

    @abstractmethod
    def certificate(self) -> Certificate:
        """Return what is proved of the masses."""
        ...

    @abstractmethod
    def factors(self) -> list[Factors]:
        """Return the factors that make the masses of the reference."""
        ...
