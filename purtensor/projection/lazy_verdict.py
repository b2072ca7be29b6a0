"""The feasibility check of a projection: made when progress is suspiciously slow, and kept with the result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from purtensor._typing import TableT
from purtensor.errors import InfeasibleError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.verdict import Verdict

_REMEDY = (
    "Relax a target (purtensor.relax), or leave out or merge what is named here; of fair data "
    "purtensor.fairness.advice.advise tells which columns."
)


@dataclass(slots=True, eq=False)
class LazyVerdict(Generic[TableT]):
    """The verdict on one problem, found at most once, on request."""

    diagnose: Callable[[], Diagnosis[TableT]]
    diagnosis: Diagnosis[TableT] | None = None

    def find(self) -> Diagnosis[TableT]:
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
        found = self.lazily.find()
        # on the boundary the answer has potentials of -inf: sweeps approach it ever more slowly
        return found.verdict is Verdict.INFEASIBLE or (found.verdict is Verdict.BOUNDARY and found.evidence.has_face)

    def is_refuted(self) -> bool:
        """Return whether there is no solution at all."""
        return self.lazily.find().verdict is Verdict.INFEASIBLE


def explain(diagnosis: Diagnosis[TableT] | None) -> str:
    """Return why a problem has no solution, as a short text."""
    return Verdict.INFEASIBLE.sentence if diagnosis is None else diagnosis.explanation.in_short()


def infeasible(diagnosis: Diagnosis[TableT] | None) -> InfeasibleError:
    """Return the error for a problem without a solution: the reason, then what to do."""
    if diagnosis is None:
        return InfeasibleError(explain(diagnosis))
    # room and needed mass are NaN where the conflict is none of a single target
    known = diagnosis.explanation
    return InfeasibleError(
        f"{explain(diagnosis)}\n{_REMEDY}",
        diagnosis,
        where=" and ".join(" ".join(scope) for scope in known.constraints) or None,
        expected=None if math.isnan(known.room) else known.needed,
        got=None if math.isnan(known.room) else known.room,
        hint=_REMEDY,
    )
