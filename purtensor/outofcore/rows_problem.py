"""A problem, or a face of it, whose profiles lie on disk in any chunks, all rows with the driver: it needs no slabs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InfeasibleError, TooLargeError
from purtensor.feasibility.farkas import spread_whole
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.diagnosis import StoredWitness
from purtensor.outofcore.engine import map_each
from purtensor.outofcore.partition import Extent, exponent_of, find_keys, nats_left_out
from purtensor.outofcore.proof_steps import Step
from purtensor.outofcore.targets import Constraint, align_target, most_rows, outer_rows
from purtensor.outofcore.workspace import identity_of, make_once
from purtensor.tables.grouping import profile_keys, smallest_unsigned
from purtensor.tables.store.format import read_profiles
from purtensor.tables.store.table import StoredTable
from purtensor.tables.translate import values_at

MOST_ROWS = 1 << 22
"""Rows that the driver holds: a few dozen vectors of that length, and each chunk gives back one."""


@dataclass(frozen=True, slots=True, eq=False)
class RowProblem:
    """A problem by its rows.

    Attributes
    ----------
    folder
        Where the chunks lie.
    reference, identity
        The stored table, and what it was when they were made.
    chunks
        The numbers of the chunks that have profiles of the problem.
    scopes, codes, offsets, targets
        The constraints, the codes of their rows, where each begins, and their targets as scaled, all positive.
    total, mass
        Of the targets and of the reference as scaled.
    nats_left_out
        What zeros of the targets, which leave profiles out, add to a divergence from the reference.
    reference_exponent, target_exponent
        Both were divided by two to these powers.
    """

    folder: Path
    reference: StoredTable
    identity: str
    chunks: tuple[int, ...]
    scopes: tuple[tuple[str, ...], ...]
    codes: tuple[tuple[IntArray, ...], ...]
    offsets: IntArray
    targets: FloatArray
    total: float
    mass: float
    nats_left_out: float
    reference_exponent: int
    target_exponent: int

    def block(self, k: int) -> slice:
        """Return where the rows of constraint k stand among all rows."""
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some profiles of a problem: their reference as scaled, their rows, and which of the stored chunk they are."""

    reference: FloatArray
    index: IntArray
    alive: IntArray

    @classmethod
    def read(cls, folder: Path, number: int) -> Chunk:
        """Return the chunk of this number."""
        arrays = read_packed(folder / f"{number:06d}").arrays
        return cls(arrays["reference"], arrays["index"], arrays["alive"])


def row_problem_of(reference: StoredTable, constraints: Sequence[Constraint], folder: Path) -> RowProblem:
    """Return a problem with its chunks in a folder, where they are written unless they are there.

    The folder is named by all that the chunks are made of (`problem_name`), and never changed.

    Raises
    ------
    TooLargeError
        More rows than a driver holds.
    InfeasibleError
        A positive target without a profile.
    """
    domain = reference.domain
    # before any target is read into memory
    _require_few_rows(reference, constraints)
    alike = [c if isinstance(c, Marginal) else c.in_memory() for c in constraints]
    check_consistency(alike)
    # powers of two, so that scaling loses no digit
    target_exponent = math.frexp(alike[0].total)[1]
    rows = []
    for constraint in alike:
        codes, values = align_target(constraint, reference)
        positive = values > 0
        rows.append(
            outer_rows(
                [code[positive] for code in codes],
                values[positive],
                domain.select(constraint.scope).sizes,
                target_exponent,
            )
        )
    scopes, keys = tuple(constraint.scope for constraint in alike), tuple(one[1] for one in rows)
    identity = identity_of(reference)
    # of two processes that begin at once the second discards its chunks; neither sees half of them
    made = make_once(folder, lambda place: _make_chunks(reference, scopes, keys, place))
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in keys])]).astype(np.int64)
    exponent = int(made["exponent"])
    # what zero targets leave of the reference, in its own units
    share = math.ldexp(made["mass"], exponent) / reference.total
    return RowProblem(
        folder,
        reference,
        identity,
        tuple(made["chunks"]),
        scopes,
        tuple(one[0] for one in rows),
        offsets,
        np.concatenate([r[2] for r in rows]),
        math.ldexp(alike[0].total, -target_exponent),
        made["mass"],
        nats_left_out(max(0.0, 1.0 - share), share),
        exponent,
        target_exponent,
    )


