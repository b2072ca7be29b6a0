"""The rule that every run is stopped and judged by, and the ways in which a run can end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from purtensor.kernels.compiling import processor_clock, wall_clock
from purtensor.solving.stopping import L1_FACTOR

# by so much two ways of adding up the same masses may differ
_ROUNDING = 2.0**-50


# what runs are timed by. The processor's clock leaves out what other programs took, and adds up threads. Neither
# counts the compilation of kernels
CLOCKS: Mapping[str, Callable[[], float]] = MappingProxyType({"wall": wall_clock, "processor": processor_clock})


class Ending(Enum):
    """How a run ended; the value is the sentence that a reader sees."""

    CONVERGED = "every constraint is met to the tolerance, by our own sums over the returned table"
    CONVERGED_ON_FACE = "every constraint is met to the tolerance, with zeros that the constraints force"
    INFEASIBLE = "it is proved that no distribution meets the constraints"
    ITERATION_LIMIT = "the iteration limit came first"
    TIME_LIMIT = "the time limit came first"
    STALLED = "rounding leaves no better step"
    STOPPED_SHORT = "the solver ended by a rule of its own before the constraints were met to the tolerance"
    NOT_FINITE = "a number is not finite"
    INTERRUPTED = "interrupted"
    HOPELESS = "it is proved that the solver works for a point that does not exist"
    FAILED = "the solver raised an error"
    KILLED = "the solver's process ended"
    DOES_NOT_APPLY = "the solver cannot take this problem"
    NOT_INSTALLED = "the solver's package is not there"

    @property
    def words(self) -> str:
        """The ending in one or two words, as in tables."""
        return self.name.lower().replace("_", " ")

    @property
    def converged(self) -> bool:
        """Whether the constraints are met to the tolerance."""
        return self in (Ending.CONVERGED, Ending.CONVERGED_ON_FACE)


@dataclass(frozen=True, slots=True)
class Rule:
    """When a run stops.

    Attributes
    ----------
    tolerance
        Met when the residual is within it, and the L1 miss of the worst constraint within 100 times it.
    max_iterations
        Sweeps or steps of one run.
    max_seconds
        The budget: seconds of one run.
    clock
        What it is timed by: a name in `CLOCKS`.
    """

    tolerance: float
    max_iterations: int
    max_seconds: float
    clock: str = "wall"

    def now(self) -> float:
        """Return the seconds on the clock, from an arbitrary start."""
        return CLOCKS[self.clock]()

    def is_met(self, largest: float, l1: float) -> bool:
        """Return whether a table with these misses counts as converged."""
        return largest <= self.tolerance + _ROUNDING and l1 <= L1_FACTOR * (self.tolerance + _ROUNDING)
