"""Save projections on disk: the folder of a run contains its result and can be copied."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.errors import StoreError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.outofcore.array_file import make_folder, read_own, write_packed
from purtensor.outofcore.checkpoint import PartsPoint
from purtensor.outofcore.face import face_named
from purtensor.outofcore.parts_points import StoredSpace
from purtensor.outofcore.passes import START
from purtensor.outofcore.result import SlabEvidence, evidence_of, table_place
from purtensor.outofcore.slab_store import SlabStore, read_store
from purtensor.outofcore.targets import Constraint
from purtensor.projection.labels import trace_of
from purtensor.projection.result import Projection
from purtensor.solving.certificate import Certificate
from purtensor.solving.loop import Run
from purtensor.solving.termination import Termination
from purtensor.tables.io.atomic import begun_beside, give_up, is_there, move_into
from purtensor.tables.store.table import StoredTable, open_table

_NUMBERS = ("residual", "residual_l1", "divergence", "bound", "tv_bound", "seconds")


def keep_result(result: Projection[StoredTable], evidence: SlabEvidence) -> None:
    """Write the data of a result into the folder of its run."""
    arrays: dict[str, Any] = {"outer": evidence.outer, "iteration": np.asarray(result.trace["iteration"].values)}
    arrays["numbers"] = np.array([getattr(result, name) for name in _NUMBERS])
    arrays.update({f"trace_{name}": np.asarray(own.values) for name, own in result.trace.data_vars.items()})
    facts = {
        "token": evidence.token,
        "termination": result.termination.name,
        "certified": bool(result.certified),
        "iterations": result.iterations,
        "notes": list(result.notes),
        "face": evidence.store.folder.name if evidence.store.folder != evidence.path else "",
        "trace": {str(name): dict(own.attrs) for name, own in result.trace.data_vars.items()},
    }
    write_packed(evidence.path / "result", arrays, facts)


def conclude(
    root: SlabStore,
    space: StoredSpace,
    outcome: Run[PartsPoint],
    point: PartsPoint,
    proof: Certificate,
    notes: tuple[str, ...],
    reference: StoredTable,
    constraints: tuple[Constraint, ...],
    diagnosis: Diagnosis[StoredTable] | None,
) -> Projection[StoredTable]:
    """Return the result of a run on a problem, `root`, that ended at a point of a space; it is kept in its folder."""
    store = space.store
    trace = trace_of(outcome.lines, proof.bound, store.nats_left_out)
    evidence = SlabEvidence(reference, root.folder, store, point.token, point.outer, trace)
    result = Projection(
        termination=outcome.termination,
        certified=proof.certified,
        residual=outcome.residual.largest,
        residual_l1=outcome.residual.l1,
        divergence=float("nan") if outcome.termination is Termination.NOT_FINITE else space.divergence(point),
        bound=proof.bound,
        tv_bound=proof.tv_bound,
        iterations=outcome.iterations,
        seconds=outcome.seconds,
        notes=notes,
        reference=reference,
        constraints=constraints,
        diagnosis=diagnosis,
        evidence=evidence,
    )
    keep_result(result, evidence)
    return result


def load_stored(path: str | os.PathLike[str]) -> Projection[StoredTable]:
    """Return the result of the last run of a folder: `result.path`, or where `save` put a copy.

    Raises
    ------
    StoreError
        The folder is none of a run that ended, or is damaged; or its reference is gone.
    """
    folder = Path(path)
    root = read_store(folder)
    packed = read_own(folder / "result")
    store = face_named(root, packed.facts["face"])
    reference, constraints = open_table(root.table, workspace=folder.parent), constraints_of(root)
    arrays, facts = packed.arrays, packed.facts
    try:
        data = {name: ("record", arrays[f"trace_{name}"], attrs) for name, attrs in facts["trace"].items()}
        trace = xr.Dataset(data, coords={"iteration": ("record", arrays["iteration"])})
        numbers: dict[str, Any] = dict(zip(_NUMBERS, arrays["numbers"].tolist(), strict=True))
        return Projection(
            **numbers,
            reference=reference,
            constraints=constraints,
            diagnosis=None,
            evidence=SlabEvidence(reference, folder, store, facts["token"], arrays["outer"], trace),
            termination=Termination[facts["termination"]],
            certified=facts["certified"],
            iterations=facts["iterations"],
            notes=tuple(facts["notes"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(f"{folder / 'result'} has no valid ending of a run: {error}") from error


def constraints_of(store: SlabStore) -> tuple[Constraint, ...]:
    """Return the constraints of a run: those that came in memory lie beside its slabs."""
    found: list[Constraint] = []
    for k, (scope, (place, in_memory)) in enumerate(zip(store.scopes, store.sources, strict=True)):
        if in_memory:
            found.append(Marginal(open_table(store.folder / "targets" / f"{k}.zarr").to_table()))
        else:
            found.append(StoredMarginal(open_table(place), scope))
    return tuple(found)


def save_stored(result: Projection[StoredTable], path: str | os.PathLike[str]) -> None:
    """Copy a result with all that it needs but its stored tables to a new folder; later runs do not touch it.

    Files are linked where the disk allows it: then the copy takes no room.

    Raises
    ------
    StoreError
        The folder exists already, the disk is full, or another run has taken the place of this one.
    """
    evidence = evidence_of(result)
    target = Path(path)
    if is_there(target):
        raise StoreError(f"{target} already exists: give a new folder, or remove it first")
    # anew: a later run of the same folder may have written its own there
    keep_result(result, evidence)
    places = _list_needed(evidence)
    # filled beside its place and moved there whole, so that an interrupted copy leaves no folder
    partial = begun_beside(target)
    try:
        for place in places:
            onto = partial / place.relative_to(evidence.path)
            make_folder(onto.parent)
            if place.is_dir():
                shutil.copytree(place, onto, copy_function=_link)
            elif place.exists():
                _link(str(place), str(onto))
        move_into(partial, target)
    except StoreError:
        raise
    except (OSError, ValueError) as error:
        raise StoreError(f"{str(target)!r} cannot be written: {getattr(error, 'strerror', None) or error}") from error
    finally:
        give_up(partial)


def _list_needed(result: SlabEvidence) -> Sequence[Path]:
    """Return what a result is made of: files and folders, of which some may not be there."""
    store = result.store
    state = store.state(result.token, 0).parent
    table = table_place(store, result.token)
    # one of both suffices for the masses; START is the reference itself, and has no state, as parts without own rows
    if not table.exists() and result.token != START and store.inside and not state.exists():
        raise StoreError(f"{result.path} now has another run: save a result before the next run of its problem")
    of_run = [result.path / name for name in ("problem", "result", "cut", "targets")]
    of_slabs = [store.folder / name for name in ("problem", "parts", "labels", "proof")]
    return [*dict.fromkeys([*of_run, *of_slabs, *_checkpoints(result)]), state, store.witness(result.token), table]


def _checkpoints(result: SlabEvidence) -> list[Path]:
    """Return the checkpoints of a result, none where a later run of its problem has put others in their place."""
    path = result.store.folder / "checkpoint"
    if not path.exists() or read_own(path).facts["token"] != result.token:
        return []
    if result.store.folder == result.path:
        return [path]
    first = result.path / "checkpoint"
    # on a face there are two checkpoints, which have to belong together
    leads = first.exists() and (read_own(first).facts["options"].get("face") or {}).get("folder")
    return [first, path] if leads == result.store.folder.name else []


def _link(source: str, target: str) -> str:
    try:
        # files are replaced, never changed, so a link stays what it is
        os.link(source, target)
    except OSError:  # another disk, or one that knows no links
        shutil.copy2(source, target)
    return target
