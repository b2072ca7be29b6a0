"""What an algorithm asks of the place where a problem's numbers live; it never learns how they are stored.

A space owns the reference, the targets, the forms of C diag(p) C^T and every sum over profiles or rows. A point belongs
to the space that made it. What is small (counts, residuals, times, a solver's memory) belongs to the loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from purtensor._typing import FloatArray
from purtensor.solving.iterate import Budget, Residual, Step


class Ahead(Protocol):
    """A point along a direction, reckoned without being reached.

    Attributes
    ----------
    slope
        The derivative of the dual along the direction, at the point where it begins.
    loss
        sum p (exp(z) - 1 - z), z = step C^T d: what the dual loses against its linear growth.
    largest
        The largest |C^T d|.
    """

    slope: float
    loss: float
    largest: float

    def point(self) -> Any:
        """Return the point; a space of parts has written it in the same pass, one of arrays makes it now."""
        ...


class Change(Protocol):
    """m such that p (1 + C^T m) meets the targets up to what is left: both of the masses as scaled to the total.

    Attributes
    ----------
    left
        The sum of the misses in the worst constraint.
    uneven
        The root of sum miss^2 / max(target, miss).
    """

    left: float
    uneven: float


class Sums(NamedTuple):
    """The sums of the certificate over w = C^T m, for a mass of 1: see purtensor.kernels.newton.certificate."""

    lowest: float
    upper: float
    gap: float
    moved: float


P = TypeVar("P")


class Space(Protocol[P]):
    """A problem, and all sums over it; algorithms are written over this and nothing else."""

    total: float
    constraints: int
    sweeps_at_once: bool  # whether a step makes as many sweeps as its budget allows; else one

    # --- points
    def start(self) -> P: ...
    def residual(self, point: P) -> Residual: ...
    def dual(self, point: P) -> float: ...
    def mass(self, point: P) -> float: ...
    def scaled(self, point: P, *, quickly: bool) -> P:
        """Return the point as its potentials make it, scaled to the total: what would be returned."""
        ...

    def was_scaled(self, point: P, made: P) -> bool: ...

    # --- moves
    def sweep(self, point: P, order: tuple[int, ...] | None, budget: Budget) -> Step:
        """Return a step of plain IPF, of one sweep or more, its records measured on the way."""
        ...

    def warm_up(self, point: P, order: tuple[int, ...] | None, sweeps: int) -> tuple[P, int]:
        """Return the point after some of so many sweeps, and how many these were; the last is for Newton to go on."""
        ...

    def direction(self, point: P, floor: float) -> Any:
        """Return the solution of C diag(p + floor shares) C^T d = b - C p."""
        ...

    def ahead(self, point: P, direction: Any, step: float) -> Ahead: ...
    @property
    def newton_note(self) -> str: ...

    # --- what is proved of a point
    def first_change(self, point: P, floor: float) -> Change | None: ...
    def refined(self, change: Change) -> Change: ...
    def sums(self, point: P, change: Change) -> Sums: ...
    def weight(self, point: P) -> float:
        """Return the mean over the masses of the sum of each profile's absolute potentials."""
        ...

    def has_emptied(self, point: P, residual_l1: float) -> bool:
        """Tell whether a point that meets the targets has all but emptied profiles."""
        ...

    # --- a run
    def emptying(self) -> float:
        """Return what the dual gains as zero targets empty profiles."""
        ...

    def chunk(self) -> int:
        """Return how many iterations a first step may make."""
        ...

    def keep(self, state: Any) -> None:
        """Keep where the run stands, so that it can be taken up again; arrays do nothing."""
        ...


@dataclass(frozen=True, slots=True)
class NewtonMemory:
    """What Newton's method remembers from step to step: numbers only, so that a checkpoint can hold them.

    Attributes
    ----------
    warmed, warm_gain
        Sweeps of the warm-up made, and what the dual gained by them.
    slow
        How many of the last steps in a row gained little.
    sweeps
        Sweeps still to come before the next step, because none gained.
    """

    warmed: int = 0
    warm_gain: float = 0.0
    slow: int = 0
    sweeps: int = 0
    noted: bool = False


class SpaceSolver(Protocol):
    """A solver written over spaces."""

    def step_in(self, space: Space[Any], point: Any, budget: Budget) -> Step: ...


__all__ = ["Ahead", "Change", "FloatArray", "NewtonMemory", "Space", "SpaceSolver", "Sums"]
