"""Projections of stored tables whose constraints have no slabs: by L-BFGS, the rows held by the driver."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import IntArray
from purtensor.errors import InvalidOptionError, NoSlabsError, StoreError, TooLargeError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore.checkpoint import PartsPoint
from purtensor.outofcore.diagnose import IN_MEMORY, diagnose_stored
from purtensor.outofcore.diagnosis import StoredWitness, leave_open, witness_of
from purtensor.outofcore.engine import map_each
from purtensor.outofcore.part import read_part, write_weights
from purtensor.outofcore.partition import find_keys
from purtensor.outofcore.prepare import slab_store_of
from purtensor.outofcore.proof_steps import Step
from purtensor.outofcore.restrict import restrict_to_face
from purtensor.outofcore.rows_space import RowsSpace
from purtensor.outofcore.saved_results import conclude
from purtensor.outofcore.slab_store import SlabStore
from purtensor.outofcore.targets import Constraint
from purtensor.outofcore.warm_start import bring_potentials
from purtensor.projection.lazy_verdict import FaceVerdict, LazyVerdict
from purtensor.projection.result import Projection
from purtensor.solving.certificate import UNPROVED
from purtensor.solving.loop import Callback, Stage, begin
from purtensor.solving.run_state import State
from purtensor.solving.solve import solve
from purtensor.solving.solvers.lbfgs import LBFGS, lbfgs_step
from purtensor.solving.stopping import Stopping
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import profile_keys
from purtensor.tables.store.table import StoredTable
from purtensor.tables.translate import values_at


def project_by_rows(
    reference: StoredTable,
    constraints: tuple[Constraint, ...],
    solver: LBFGS,
    stopping: Stopping,
    start: Any,
    part_profiles: int | None,
    callback: Callback[PartsPoint] | None,
) -> Projection[StoredTable]:
    """Return the projection of a stored table by L-BFGS on its dual.

    Any parts serve, and every value of the dual is one pass over them. There is no checkpoint and no certificate; the
    potentials so far are in what is returned, and `start` continues from them. Where a run gains little, or stands
    still, the verdict on feasibility is requested, as in memory: zeros that the constraints force are left out.

    Raises
    ------
    InvalidOptionError
        `stop_on="tv_bound"`, since nothing is proved on the way.
    TooLargeError
        More rows than a driver holds.
    InfeasibleError
        A positive target without a profile.
    """
    if stopping.stop_on != "residual":
        raise InvalidOptionError("L-BFGS on disk proves no bound: stop_on must be 'residual'")
    root = slab_store_of(reference, constraints, part_profiles, by_rows=True)
    space = RowsSpace(root)
    # sums of the reference show rows without profiles, also where the run begins elsewhere; scaled, they may underflow
    nothing = np.zeros_like(space.targets)
    found = space.measure(nothing)
    space.refuse_bare_rows(found, reference.domain)
    point = space.make_point(nothing, found)
    if start is not None:
        point = space.at(bring_potentials(root, reference.domain, start, root.folder / "start"))
    verdict = RowsVerdict(LazyVerdict(lambda: _diagnose(reference, constraints)), solver, space, reference.domain)
    outcome = solve(verdict.stage(begin(space, point, at_reference=start is None)), stopping, verdict, callback)
    space, diagnosis = verdict.space, verdict.lazily.diagnosis
    notes = [root.note, *outcome.notes]
    if diagnosis is not None and diagnosis.verdict is Verdict.OPEN:
        notes.append(" ".join(diagnosis.explanation.sentences))
    # all potentials are the driver's, so a point is named by what they are
    token = hashlib.sha256(outcome.iterate.outer.tobytes()).hexdigest()[:16]
    end = PartsPoint(token, outcome.iterate.outer, outcome.iterate.tally)
    return conclude(root, space, outcome, end, UNPROVED, tuple(notes), reference, constraints, diagnosis)


def _diagnose(reference: StoredTable, constraints: tuple[Constraint, ...]) -> Diagnosis[StoredTable]:
    """Return the verdict on a problem without slabs: it is cut for the verdict, where that can be.

    Where not, and no question that fits into memory refutes the constraints, the verdict is open and says why.
    """
    try:
        return diagnose_stored(reference, constraints)
    except NoSlabsError:
        reason = (
            f"no attributes divide these constraints into slabs, {reference.profiles} profiles are more than can be "
            f"diagnosed in memory by default ({IN_MEMORY}), and no coarser problem refutes the constraints; if the "
            "table fits into memory, diagnose its to_table()"
        )
        return leave_open(reference, constraints, reason)
    except (TooLargeError, StoreError) as error:
        return leave_open(reference, constraints, str(error))


@dataclass(slots=True, eq=False)
class RowsVerdict(FaceVerdict[StoredTable]):
    """The verdict on a problem by its rows; `space` becomes that of its face when the run continues there."""

    solver: LBFGS
    space: RowsSpace
    domain: Domain

    def face(self, state: State[PartsPoint]) -> Stage[PartsPoint]:
        """Return the problem that the implied zeros leave, where a run begins anew."""
        store = self.space.store
        for weights in _proofs_of(store, self.domain, witness_of(self.lazily.find())):
            folder = store.folder / "verdict" / "proof"
            checksums = map_each(keep_weights_of_rows, store.parts, store, weights, folder)
            store = restrict_to_face(store, self.domain, folder, checksums)
        self.space = RowsSpace(store)
        # from the reference: the potentials so far have begun to diverge
        return self.stage(begin(self.space, self.space.start()))

    def stage(self, state: State[PartsPoint]) -> Stage[PartsPoint]:
        """Return what the loop works on."""
        return Stage(self.space, state, partial(lbfgs_step, self.space, self.solver.memory))


def keep_weights_of_rows(number: int, store: SlabStore, weights: IntArray, folder: Path) -> int:
    """Write weights on all rows, and C^T t of the profiles of a part; return the file's checksum."""
    return write_weights(folder, number, read_part(store, number), weights)


def _proofs_of(store: SlabStore, domain: Domain, found: StoredWitness) -> Sequence[IntArray]:
    """Return the whole numbers on all rows that empty the implied zeros of a diagnosis, one array per proof."""
    if found.settled is None:
        return [_weights_of(store, domain, step) for step in found.steps]
    pairs = zip(found.settled.certificate, store.scopes, store.outer_codes, strict=False)
    weights = [values_at(table, domain.select(scope), codes) for table, scope, codes in pairs]
    return [np.concatenate(weights).astype(np.int64)] if weights else []


def _weights_of(store: SlabStore, domain: Domain, step: Step) -> IntArray:
    """Return the weights of a step, which lie on disk part by part, on the rows of a problem."""
    weights: IntArray = np.zeros(len(store.outer_targets), dtype=np.int64)
    sizes = [domain.select(scope).sizes for scope in store.scopes]
    keys = [profile_keys(codes, own)[0] for codes, own in zip(store.outer_codes, sizes, strict=True)]
    for part, codes, own in step.parts():
        for k, scope in enumerate(store.scopes):
            rows, first = np.unique(part.index[k], return_index=True)
            # rows are matched by label: parts number them in their own way
            place = find_keys(keys[k], [codes[domain.position(name)][first] for name in scope], sizes[k])
            weights[store.outer_blocks[k].start + place] = own[part.block(k)][rows]
    return weights
