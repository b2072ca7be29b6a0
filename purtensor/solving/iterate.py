"""The iterate of a solver, and the solver protocol."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from purtensor._typing import FloatArray
from purtensor.constraints.system import System
from purtensor.errors import InvalidOptionError
from purtensor.kernels.ipf.steps import sum_rows
from purtensor.kernels.reductions import inner_product, spread
from purtensor.solving.chunked import measure_masses, rebuild
from purtensor.solving.problem import Problem

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    PointT = TypeVar("PointT", default="Iterate")  # a bare Step is one of arrays in memory
else:
    from typing import TypeVar

    PointT = TypeVar("PointT")

Later: TypeAlias = FloatArray | Callable[[], FloatArray]
"""An array, or what makes it on request."""


class Iterate:
    """A point of the exponential family: its potentials are the state, its masses are derived from them.

    Either may be given as a function, which is called at the first access: a solver that works in arrays of
    its own makes a point at the cost of a sweep only where somebody looks at it, before its next step.

    Attributes
    ----------
    potentials
        Shape (D,): natural logarithms, one per row.
    masses
        Shape (M,): reference * exp(C^T potentials).
    memory
        The state that a solver needs at its next step.
    """

    __slots__ = ("_masses", "_potentials", "measured", "memory")

    def __init__(self, potentials: Later, masses: Later, memory: Any = None) -> None:
        self._potentials = potentials
        self._masses = masses
        self.memory = memory
        self.measured: tuple[FloatArray, Residual] | None = None  # C masses and what they miss, once computed

    @property
    def potentials(self) -> FloatArray:
        """Natural logarithms, shape (D,)."""
        if callable(self._potentials):
            self._potentials = self._potentials()
        return self._potentials

    @property
    def masses(self) -> FloatArray:
        """The masses at the potentials, shape (M,)."""
        if callable(self._masses):
            self._masses = self._masses()
        return self._masses

    @masses.setter
    def masses(self, masses: FloatArray) -> None:
        self._masses = masses

    def with_memory(self, memory: Any) -> Iterate:
        """Return the same point with another memory."""
        # by functions: what has not been made need not be made for a copy
        return Iterate(lambda: self.potentials, lambda: self.masses, memory)


def iterate_at(problem: Problem, potentials: FloatArray, memory: Any = None) -> Iterate:
    """Return the iterate at the given potentials, its masses computed afresh."""
    return Iterate(potentials, rebuild(problem, potentials), memory)


def starting_potentials(problem: Problem) -> FloatArray:
    """Return the potentials of the reference scaled to the targets' total."""
    return shift_to_total(problem, np.zeros(problem.system.rows), float(problem.reference.sum()))


def scale_to_total(problem: Problem, potentials: FloatArray) -> FloatArray:
    """Return the potentials with a constant added so that the masses have the targets' total.

    Raises
    ------
    InvalidOptionError
        The masses at these potentials are not finite, or all zero.
    """
    mass = float(iterate_at(problem, potentials).masses.sum())
    if not 0 < mass < np.inf:
        raise InvalidOptionError(
            f"the potentials in start give a total mass of {mass}; start from the reference instead"
        )
    return shift_to_total(problem, potentials.copy(), mass)


def shift_to_total(problem: Problem, potentials: FloatArray, mass: float) -> FloatArray:
    """Add a constant to potentials in place so that masses of this sum have the targets' total, and return them."""
    # the rows of the first constraint: every profile lies in exactly one of them
    potentials[: problem.offsets[1]] += math.log(problem.total / mass)
    return potentials


@dataclass(frozen=True, slots=True)
class Residual:
    """How far an iterate is from the targets, the total mass being 1.

    Attributes
    ----------
    largest
        The largest absolute miss of a target.
    l1
        The sum of the misses in the worst constraint.
    """

    largest: float
    l1: float

    @property
    def finite(self) -> bool:
        """Whether both are numbers."""
        return math.isfinite(self.l1)


def residual_of(problem: Problem, masses: FloatArray) -> Residual:
    """Return the residual of the masses over all constraints."""
    sums = np.empty(problem.system.rows)
    largest, l1 = measure_masses(problem, masses, sums)
    return Residual(largest / problem.total, l1 / problem.total)


