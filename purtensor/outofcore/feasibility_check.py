"""How a run on disk uses the verdict on feasibility: asked when the progress raises doubts, as in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from purtensor.errors import NoSlabsError, StoreError, TooLargeError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore.diagnose import IN_MEMORY, diagnose_slabs, diagnose_stored
from purtensor.outofcore.diagnosis import witness_of
from purtensor.outofcore.face import has_face
from purtensor.outofcore.quick_verdicts import open_for
from purtensor.outofcore.slab_store import SlabStore
from purtensor.outofcore.targets import Constraint
from purtensor.tables.store.open_store import StoredTable


@dataclass(slots=True, eq=False)
class Doubts:
    """The verdict on the problem of one run, found at most once, when it is asked for."""

    diagnose: Callable[[], Diagnosis[StoredTable]]
    diagnosis: Diagnosis[StoredTable] | None = None

    def diagnosed(self) -> Diagnosis[StoredTable]:
        """Return the diagnosis, made on the first call."""
        if self.diagnosis is None:
            self.diagnosis = self.diagnose()
        return self.diagnosis

    def is_hopeless(self) -> bool:
        """Tell whether it is proved that no positive solution exists, so that the potentials diverge."""
        found = self.diagnosed()
        return found.verdict is Verdict.INFEASIBLE or (
            found.verdict is Verdict.BOUNDARY and has_face(witness_of(found))
        )

    def is_refuted(self) -> bool:
        """Tell whether there is no solution at all."""
        return self.diagnosed().verdict is Verdict.INFEASIBLE


def doubts_of_slabs(store: SlabStore, reference: StoredTable, constraints: tuple[Constraint, ...]) -> Doubts:
    """Return the doubts of a run on a problem that is cut already."""
    return Doubts(lambda: diagnose_slabs(store, reference, constraints))


def doubts_of_rows(reference: StoredTable, constraints: tuple[Constraint, ...]) -> Doubts:
    """Return the doubts of a run on a problem that is not cut: it is cut for the verdict, where that can be.

    Where not, and no question that fits into memory refutes the constraints, the verdict is open and tells why.
    """

    def diagnose() -> Diagnosis[StoredTable]:
        try:
            return diagnose_stored(reference, constraints)
        except NoSlabsError:
            reason = (
                f"no attributes cut these constraints into slabs, {reference.profiles} profiles are more than are "
                f"diagnosed in memory unasked ({IN_MEMORY}), and no coarser question refutes the constraints; where "
                "memory holds the table, diagnose its to_table()"
            )
            return open_for(reference, constraints, reason)
        except (TooLargeError, StoreError) as error:
            return open_for(reference, constraints, str(error))

    return Doubts(diagnose)
