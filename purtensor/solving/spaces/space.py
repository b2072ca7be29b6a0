"""What algorithms ask of the place where a problem's numbers are stored.

A space owns the reference, the targets and every sum over profiles or rows; an algorithm is written once over these
protocols and never learns how the numbers are stored. A point belongs to the space that made it: potentials, the sums
measured there, and the memory of the solver that led to it. Counts, times and the trace belong to the run
(`purtensor.solving.run_state.State`).

Each protocol is a capability. A function that needs no more than `Space` runs in all spaces; Newton's method needs a
`NewtonSpace`, proofs need a `CertifiableSpace`, and mypy refuses a space that lacks what is requested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from purtensor._typing import FloatArray
from purtensor.solving.iterate import Budget, Residual, Step

if TYPE_CHECKING:
    from purtensor.solving.run_state import State


class Point(Protocol):
    """A point of the exponential family; `memory` is the state of the solver that reached it."""

    memory: object


P = TypeVar("P", bound=Point)
D = TypeVar("D")
D_contra = TypeVar("D_contra", contravariant=True)
C = TypeVar("C", bound="Change")
P_co = TypeVar("P_co", bound=Point, covariant=True)


class Trial(Protocol[P_co]):
    """A step along a direction, evaluated before it is known whether it is taken."""

    @property
    def slope(self) -> float:
        """The derivative of the dual along the direction, where the step begins."""
        ...

    @property
    def loss(self) -> float:
        """The sum p (exp(z) - 1 - z), z = step C^T d: by so much the dual gains less than step * slope."""
        ...

    @property
    def largest(self) -> float:
        """The largest |C^T d|."""
        ...

    def point(self) -> P_co:
        """Return the point at the end of the step. On disk it was written in the pass that evaluated the step."""
        ...


class Change(Protocol):
    """Moves c of the masses p such that p + c meets the targets up to a miss."""

    @property
    def left(self) -> float:
        """The miss in the worst constraint: the sum of its absolute values."""
        ...

    @property
    def uneven(self) -> float:
        """The root of sum miss^2 / max(target, |miss|)."""
        ...


NEGLIGIBLE = 64 * 2.0**-52
"""The miss, total mass 1, up to which a point counts as feasible: by so much may dependent targets disagree."""


class Sums(NamedTuple):
    """What a feasible point p^ = p + c + e next to a point p proves, all for a total of 1 and rounded up.

    Attributes
    ----------
    divergence
        D(p^ || p).
    gap
        D(p^ || q), q being the projection: by the dual at the potentials of the change.
    distance
        The total variation between p^ and p.
    rest
        sum |e|: what the moves left to a basis of profiles, at most.
    rounding
        By what share the masses may be off the family that their potentials say.
    feasible
        Whether no mass of p^ can be negative, and all targets agree with it.
    full
        Whether p has mass wherever a table that meets the targets may have some.
    beside
        What such a table may have where a face has no profiles: they count in `distance`.
    settled
        Whether what is left of the misses is known to be a small part of each bound: no refinement would help.
    """

    divergence: float
    gap: float
    distance: float
    rest: float
    rounding: float
    feasible: bool
    full: bool
    beside: float = 0.0
    settled: bool = False


class Direction(NamedTuple):
    """A direction of the potentials of all rows, and the slope of the dual along it."""

    potentials: FloatArray
    slope: float


class Space(Protocol[P]):
    """A problem, and what the loop asks of its points."""

    @property
    def total(self) -> float:
        """The total of the targets."""
        ...

    @property
    def constraints(self) -> int:
        """The number of constraints."""
        ...

    def start(self) -> P:
        """Return the reference, scaled to the targets' total."""
        ...

    def residual(self, point: P) -> Residual:
        """Return how far a point is from the targets; measured once for each point."""
        ...

    def dual(self, point: P) -> float:
        """Return the dual value in nats, which no constant added to the potentials changes."""
        ...

    def mass(self, point: P) -> float:
        """Return the sum of the masses."""
        ...

    def rebuild(self, point: P, *, quickly: bool = False) -> tuple[P, bool]:
        """Return the point as its potentials make it, scaled to the targets' total, and whether scaling moved it.

        That is what is judged and returned. `quickly` spares a pass over the disk where Ctrl-C was pressed.
        """
        ...

    def has_emptied(self, point: P, residual_l1: float) -> bool:
        """Return whether a point that meets the targets has nearly empty profiles, which may be forced to be zero."""
        ...

    def emptying_gain(self) -> float:
        """Return what the dual gains, in nats, as zero targets empty profiles of the reference."""
        ...

    def first_chunk(self) -> int:
        """Return how many iterations the first step of a run may make."""
        ...

    def keep(self, state: State[P]) -> None:
        """Write where the run stands, so that it can be resumed; spaces in memory do nothing."""
        ...


