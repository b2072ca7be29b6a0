"""What every projection tells of its ending and its evidence, wherever its table lies."""

from __future__ import annotations

from dataclasses import dataclass

from purtensor._printing import Shown
from purtensor.solving.termination import Termination


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Outcome(Shown):
    """How a projection ended, and how far it can be from the exact one.

    Attributes
    ----------
    termination
        How it ended.
    certified
        Whether `bound` and `tv_bound` are proved (they are inf and 1 otherwise).
    residual, residual_l1
        The largest miss over all constrained profiles, and the sum of misses in the worst constraint, of the projection
        divided by its total.
    divergence
        KL divergence of the projection from the reference, in nats.
    bound, tv_bound
        Proved: the exact projection q has D(q || table) <= bound nats and lies within tv_bound of `table` in total
        variation.
    iterations, seconds
        Of the solver: sweeps of IPF, steps of Newton; without the time of the certificate.
    notes
        What was done that a reader should know: the solver's choices, and categories left out of the problem.
    """

    termination: Termination
    certified: bool
    residual: float
    residual_l1: float
    divergence: float
    bound: float
    tv_bound: float
    iterations: int
    seconds: float
    notes: tuple[str, ...]

    @property
    def converged(self) -> bool:
        """Whether every constraint is met to the tolerance."""
        return self.termination.converged

    def summary(self) -> dict[str, str]:
        """Return the facts about this answer as text, one line each."""
        return {
            "ending": self.termination.value,
            "residual": f"{self.residual:.2e} (largest), {self.residual_l1:.2e} (L1)",
            "divergence": f"{self.divergence:.9g} nats",
            "proved": f"D <= {self.bound:.2e} nats, TV <= {self.tv_bound:.2e}" if self.certified else "nothing",
            "washed out": self._washed_out(),
            "iterations": f"{self.iterations} in {self.seconds:.3g} s",
            "notes": "; ".join(self.notes),
        }

    def _washed_out(self) -> str:
        """Return in words how much of the reference is pseudo-counts, nothing where it does not tell."""
        return ""
