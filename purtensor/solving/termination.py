"""How a projection can end; the value of each member is the sentence that the user reads."""

from __future__ import annotations

from enum import Enum


class Termination(Enum):
    """The ending of a projection."""

    CONVERGED = "every constraint is met to the tolerance"
    CONVERGED_ON_FACE = "every constraint is met to the tolerance, with the implied zeros that are listed"
    INFEASIBLE = "no distribution on the support of the reference meets the constraints"
    ITERATION_LIMIT = "the iteration limit came first: raise max_iterations, or use Newton()"
    TIME_LIMIT = "the time limit came first: raise max_seconds, or use Newton()"
    HOPELESS = "it is proved that the solver works for a point that does not exist"
    STALLED = "no better step: rounding leaves none, or the solver is too slow to get nearer (the notes say which)"
    INTERRUPTED = "interrupted; this is the state so far"
    NOT_FINITE = "a number is not finite any more: the constraints may be infeasible, or the potentials overflow"

    @property
    def converged(self) -> bool:
        """Whether every constraint is met at the returned table."""
        return self in (Termination.CONVERGED, Termination.CONVERGED_ON_FACE)