class SearchSpace(Space[P], Protocol[P, D_contra]):
    """A space in which steps along a direction can be evaluated."""

    def try_step(self, point: P, direction: D_contra, step: float) -> Trial[P]:
        """Return the step of this length from a point; one pass over parts on disk."""
        ...


class NewtonSpace(SearchSpace[P, D], Protocol[P, D]):
    """A space that is swept by iterative proportional fitting, and solves Newton's equations."""

    def sweep(self, point: P, order: tuple[int, ...] | None, budget: Budget) -> Step[P]:
        """Return a step of at least one sweep, within the budget."""
        ...

    def warm_up(self, point: P, order: tuple[int, ...] | None, sweeps: int) -> tuple[P, int]:
        """Return the point after some of so many sweeps, unrecorded, and how many were made.

        The last leaves what Newton's first step needs.
        """
        ...

    @property
    def newton_note(self) -> str:
        """How the equations are solved, in words for the notes of a result."""
        ...

    def direction(self, point: P, floor: float) -> D:
        """Return the solution d of C diag(p + floor shares) C^T d = b - C p (notes/newton.md, equation 9)."""
        ...


class CertifiableSpace(Space[P], Protocol[P, C]):
    """A space in which bounds can be proved."""

    def scale_point(self, point: P) -> tuple[P, float]:
        """Return the point with its masses scaled to the targets' total, and by what share of each that rounds them."""
        ...

    def first_change(self, point: P, floor: float) -> C | None:
        """Return the change that Newton's equations give, `floor` as for directions; None where there is none."""
        ...

    def refine(self, change: C) -> C:
        """Return the change after one step of iterative refinement, with the same factors."""
        ...

    def sums(self, point: P, change: C) -> Sums | None:
        """Return what a change proves, a basis taking what it leaves of the misses; None where no basis is found."""
        ...


class RowSpace(SearchSpace[P, Direction], Protocol[P]):
    """A space whose rows all lie in memory, for methods that learn from gradients; its points have the total."""

    @property
    def targets(self) -> FloatArray:
        """Shape (D,): the targets."""
        ...

    @property
    def first_rows(self) -> slice:
        """The rows of the first constraint: a constant added to their potentials scales all masses."""
        ...

    def at(self, potentials: FloatArray) -> P:
        """Return the point at these potentials, a constant added so that its masses have the targets' total."""
        ...

    def miss(self, point: P) -> FloatArray:
        """Return b - C p, shape (D,): the gradient of the dual."""
        ...


@dataclass(frozen=True, slots=True)
class NewtonMemory:
    """What Newton's method keeps from step to step: numbers only, so that a checkpoint can hold them.

    Attributes
    ----------
    warmed, warm_gain
        Sweeps of the warm-up made, and what the dual gained by them.
    slow
        How many of the last steps in a row gained little.
    sweeps
        Sweeps still to come before the next step, because none gained.
    noted
        Whether the result's notes say how the equations are solved.
    """

    warmed: int = 0
    warm_gain: float = 0.0
    slow: int = 0
    sweeps: int = 0
    noted: bool = False
