"""Projections of stored tables: from the call to the answer, and from a checkpoint onwards."""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from purtensor._options import check_choice
from purtensor.errors import InfeasibleError, InvalidOptionError, StoreError
from purtensor.outofcore.checkpoint import PartsPoint
from purtensor.outofcore.diagnose import diagnose_slabs
from purtensor.outofcore.diagnosis import refute_by_row, witness_of
from purtensor.outofcore.engine import require_dask
from purtensor.outofcore.face import (
    before_face,
    begin_at_reference,
    begin_on,
    face_of,
    notes_of,
    recall_on,
)
from purtensor.outofcore.parts_space import PartsSpace
from purtensor.outofcore.prepare import slab_store_of
from purtensor.outofcore.rows_project import project_by_rows
from purtensor.outofcore.saved_results import conclude, constraints_of
from purtensor.outofcore.slab_store import SlabStore, read_store
from purtensor.outofcore.targets import BareRowError, Constraint, open_problem
from purtensor.outofcore.warm_start import begin_from
from purtensor.outofcore.workspace import lock_question
from purtensor.projection.deliver import deliver
from purtensor.projection.evidence import ChunkedEvidence
from purtensor.projection.lazy_verdict import FaceVerdict, LazyVerdict
from purtensor.projection.options import check_telling, iterations_of, refuse_log_ratio, stopping_of
from purtensor.projection.progress import progress_callback
from purtensor.projection.result import Projection
from purtensor.solving.certificate import UNPROVED
from purtensor.solving.loop import Stage
from purtensor.solving.run_state import State
from purtensor.solving.solve import solve
from purtensor.solving.solvers.automatic import Automatic
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.solvers.lbfgs import LBFGS
from purtensor.solving.solvers.newton import Newton, newton_step
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination
from purtensor.tables.domain import Domain
from purtensor.tables.io.path_checks import path_text, require_store
from purtensor.tables.store.table import StoredTable, open_table


def project_stored(
    reference: Any,
    constraints: Any,
    *,
    solver: Any = None,
    tolerance: float = 1e-10,
    stop_on: str = "residual",
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    on_failure: str = "raise",
    certificate: bool = True,
    start: Any = None,
    progress: bool = False,
    callback: Any = None,
    part_profiles: int | None = None,
) -> Projection[Any]:
    """Return the projection of a stored table, or of one of chunks of dask; what `project` calls for those.

    The table is cut once into parts of whole slabs, which lie in its workspace; every iteration is one map and reduce
    over the parts, on whatever runs dask: threads, processes, or the Client that is active. After each there is a
    checkpoint, from which `resume` continues. Where the constraints force zeros the run continues without them, as in
    memory; they stay in the table.

    Parameters
    ----------
    solver
        `Newton()` (also when None) or `IPF()`; or `LBFGS()`, which needs no slabs, but proves no bound.
    start
        An earlier projection, on disk or in memory, or tables of potentials; reference and targets may have changed.
    part_profiles
        How many profiles a part has at most, unless one slab has more.

    Raises
    ------
    NoSlabsError
        No attributes cut the constraints into slabs.
    TooLargeError, StoreError
        Memory or disk do not suffice.
    """
    stopping = stopping_of(tolerance, stop_on, max_iterations, max_seconds)
    # it takes a dense array of profiles times rows at each point
    refuse_log_ratio(stop_on, "runs on stored tables (result.log_ratio_bound is proved in memory, at their end)")
    check_choice("on_failure", on_failure, ("raise", "warn", "return"))
    with open_problem(reference, constraints) as (stored, flat), lock_question(stored, flat) as waited:
        try:
            if isinstance(solver, LBFGS):
                with progress_callback(progress, callback, stopping.residual) as report:
                    found = project_by_rows(stored, flat, solver, stopping, start, part_profiles, report)
            else:
                options = _options(solver, len(flat), stopping, certificate)
                store = slab_store_of(stored, flat, part_profiles)
                space, state = _begin(PartsSpace(store, options), stored, start, joins=waited)
                found = _carry_on(store, space, state, stored, flat, progress, callback)
        # found while the table is cut, before there is anything to diagnose
        except BareRowError as bare:
            raise InfeasibleError(str(bare), refute_by_row(stored, flat, bare)) from None
        answer: Projection[Any] = found
        if reference is not stored:
            chunked: Any = {"reference": reference, "table": None, "evidence": ChunkedEvidence(found, reference)}
            answer = replace(found, **chunked)
        return deliver(answer, on_failure)


def _begin(
    space: PartsSpace, reference: StoredTable, start: Any, *, joins: bool
) -> tuple[PartsSpace, State[PartsPoint]]:
    """Return where a run begins: at the reference, at potentials to start from, or where one that it joins stands.

    Who waited for another run of the same question continues from its checkpoint, so that what that run returned, and
    is read by now, is not written again.
    """
    if start is not None:
        space.options["run"] = secrets.token_hex(4)  # no run before began there
        return space, begin_from(space, reference.domain, start)
    if joins and (space.store.folder / "checkpoint").exists():
        joined, state = recall_on(space.store)
        # a run with other options would give another answer: then it begins anew
        if all(joined.options.get(name) == value for name, value in space.options.items()):
            return joined, state
    # an earlier run's goes before states of this one are written, or a crash would leave the two mixed
    (space.store.folder / "checkpoint").unlink(missing_ok=True)
    return space, begin_at_reference(space, reference.domain)


