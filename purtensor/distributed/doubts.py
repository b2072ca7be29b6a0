"""How a run on disk uses the verdict on feasibility: asked when the progress raises doubts, as in memory."""

from __future__ import annotations

from dataclasses import dataclass

from purtensor.distributed.checkpoint import Stand
from purtensor.distributed.diagnose import diagnose_slabs
from purtensor.distributed.diagnosis import StoredDiagnosis
from purtensor.distributed.on_face import has_face
from purtensor.distributed.slab_store import SlabStore
from purtensor.distributed.targets import Constraint
from purtensor.feasibility.verdict import Verdict
from purtensor.solving.loop import LITTLE, PATIENCE
from purtensor.solving.solvers.newton import SLOW_STEPS
from purtensor.solving.termination import Termination
from purtensor.tables.stored import StoredTable


@dataclass(slots=True, eq=False)
class Doubts:
    """The verdict on the problem of one run, found at most once, when it is asked for."""

    store: SlabStore
    reference: StoredTable
    constraints: tuple[Constraint, ...]
    diagnosis: StoredDiagnosis | None = None

    def diagnosed(self) -> StoredDiagnosis:
        """Return the diagnosis, made on the first call."""
        if self.diagnosis is None:
            self.diagnosis = diagnose_slabs(self.store, self.reference, self.constraints)
        return self.diagnosis

    def is_hopeless(self) -> bool:
        """Tell whether it is proved that no positive solution exists, so that the potentials diverge."""
        found = self.diagnosed()
        return found.verdict is Verdict.INFEASIBLE or (found.verdict is Verdict.BOUNDARY and has_face(found))

    def ask(self, stand: Stand) -> bool:
        """Tell whether a run is to end where it stands: its progress raises doubts, and they are well-founded."""
        return is_doubtful(stand) and self.is_hopeless()

    def ending(self, ending: Termination) -> Termination:
        """Return how a run ended: one that stands still may have nothing to converge to.

        HOPELESS is left where there is a face to go on with.
        """
        if ending in (Termination.STALLED, Termination.NOT_FINITE) and self.is_hopeless():
            ending = Termination.HOPELESS
        if ending is Termination.HOPELESS and self.diagnosed().verdict is Verdict.INFEASIBLE:
            return Termination.INFEASIBLE
        return ending


def is_doubtful(stand: Stand) -> bool:
    """Tell whether Newton's steps are slow, or a long run has gained little over its second half.

    Nothing but where the run stands decides: one that is resumed there has the same doubts.
    """
    slow = stand.slow > 0 and stand.slow % SLOW_STEPS == 0
    times, rest = divmod(stand.iterations, PATIENCE)
    if slow or rest or times == 0 or times & (times - 1):
        return slow
    half = [line for line in stand.lines if line.iteration <= stand.iterations // 2]
    return bool(half) and stand.lines[-1].record.residual_l1 > LITTLE * half[-1].record.residual_l1
