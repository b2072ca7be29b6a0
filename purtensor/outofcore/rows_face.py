"""A problem by its rows without the profiles that proofs empty; the driver holds the weights of all rows."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import IntArray
from purtensor.feasibility.farkas import spread_whole
from purtensor.outofcore.array_file import write_packed
from purtensor.outofcore.diagnosis import StoredWitness
from purtensor.outofcore.engine import map_each
from purtensor.outofcore.partition import find_keys, nats_left_out
from purtensor.outofcore.proof_steps import Step
from purtensor.outofcore.rows_problem import Chunk, RowProblem
from purtensor.outofcore.workspace import make_once
from purtensor.tables.grouping import profile_keys
from purtensor.tables.values_at import look_up


def proofs_of(problem: RowProblem, found: StoredWitness) -> tuple[IntArray, ...]:
    """Return the whole numbers on all rows that empty the implied zeros of a diagnosis, one array a proof."""
    if found.settled is None:
        return tuple(_weights_of(problem, step) for step in found.steps)
    if not found.settled.certificate:
        return ()
    weights: IntArray = np.empty(int(problem.offsets[-1]), dtype=np.int64)
    for k, table in enumerate(found.settled.certificate):
        domain = problem.reference.domain.select(problem.scopes[k])
        weights[problem.block(k)] = look_up(table, domain, problem.codes[k])
    return (weights,)


def _weights_of(problem: RowProblem, step: Step) -> IntArray:
    """Return the weights of a step, which lie on disk part by part, on the rows of a problem."""
    weights: IntArray = np.zeros(int(problem.offsets[-1]), dtype=np.int64)
    domain = problem.reference.domain
    sizes = [domain.select(scope).sizes for scope in problem.scopes]
    keys = [profile_keys(codes, own)[0] for codes, own in zip(problem.codes, sizes, strict=True)]
    for part, codes, own in step.parts():
        for k, scope in enumerate(problem.scopes):
            rows, first = np.unique(part.index[k], return_index=True)
            # rows are matched by label: parts number them in their own way
            place = find_keys(keys[k], [codes[domain.position(name)][first] for name in scope], sizes[k])
            weights[problem.offsets[k] + place] = own[part.block(k)][rows]
    return weights


def face_of_rows(problem: RowProblem, proofs: Sequence[IntArray]) -> RowProblem:
    """Return a problem without the profiles that proofs empty, each on those that the ones before left."""
    digest = hashlib.sha256()
    for weights in proofs:
        digest.update(np.ascontiguousarray(weights).tobytes())
    folder = problem.folder / f"face-{digest.hexdigest()[:16]}"
    made = make_once(folder, lambda place: _restrict_chunks(problem, proofs, place))
    mass = float(made["mass"])
    # shares multiply, so what they add to the divergence adds up
    share = mass / problem.mass
    return replace(
        problem,
        folder=folder,
        chunks=tuple(made["chunks"]),
        mass=mass,
        nats_left_out=problem.nats_left_out + nats_left_out(max(0.0, 1.0 - share), share),
    )


def _restrict_chunks(problem: RowProblem, proofs: Sequence[IntArray], folder: Path) -> dict[str, Any]:
    """Write what proofs leave of all chunks to a folder; return which have profiles, and their mass as scaled."""
    made = map_each(
        restrict_chunk, problem.chunks, problem.folder / "chunks", folder / "chunks", problem.offsets, tuple(proofs)
    )
    chunks = [number for number, (count, _) in zip(problem.chunks, made, strict=True) if count]
    return {"chunks": chunks, "mass": math.fsum(one for _, one in made)}


def restrict_chunk(
    number: int, source: Path, folder: Path, offsets: IntArray, proofs: Sequence[IntArray]
) -> tuple[int, float]:
    """Write what proofs leave of a chunk; return how many profiles, and their mass as scaled."""
    chunk = Chunk.read(source, number)
    stays = np.ones(len(chunk.reference), dtype=bool)
    for weights in proofs:
        costs = spread_whole(chunk.index, offsets, weights)
        # costs of later proofs may be negative on profiles that are gone, never on those that are left
        stays &= ~(costs > 0)
    arrays: dict[str, Any] = {
        "reference": chunk.reference[stays],
        "index": chunk.index[:, stays],
        "alive": chunk.alive[stays],
    }
    write_packed(folder / f"{number:06d}", arrays)
    return int(stays.sum()), float(chunk.reference[stays].sum())
