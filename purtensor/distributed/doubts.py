"""How a run on disk uses the verdict on feasibility: asked when the progress raises doubts, as in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from purtensor.distributed.checkpoint import Stand
from purtensor.distributed.diagnose import diagnose_stored
from purtensor.distributed.diagnosis import StoredDiagnosis
from purtensor.distributed.running import Stage
from purtensor.distributed.targets import Constraint
from purtensor.feasibility.verdict import Verdict
from purtensor.solving.termination import Termination
from purtensor.tables.stored import StoredTable

_PATIENCE = {"steps": 32, "sweeps": 1000}
"""Newton steps or sweeps before the first doubt; the next comes after twice as many."""

_LITTLE = 0.5
"""A residual that the second half of the iterations leaves above this share of what it was raises doubts."""


@dataclass(slots=True, eq=False)
class Doubts:
    """A callback that asks for the verdict, and ends a run that has no answer to converge to."""

    reference: StoredTable
    constraints: Sequence[Constraint]
    stand: Stand
    told: Callable[[Stage], Any] | None
    diagnosis: StoredDiagnosis | None = None
    next_doubt: int = 0

    def __post_init__(self) -> None:
        self.next_doubt = _PATIENCE["steps" if self.stand.options["newton"] else "sweeps"]

    def __call__(self, stage: Stage) -> bool:
        """Return whether the run is to end."""
        if self.told is not None and self.told(stage):
            return True
        if stage.iteration < self.next_doubt:
            return False
        self.next_doubt = 2 * stage.iteration
        half = [line for line in self.stand.lines if line.iteration <= stage.iteration // 2]
        return bool(half) and stage.residual_l1 > _LITTLE * half[-1].record.residual_l1 and self.is_infeasible()

    def is_infeasible(self) -> bool:
        """Return whether it is proved that nothing meets the constraints; found at most once."""
        if self.diagnosis is None:
            self.diagnosis = diagnose_stored(self.reference, self.constraints)
        return self.diagnosis.verdict is Verdict.INFEASIBLE

    def ending(self, ending: Termination) -> Termination:
        """Return how a run ended: one that stands still may have nothing to converge to."""
        if ending in (Termination.STALLED, Termination.NOT_FINITE):
            self.is_infeasible()
        refuted = self.diagnosis is not None and self.diagnosis.verdict is Verdict.INFEASIBLE
        return Termination.INFEASIBLE if refuted else ending