def _make_chunks(
    reference: StoredTable, scopes: Sequence[tuple[str, ...]], keys: Sequence[IntArray], folder: Path
) -> dict[str, Any]:
    """Write all chunks to a folder; return which have profiles, their mass as scaled, and the scale."""
    exponent = math.frexp(reference.total)[1]
    numbers = list(range(len(reference.bounds)))
    made = map_each(make_chunk, numbers, reference, scopes, keys, exponent, folder / "chunks")
    if not any(count for count, _, _ in made):
        raise InfeasibleError("no distribution meets the constraints: targets of 0 exclude every profile")
    # the scale is known only after the chunks are: mostly the first guess holds
    wanted = exponent_of((extent for _, _, extent in made), exponent)
    if wanted != exponent:
        exponent = wanted
        made = map_each(make_chunk, numbers, reference, scopes, keys, exponent, folder / "chunks")
    chunks = [number for number, (count, _, _) in zip(numbers, made, strict=True) if count]
    return {"chunks": chunks, "mass": math.fsum(one for _, one, _ in made), "exponent": exponent}


def _require_few_rows(reference: StoredTable, constraints: Sequence[Constraint]) -> None:
    rows = sum(most_rows(constraint, reference) for constraint in constraints)
    if rows > MOST_ROWS:
        raise TooLargeError(
            f"these constraints may have {rows} rows, but L-BFGS on disk holds at most {MOST_ROWS} in memory; "
            "use marginals that share a large attribute, which divides the problem into slabs",
            8 * rows,
            8 * MOST_ROWS,
        )


def make_chunk(
    number: int,
    reference: StoredTable,
    scopes: Sequence[tuple[str, ...]],
    keys: Sequence[IntArray],
    exponent: int,
    folder: Path,
) -> tuple[int, float, Extent]:
    """Write a chunk with the rows of its profiles; return their number, their mass as scaled, and their extent."""
    codes, values = read_profiles(reference.path, *reference.bounds[number])
    alive = values > 0
    index = np.empty((len(scopes), len(values)), dtype=np.int64)
    for k, (scope, known) in enumerate(zip(scopes, keys, strict=True)):
        own = [codes[reference.domain.position(name)] for name in scope]
        index[k] = find_keys(known, own, reference.domain.select(scope).sizes)
        # rows are those of positive targets only: a profile without one is empty
        alive &= index[k] >= 0
    masses = np.ldexp(values[alive], -exponent)
    kind = smallest_unsigned(max(len(known) for known in keys))
    arrays: dict[str, Any] = {
        "reference": masses,
        "index": index[:, alive].astype(kind),
        "alive": np.flatnonzero(alive),
    }
    write_packed(folder / f"{number:06d}", arrays)
    return len(masses), float(masses.sum()), Extent.of(values, alive)


def proofs_of(problem: RowProblem, found: StoredWitness) -> tuple[IntArray, ...]:
    """Return the whole numbers on all rows that empty the implied zeros of a diagnosis, one array a proof."""
    if found.settled is None:
        return tuple(_weights_of(problem, step) for step in found.steps)
    if not found.settled.certificate:
        return ()
    weights: IntArray = np.empty(int(problem.offsets[-1]), dtype=np.int64)
    for k, table in enumerate(found.settled.certificate):
        domain = problem.reference.domain.select(problem.scopes[k])
        weights[problem.block(k)] = values_at(table, domain, problem.codes[k])
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
