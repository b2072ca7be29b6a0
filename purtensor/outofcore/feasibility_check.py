"""The feasibility check of a run on disk: made when progress is suspiciously slow, as in memory."""

from __future__ import annotations

from purtensor.errors import NoSlabsError, StoreError, TooLargeError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.outofcore.diagnose import IN_MEMORY, diagnose_slabs, diagnose_stored
from purtensor.outofcore.quick_verdicts import open_for
from purtensor.outofcore.slab_store import SlabStore
from purtensor.outofcore.targets import Constraint
from purtensor.projection.lazy_verdict import LazyVerdict
from purtensor.tables.store.open_store import StoredTable


def verdict_on_slabs(
    store: SlabStore, reference: StoredTable, constraints: tuple[Constraint, ...]
) -> LazyVerdict[StoredTable]:
    """Return the verdict on a problem that is cut already."""
    return LazyVerdict(lambda: diagnose_slabs(store, reference, constraints))


def verdict_on_rows(reference: StoredTable, constraints: tuple[Constraint, ...]) -> LazyVerdict[StoredTable]:
    """Return the verdict on a problem that is not cut: it is cut for the verdict, where that can be.

    Where not, and no question that fits into memory refutes the constraints, the verdict is open and says why.
    """

    def diagnose() -> Diagnosis[StoredTable]:
        try:
            return diagnose_stored(reference, constraints)
        except NoSlabsError:
            reason = (
                f"no attributes divide these constraints into slabs, {reference.profiles} profiles are more than can "
                "be "
                f"diagnosed in memory by default ({IN_MEMORY}), and no coarser problem refutes the constraints; if "
                "the table fits into memory, diagnose its to_table()"
            )
            return open_for(reference, constraints, reason)
        except (TooLargeError, StoreError) as error:
            return open_for(reference, constraints, str(error))

    return LazyVerdict(diagnose)