def row_sums(system: System, masses: FloatArray) -> FloatArray:
    """Return C masses, shape (D,); the masses may have any sign."""
    sums = np.empty(system.rows)
    for k, row in enumerate(system.index):
        sum_rows(masses, row, sums[system.block(k)])
    return sums


def on_profiles(system: System, potentials: FloatArray) -> FloatArray:
    """Return C^T potentials, shape (M,)."""
    exponents = np.empty(system.profiles)
    spread(system.index, system.offsets, potentials, exponents)
    return exponents


def log_factors(factors: FloatArray) -> FloatArray:
    """Return what factors of rows add to their potentials; one that is 0, or too small, empties its profiles: -inf."""
    with np.errstate(divide="ignore"):
        return np.log(factors)


def dual_at(problem: Problem, iterate: Iterate) -> float:
    """Return the dual value in nats: never above the divergence of the projection from the reference.

    Invariant under adding a constant to the potentials (notes/duality.md, equation 3).
    """
    # per unit of mass, as are all duals of a trace
    linear = inner_product(problem.targets, iterate.potentials) / problem.total
    # a run whose masses overflow ends as not finite, not by a warning
    with np.errstate(over="ignore", invalid="ignore"):
        return float(linear - np.log(iterate.masses.sum() / problem.reference.sum()))


def is_rounding(gain: float, constraints: int) -> bool:
    """Return whether a gain of the dual, in nats of distributions of mass 1, is what rounding makes of none.

    By Pinsker's inequality an iteration that gains no more misses no target by more than rounding. Measured where
    nothing improves any more: about 2^-104 per constraint, 2^-101 where over-relaxation feeds the rounding on.
    """
    # 16 eps^2 a constraint (notes/ipf.md, equation 3)
    return gain <= constraints * 2.0**-100


@dataclass(frozen=True, slots=True)
class Budget:
    """What a step may use, and where it may return early.

    Attributes
    ----------
    iterations
        At most so many iterations.
    residual, residual_l1
        The step may end as soon as both are met; the total mass is 1.
    dual_later
        Whether records of sweeps that can be repeated may lack the dual and its gain: then these are NaN.
    """

    iterations: int
    residual: float
    residual_l1: float
    dual_later: bool = False


class Record(NamedTuple):
    """One line of the trace, of one iteration: see `Projection.trace` for the meaning of its numbers.

    A tuple: on small tables an iteration costs little more than making its line.
    """

    iteration: int
    residual: float
    residual_l1: float
    kl_step: float
    dual: float


@dataclass(frozen=True, slots=True, eq=False)
class Step(Generic[PointT]):
    """Where a step led.

    Attributes
    ----------
    iterate
        The new point: an Iterate, or the point of another space.
    iterations
        How many iterations were made.
    records
        The trace of those that the solver measured itself, numbered from 1 within this step; when there is none,
        the loop measures the new point.
    note
        A note on this step, such as the structure that was used.
    stalled
        Whether the solver knows that rounding leaves no better step.
    judged
        Whether the solver has compared every iteration with the residual of the budget: what it has not recorded
        does not meet it, and the loop need not measure. Its records then also say when rounding leaves no better
        step: an iteration that gains no more than rounding ends the run at the next stop (`run_state.next_stop`).
    doubtful
        Whether the progress looks like that of a problem on the boundary, or without a solution. It is a hint only.
    touches
        The number of visits of profiles, if the solver reports it: a sweep visits each profile once per constraint.
    """

    iterate: PointT
    iterations: int = 1
    records: Sequence[Record] = ()
    note: str = ""
    stalled: bool = False
    judged: bool = False
    doubtful: bool = False
    touches: int | None = None

    def at(self, iterate: PointT) -> Step[PointT]:
        """Return the step with another iterate, such as the same point with another memory."""
        return replace(self, iterate=iterate)


@runtime_checkable
class Solver(Protocol):
    """Anything with a `step`: it moves an iterate and does not count, stop, warn, print or label."""

    def step(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        """Return a step from `iterate`, of one iteration or several within the budget."""
        ...
