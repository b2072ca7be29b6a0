"""How a projection uses the verdict on feasibility: asked when the progress raises doubts, kept with the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from purtensor._typing import TableT
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.verdict import Verdict


@dataclass(slots=True, eq=False)
class LazyVerdict(Generic[TableT]):
    """The verdict on one problem, found at most once, when it is asked for."""

    diagnose: Callable[[], Diagnosis[TableT]]
    diagnosis: Diagnosis[TableT] | None = None

    def diagnosed(self) -> Diagnosis[TableT]:
        """Return the diagnosis, made on the first call."""
        if self.diagnosis is None:
            self.diagnosis = self.diagnose()
        return self.diagnosis


@dataclass(slots=True, eq=False)
class FaceVerdict(Generic[TableT]):
    """What a run asks of the verdict: see `purtensor.solving.solve.Verdict`; each space has its own way to the face."""

    lazily: LazyVerdict[TableT]

    def is_hopeless(self) -> bool:
        """Return whether it is proved that no positive solution exists, so that the potentials diverge."""
        found = self.lazily.diagnosed()
        return found.verdict is Verdict.INFEASIBLE or (found.verdict is Verdict.BOUNDARY and found.evidence.has_face)

    def is_refuted(self) -> bool:
        """Return whether there is no solution at all."""
        return self.lazily.diagnosed().verdict is Verdict.INFEASIBLE


def explain(diagnosis: Diagnosis[TableT] | None) -> str:
    """Return why a problem has no solution, as one text."""
    return Verdict.INFEASIBLE.sentence if diagnosis is None else str(diagnosis.explanation)
