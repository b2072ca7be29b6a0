"""A problem on disk without the profiles that a proof empties: a face of it, part by part.

Every inside row keeps its number and its target, so that weights of one problem are weights of its faces.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.rank.echelon import primes
from purtensor.constraints.system import System
from purtensor.feasibility.farkas import exact_terms
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.check_certificate import LARGEST
from purtensor.outofcore.engine import map_each
from purtensor.outofcore.part import Part, codes_of_rows, read_labels, read_part, write_labels
from purtensor.outofcore.part_layout import Laid, add_parts, lay_out
from purtensor.outofcore.partition import nats_left_out
from purtensor.outofcore.slab_store import SlabStore, read_store, write_store
from purtensor.outofcore.targets import BareRowError
from purtensor.outofcore.workspace import remove_on_error
from purtensor.solving.basis import UPWARD
from purtensor.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Restricted:
    """The rest of a part.

    Attributes
    ----------
    laid
        Its layout; None where a row lost its last profile.
    left_out
        The mass of the reference that is not, as scaled.
    value
        b.t of the part's own rows, exactly.
    least, largest
        The least positive C^T t of the profiles that are not, and the largest absolute weight.
    bare
        A constraint and the codes of one of its rows that has no profile any more.
    """

    laid: Laid | None = None
    left_out: float = 0.0
    value: Fraction = Fraction(0)
    least: int = 1
    largest: int = 0
    bare: tuple[int, tuple[int, ...]] | None = None


def restrict_to_face(store: SlabStore, domain: Domain, proof: Path, checksums: Sequence[int]) -> SlabStore:
    """Return the problem on the profiles that kept weights leave; made when it is not there yet.

    Parameters
    ----------
    proof, checksums
        The folder of the weights, a file per part, and what names them.

    Raises
    ------
    BareRowError
        A row has a positive target, and no profile any more.
    StoreError
        The disk is full.
    """
    # named by what it is made of: the same proof finds the same face again
    message = f"{store.folder.name} {list(checksums)}"
    folder = store.face(hashlib.sha256(message.encode()).hexdigest()[:16])
    # `problem` is written last: where it is, the face is whole
    if (folder / "problem").exists():
        return read_store(folder)
    with remove_on_error(folder):
        face = _make(store, domain, proof, folder)
        write_store(face)
    return face


def _make(store: SlabStore, domain: Domain, proof: Path, folder: Path) -> SlabStore:
    prime = next(primes())
    made = dict(
        zip(store.parts, map_each(restrict_part, store.parts, store, domain, proof, folder, prime), strict=True)
    )
    for one in made.values():
        if one.bare is not None:
            k, codes = one.bare
            raise BareRowError(domain, store.scopes[k], k, codes)
    laid = {number: one.laid for number, one in made.items() if one.laid is not None}
    # parts without profiles keep their labels, since the table is written with all of its profiles
    empty = [number for number in store.label_parts if number not in made]
    left_out = sum(map_each(copy_labels, empty, store, folder)) + math.fsum(one.left_out for one in made.values())
    # fewer profiles may make more coupling rows dependent
    face = add_parts(replace(store, folder=folder), laid, prime)
    whole = face.mass + left_out
    # in fractions: 0 here means exactly empty, and costs the bound nothing
    outer = sum(exact_terms(store.outer_targets, outer_weights(store, proof)), Fraction(0))
    value = abs(sum((one.value for one in made.values()), outer))
    largest = max(one.largest for one in made.values())
    # what the constraints leave of b.t, and what profiles that earlier proofs emptied may take off it
    doubtful = float(value / min(one.least for one in made.values())) + len(store.scopes) * largest * store.face_mass
    return replace(
        face,
        nats_left_out=nats_left_out(left_out / whole, face.mass / whole),
        proofs=store.proofs + 1,
        face_mass=store.face_mass + doubtful * UPWARD,
        apart=False,
    )


def restrict_part(number: int, store: SlabStore, domain: Domain, proof: Path, folder: Path, prime: int) -> Restricted:
    """Write what a proof leaves of a part, its labels, and the weights of all proofs so far."""
    part = read_part(store, number)
    codes, count, left_out = read_labels(store, number)
    held = read_packed(proof / f"{number:06d}").arrays
    empty = held["costs"] > 0
    rows = tuple(codes_of_rows(store, domain, part, codes, k) for k in range(len(store.scopes)))
    for k in part.inside:
        bare = np.bincount(part.index[k][~empty], minlength=len(rows[k][0])) == 0
        if bare.any():
            return Restricted(bare=(k, tuple(int(code[np.argmax(bare)]) for code in rows[k])))
    stays = np.flatnonzero(~empty)
    system = System(part.index[:, stays], part.offsets, part.targets, Domain((), ()), store.scopes, rows)
    order, laid = lay_out(folder / "parts" / f"{number:06d}", system, part.reference[stays], store.key, prime)
    emptied = np.ldexp(part.reference[empty], store.reference_exponent)
    order = np.concatenate([stays[order], np.flatnonzero(empty), np.arange(count, len(codes[0]))])
    left_out = np.concatenate([emptied, left_out])
    write_labels(
        folder / "labels" / f"{number:06d}", [code[order] for code in codes], domain.sizes, left_out, len(stays)
    )
    # rows keep their numbers on faces, so all proofs of a run are lines over the same rows
    weights = np.concatenate([earlier_weights(store, number, part), held["weights"][None, :]])
    touched = mark_touched_rows(store, number, part)
    for k, index in enumerate(part.index):
        touched[part.block(k)][np.unique(index[empty])] = True
    write_packed(folder / "proof" / f"{number:06d}", {"weights": weights, "touched": touched})
    own, outer = held["weights"], part.outer_rows()
    return Restricted(
        laid,
        _sum_scaled(store, left_out),
        sum(exact_terms(np.delete(part.targets, outer), np.delete(own, outer)), Fraction(0)),
        int(held["costs"][empty].min(initial=LARGEST)),
        int(np.abs(own).max(initial=0)),
    )


def outer_weights(store: SlabStore, folder: Path) -> IntArray:
    """Return the weights of the rows that couple the parts, which are kept with each part."""
    number = store.parts[0]
    weights: IntArray = read_packed(folder / f"{number:06d}").arrays["weights"]
    return weights[read_part(store, number).outer_rows()]


def copy_labels(number: int, store: SlabStore, folder: Path) -> float:
    """Copy the labels of a part without profiles of the problem; return the mass of its reference, as scaled."""
    labels = read_packed(store.labels(number))
    write_packed(folder / "labels" / f"{number:06d}", labels.arrays, labels.facts)
    return _sum_scaled(store, labels.arrays["left_out"])


def _sum_scaled(store: SlabStore, values: FloatArray) -> float:
    return float(np.ldexp(values, -store.reference_exponent).sum())


def mark_touched_rows(store: SlabStore, number: int, part: Part) -> BoolArray:
    """Mark the rows of a part that have lost profiles on the way to a face; none where it is none."""
    if not store.proofs:
        return np.zeros(len(part.targets), dtype=bool)
    held = read_packed(store.folder / "proof" / f"{number:06d}").arrays
    return np.array(held["touched"], dtype=bool) if "touched" in held else np.ones(len(part.targets), dtype=bool)


def earlier_weights(store: SlabStore, number: int, part: Part) -> IntArray:
    """Return the weights that made a problem a face, one line a proof: all rows of a part; no line where it is none."""
    if not store.proofs:
        return np.empty((0, len(part.targets)), dtype=np.int64)
    weights: IntArray = read_packed(store.folder / "proof" / f"{number:06d}").arrays["weights"]
    return weights
