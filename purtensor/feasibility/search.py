"""Newton's method as a search for evidence: a positive solution, or a direction in which the dual does not end.

At masses p let d solve C diag(p) C^T d = b - C p. Where w = C^T d stays above -1, p (1 + w) is a positive solution.
Where b.d is positive, and more than it costs to lower d until w <= 0, the weights -d prove that there is none. On the
boundary d tends to whole numbers: each step takes a factor e off the masses that must vanish (notes/feasibility.md,
equations 3 to 5). All of these are candidates, which the space judges: exactly in memory, by intervals on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from purtensor.solving.certificate import best_change
from purtensor.solving.line_search import search
from purtensor.solving.run_state import State
from purtensor.solving.spaces.space import C, CertifiableSpace, D, NewtonSpace, P

MOST_STEPS = 80
"""Newton steps of a search; those that end in a verdict take 5 to 60."""

SWEEPS = 3
"""Sweeps before the first step: they bring the masses into the range where Newton's steps are long."""

# w <= -1 would empty a profile; on the boundary w tends to -1 and beyond where masses vanish (equation 5 of the note)
_NEAR_ONE = 0.9
_STANDING = 1e-9
_FINE = 2.0**44

ProofT = TypeVar("ProofT")
SolutionT = TypeVar("SolutionT")
SolutionT_co = TypeVar("SolutionT_co", covariant=True)
ProofT_co = TypeVar("ProofT_co", covariant=True)


class Signs(NamedTuple):
    """Evidence from Newton's direction d, w = C^T d.

    Attributes
    ----------
    lowest, highest
        The extremes of w.
    size
        The largest absolute d.
    gain, price
        b.d, and what it costs of it to lower d until w <= 0.
    least
        The smallest mass: 0 where rounding hides what has mass.
    """

    lowest: float
    highest: float
    size: float
    gain: float
    price: float
    least: float

    @property
    def finite(self) -> bool:
        """Whether the direction is one of numbers."""
        return bool(np.isfinite([self.lowest, self.highest, self.gain]).all())

    def scales(self) -> Iterator[float]:
        """Yield the scales at which -d may be whole numbers that prove something, the simplest first."""
        # the dual would still rise after lowering d to w <= 0: a refutation; the scales make its largest weight 1, 2, 3
        if self.gain > 1e-12 * self.size and self.gain > self.price:
            yield from (1.0 / self.size, 2.0 / self.size, 3.0 / self.size, _FINE / self.size)
        # masses that must vanish lose a factor e a step, so d itself is near to whole numbers there
        elif self.lowest < -_NEAR_ONE:
            yield 1.0


class EvidenceSpace(NewtonSpace[P, D], CertifiableSpace[P, C], Protocol[P, D, C, ProofT_co, SolutionT_co]):
    """A space that can check candidates."""

    def signs(self, point: P, direction: D) -> Signs:
        """Return the evidence from a direction."""
        ...

    def accept(self, point: P, change: C) -> SolutionT_co | None:
        """Return the solution that a change of the point gives, positive and feasible as far as is known; else None."""
        ...

    def weigh(self, point: P, direction: D, scale: float) -> ProofT_co | None:
        """Return what -d times a scale proves, rounded to whole numbers and repaired; None where it proves nothing."""
        ...

    def broken_relation(self) -> ProofT_co | None:
        """Return the proof by a row that follows from others on this support, but has another target than they say."""
        ...


def search_evidence(space: EvidenceSpace[P, D, C, ProofT, SolutionT], state: State[P]) -> ProofT | SolutionT | None:
    """Return the evidence from Newton's steps from a state; None if they end, or stagnate, without evidence.

    The state changes in place and is kept after each step, so that a search on disk can be resumed.
    """
    was_asked = False
    while state.iterations < MOST_STEPS:
        point = state.point
        with np.errstate(all="ignore"):
            direction = space.direction(point, 0.0)
            signs = space.signs(point, direction)
        if not signs.finite:
            return None
        if signs.lowest > -_NEAR_ONE:
            solution = _find_solution(space, point, signs)
            if solution is not None:
                return solution
            # a contradiction that no step can mend: expensive to find, so tried only where other rows have a solution
            broken = None if was_asked else space.broken_relation()
            if broken is not None:
                return broken
            was_asked = True
            # no step moves any mass, and what is there was not accepted: more steps would not change that
            if max(signs.highest, -signs.lowest) < _STANDING:
                return None
        # proofs are tried on the way, not at the end: where there is no solution the steps never end
        for scale in signs.scales():
            proof = space.weigh(point, direction, scale)
            if proof is not None:
                return proof
        moved = search(space, point, direction)
        if moved is None:
            return None
        state.point = moved[0]
        state.iterations += 1
        space.keep(state)
    return None


def _find_solution(space: EvidenceSpace[P, D, C, ProofT, SolutionT], point: P, signs: Signs) -> SolutionT | None:
    change = best_change(space, point)
    # a mass of 0 is one that underflowed, of which no positive solution can be made
    return space.accept(point, change) if change is not None and signs.least > 0.0 else None