def resume(
    path: str | os.PathLike[str],
    *,
    on_failure: str = "raise",
    max_iterations: int | None = None,
    progress: bool = False,
    callback: Any = None,
) -> Projection[StoredTable]:
    """Go on with the projection of a stored table from its last checkpoint, to the same bits as without a break.

    Parameters
    ----------
    path
        The folder of the run, `result.path`; or the workspace in which it is the only one.
    on_failure, progress, callback
        As in `project`; solver and stopping rule are those of the run.
    max_iterations
        Another limit than the run's own.

    Raises
    ------
    MissingStoreError
        Nothing is at that path.
    InvalidOptionError
        An option of another type.
    StoreError
        There is no checkpoint, or what it names is damaged or gone.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=[1, 2, 3, 5])
    >>> stored = pt.store_table(counts, "counts.zarr")
    >>> target = pt.marginals_of(pt.tabulate({"a": [0, 1], "b": [0, 1]}), ["a", "b"])
    >>> stopped = pt.project(stored, target, max_iterations=0, on_failure="return")
    >>> pt.resume(stopped.path, max_iterations=100).converged
    True
    """
    require_dask()
    check_choice("on_failure", on_failure, ("raise", "warn", "return"))
    check_telling(progress, callback)
    # options are checked before the folder is read
    limit = None if max_iterations is None else iterations_of(max_iterations)
    root = read_store(_run_folder(Path(path_text(path))))
    reference, constraints = open_table(root.table, workspace=root.folder.parent), constraints_of(root)
    with lock_question(reference, constraints):
        space, state = recall_on(root)
        if limit is not None:
            space.options["stopping"]["max_iterations"] = limit
        return deliver(_carry_on(root, space, state, reference, constraints, progress, callback), on_failure)


def _run_folder(path: Path) -> Path:
    require_store(path, "a run")
    if (path / "problem").exists():
        return path
    found = sorted(one.parent for one in path.glob("*/checkpoint"))
    if len(found) != 1:
        raise StoreError(f"{path} has {len(found)} runs with a checkpoint; give the folder of one run, result.path")
    return found[0]


def _options(solver: Any, constraints: int, stopping: Stopping, certificate: bool) -> dict[str, Any]:
    """Return the solver and its stopping rule as JSON has them."""
    order = list(range(constraints))
    if solver is None or isinstance(solver, Automatic):
        solver = Newton()
    if isinstance(solver, IPF):
        if solver.relaxation != 1.0 or solver.acceleration is not None or solver.blocks is not None:
            raise InvalidOptionError("stored tables support plain IPF only, without relaxation, acceleration or blocks")
        order = [int(k) for k in solver.order] if solver.order is not None else order
        if sorted(order) != list(range(constraints)):
            raise InvalidOptionError(f"order must be a permutation of 0 .. {constraints - 1}, got {tuple(order)}")
    elif not isinstance(solver, Newton):
        raise InvalidOptionError(f"a stored table must be projected by Newton(), IPF() or LBFGS(), got {solver!r}")
    newton = isinstance(solver, Newton)
    # part of every state's name: runs by other solvers in the same folder do not touch each other's
    run = hashlib.sha256(repr((solver, order)).encode()).hexdigest()[:8]
    return {
        "run": run,
        "newton": newton,
        "warm_up": solver.warm_up if isinstance(solver, Newton) else 0,
        "order": order,
        "stopping": asdict(stopping),
        "certificate": certificate,
    }


def _carry_on(
    root: SlabStore,
    space: PartsSpace,
    state: State[PartsPoint],
    reference: StoredTable,
    constraints: tuple[Constraint, ...],
    progress: bool,
    callback: Any,
) -> Projection[StoredTable]:
    """Go on with a run to its answer: on the problem as it was given, then on the face that forced zeros leave."""
    verdict = PartsVerdict(
        LazyVerdict(lambda: diagnose_slabs(root, reference, constraints)), root, reference.domain, space
    )
    before = before_face(space.options)
    stopping = Stopping(**space.options["stopping"])
    with progress_callback(progress, callback, stopping.residual) as report:
        # `before`: iterations and seconds that a run on a face has spent on the whole problem count as well
        outcome = solve(_stage(space, state), stopping, verdict, report, before)
    # the verdict holds the space of the face, where the run went on there
    space, proof = verdict.space, UNPROVED
    # after Ctrl-C no proof is begun: it takes several passes
    if outcome.termination is not Termination.NOT_FINITE and space.options["certificate"] and not outcome.hurried:
        proof = space.proof(outcome.iterate, at_last=True)
    notes = notes_of(root, space.store, space.options)
    return conclude(
        root, space, outcome, outcome.iterate, proof, notes, reference, constraints, verdict.lazily.diagnosis
    )


def _stage(space: PartsSpace, state: State[PartsPoint]) -> Stage[PartsPoint]:
    """Return what the loop works on: Newton's method or sweeps, as the options of the run say."""
    options = space.options
    if options["newton"]:
        return Stage(space, state, partial(newton_step, space, options["warm_up"]), space.proof)
    order = tuple(options["order"])
    return Stage(space, state, lambda point, budget: space.sweep(point, order, budget), space.proof)


@dataclass(slots=True, eq=False)
class PartsVerdict(FaceVerdict[StoredTable]):
    """The verdict on a problem cut into parts; `space` becomes that of its face when the run continues there."""

    root: SlabStore
    domain: Domain
    space: PartsSpace

    def face(self, state: State[PartsPoint]) -> Stage[PartsPoint]:
        """Return the problem that the implied zeros leave, where a run begins anew."""
        face = face_of(self.root, self.domain, witness_of(self.lazily.find()))
        self.space, begun = begin_on(face, self.space, self.domain, state)
        return _stage(self.space, begun)
