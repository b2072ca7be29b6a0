"""Where a run continues that has found zeros which the constraints force: on the face that they leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import IntArray, Table
from purtensor.errors import StoreError
from purtensor.outofcore.checkpoint import PartsPoint, keep, recall
from purtensor.outofcore.diagnosis import StoredWitness
from purtensor.outofcore.engine import map_each
from purtensor.outofcore.part import codes_of_rows, read_labels, read_part, write_weights
from purtensor.outofcore.parts_space import PartsSpace
from purtensor.outofcore.passes import START
from purtensor.outofcore.restrict import restrict_to_face
from purtensor.outofcore.slab_store import SlabStore, read_store
from purtensor.solving.loop import begin
from purtensor.solving.run_state import State
from purtensor.tables.domain import Domain
from purtensor.tables.translate import values_at


def face_of(store: SlabStore, domain: Domain, found: StoredWitness) -> SlabStore:
    """Return the problem without the implied zeros of a diagnosis: the rest has a positive solution."""
    # the search ended on a face that is on disk already; else a diagnosis in memory names the zeros
    if found.settled is None:
        last = store if found.store is None else found.store
        return store if last.folder == store.folder else read_store(last.folder)
    if not found.settled.certificate:
        return store
    folder = store.folder / "verdict" / "settled"
    kept = map_each(keep_settled, store.parts, store, domain, found.settled.certificate, folder)
    return restrict_to_face(store, domain, folder, kept)


def keep_settled(number: int, store: SlabStore, domain: Domain, certificate: Sequence[Table], folder: Path) -> int:
    """Write the weights that a diagnosis in memory found, and C^T t, for a part; return the file's checksum."""
    part = read_part(store, number)
    codes, _, _ = read_labels(store, number)
    weights: IntArray = np.empty(len(part.targets), dtype=np.int64)
    for k, table in enumerate(certificate):
        rows = codes_of_rows(store, domain, part, codes, k)
        weights[part.block(k)] = values_at(table, domain.select(store.scopes[k]), rows)
    return write_weights(folder, number, part, weights)


def begin_at_reference(space: PartsSpace, domain: Domain) -> State[PartsPoint]:
    """Return the state of a run that begins at the reference.

    Raises
    ------
    BareRowError
        A row that couples the parts has a positive target and no profile.
    """
    point = space.start()
    space.refuse_bare_rows(point.tally, domain)
    state = begin(space, point)
    space.keep(state)
    return state


def begin_on(
    face: SlabStore, before: PartsSpace, domain: Domain, state: State[PartsPoint]
) -> tuple[PartsSpace, State[PartsPoint]]:
    """Return the face as a space, and the state of a run that begins there; its checkpoint is that of the face.

    Its options record what went before on the whole problem.
    """
    store = before.store
    facts = {
        # by name only, so that the folder of a run can be copied
        "folder": "" if face.folder == store.folder else face.folder.name,
        "iterations": state.iterations,
        "seconds": state.seconds,
    }
    space = PartsSpace(face, {**before.options, "face": facts})
    started = begin_at_reference(space, domain)
    if face.folder != store.folder:
        # the whole problem's checkpoint only points to the face; its states need not stay
        keep(store, replace(state, point=replace(state.point, token=START)), space.options)
    return space, started


def recall_on(store: SlabStore) -> tuple[PartsSpace, State[PartsPoint]]:
    """Return the problem that the last run of a folder works on, itself or a face of it, and where the run stands.

    Raises
    ------
    StoreError
        There is no checkpoint, or what it names is damaged or gone.
    """
    state, options = recall(store)
    face = face_named(store, (options.get("face") or {}).get("folder", ""))
    if face is not store:
        state, options = recall(face)
    return PartsSpace(face, options), state


def face_named(store: SlabStore, name: Any) -> SlabStore:
    """Return the face of a problem that has this name, the problem itself without one.

    Raises
    ------
    StoreError
        It is gone or damaged, or what was read is not a name.
    """
    if name == "":
        return store
    # a checkpoint is a file like any other: a name must not lead out of the folder
    if not isinstance(name, str) or Path(name).name != name or name.startswith("."):
        raise StoreError(f"{store.folder} has no valid face to continue on: {name!r} is unknown")
    return read_store(store.face(name))


def before_face(options: dict[str, Any]) -> tuple[int, float] | None:
    """Return how many iterations a run made before it went on a face, and their seconds; None where it did not."""
    before = options.get("face")
    return (before["iterations"], before["seconds"]) if before else None


def notes_of(store: SlabStore, face: SlabStore, options: dict[str, Any]) -> tuple[str, ...]:
    """Return the notes of a run, as in memory."""
    before = before_face(options)
    if before is None:
        return (face.note,)
    found = f"the constraints force zeros, found after {before[0]} iterations; solved again without them"
    return (store.note, found, face.note)
