"""A problem cut into parts on disk: what is the same for all parts, and where each lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.errors import StoreError
from purtensor.outofcore.array_file import read_own, write_packed
from purtensor.solving.solvers.ipf.log_domain_sweeps import SMALL

FACES = "faces"
"""Where in the folder of a problem those lie that proofs leave of it."""


@dataclass(frozen=True, slots=True, eq=False)
class SlabStore:
    """A problem whose slabs lie on disk.

    Attributes
    ----------
    folder
        Where everything of this problem lies.
    table
        The stored table that is the reference.
    scopes, key, inside, outside
        The constraints' scopes, the slab key, and which constraints contain it.
    parts, label_parts
        The numbers of the parts that have slabs, and of all that have profiles.
    outer_targets, kept
        Targets of the rows that couple the parts, as scaled, and which of these rows are independent.
    outer_codes
        For each outside constraint the codes of its rows, one array per attribute.
    total
        Of the targets, as scaled.
    mass
        Of the reference on the profiles of the problem, as scaled.
    nats_left_out
        What zeros of the targets, and on a face zeros that the constraints imply, add to a divergence from the
        reference by leaving profiles out.
    reference_exponent, target_exponent
        The reference and the targets were divided by two to these powers.
    note
        The form of Newton's equations.
    sources
        For each constraint the stored table of its target, and whether the constraint came in memory.
    proofs
        By how many proofs profiles were left out: 0 for the problem as it was given, else it is a face of that.
    smallest
        The smallest mass or positive target, as scaled; 0 where the version that cut the table did not record it.
    face_mass
        What the profiles left out may have, as scaled, where the float64 targets imply their zeros to rounding only.
    apart
        Whether this is for the search of a verdict, whose states lie apart from those of a run. It is not stored.
    """

    folder: Path
    table: Path
    scopes: tuple[tuple[str, ...], ...]
    key: tuple[str, ...]
    inside: tuple[int, ...]
    outside: tuple[int, ...]
    parts: tuple[int, ...]
    label_parts: tuple[int, ...]
    outer_targets: FloatArray
    kept: BoolArray
    outer_codes: tuple[tuple[IntArray, ...], ...]
    total: float
    mass: float
    reference_exponent: int
    target_exponent: int
    note: str
    sources: tuple[tuple[str, bool], ...]
    proofs: int = 0
    smallest: float = 0.0
    nats_left_out: float = 0.0
    face_mass: float = 0.0
    apart: bool = False

    def part(self, number: int) -> Path:
        """Return the file of a part."""
        return self.folder / "parts" / f"{number:06d}"

    def labels(self, number: int) -> Path:
        """Return the file of a part's labels."""
        return self.folder / "labels" / f"{number:06d}"

    def state(self, token: str, number: int) -> Path:
        """Return the file of a part's potentials at the point that the token names."""
        return self.states / token / f"{number:06d}"

    def write_state(self, token: str, number: int, arrays: Mapping[str, Any]) -> None:
        """Write what belongs to a part at the point that the token names."""
        write_packed(self.state(token, number), arrays)

    @property
    def states(self) -> Path:
        """Where the states of points lie."""
        return self.folder / ("verdict" if self.apart else "states")

    @property
    def checkpoint(self) -> Path:
        """The file that says where what works on the problem stands."""
        return (self.states if self.apart else self.folder) / "checkpoint"

    def witness(self, token: str) -> Path:
        """Return the folder of what proves the bound of the point that a token names."""
        return self.folder / "witness" / token

    def rows_met(self, token: str, number: int) -> Path:
        """Return the file that names the rows of a part onto whose targets that bound is proved."""
        return self.witness(token) / f"{number:06d}-rows"

    @property
    def outer_blocks(self) -> dict[int, slice]:
        """Where the rows of each outside constraint stand among the outer rows."""
        blocks, at = {}, 0
        for k, codes in zip(self.outside, self.outer_codes, strict=True):
            blocks[k] = slice(at, at + len(codes[0]))
            at += len(codes[0])
        return blocks

    def face(self, name: str) -> Path:
        """Return the folder of a face of the problem as it was given."""
        # faces of a face lie beside it
        return (self.folder.parent if self.proofs else self.folder / FACES) / name

    @property
    def spans_the_range(self) -> bool:
        """Whether masses and targets are so far apart that sweeps are made in logarithms, as in memory."""
        return 0.0 < self.smallest < SMALL

    @property
    def start_shift(self) -> float:
        """What is added to the potentials of the first constraint so that the start has the targets' total."""
        return float(np.log(self.total / self.mass))


_ARRAYS = ("outer_targets", "kept")


def write_store(store: SlabStore) -> None:
    """Write what is the same for all parts."""
    arrays = {name: getattr(store, name) for name in _ARRAYS}
    for a, codes in enumerate(store.outer_codes):
        arrays.update({f"outer_{a}_{k}": code for k, code in enumerate(codes)})
    facts: dict[str, Any] = {
        one.name: getattr(store, one.name)
        for one in fields(store)
        # the folder is where it is read from: a run can be moved
        if one.name not in (*_ARRAYS, "outer_codes", "folder", "apart")
    }
    facts["table"] = str(store.table)
    write_packed(store.folder / "problem", arrays, facts)


def read_store(folder: Path) -> SlabStore:
    """Return the problem of a folder.

    Raises
    ------
    StoreError
        It is not there, or damaged.
    """
    path = folder / "problem"
    packed = read_own(path)
    try:
        return _store_of(folder, packed.arrays, packed.facts)
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise StoreError(f"{path} has no valid description of a problem: {error}") from error


def _store_of(folder: Path, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> SlabStore:
    scopes = tuple(tuple(scope) for scope in facts["scopes"])
    codes = tuple(
        tuple(arrays[f"outer_{a}_{j}"] for j in range(len(scopes[k]))) for a, k in enumerate(facts["outside"])
    )
    rest: dict[str, Any] = {name: tuple(facts[name]) for name in _TUPLES} | {name: facts[name] for name in _PLAIN}
    return SlabStore(
        smallest=float(facts.get("smallest", 0.0)),
        # earlier versions recorded the share alone, of which the nats follow
        nats_left_out=float(facts["nats_left_out"] if "nats_left_out" in facts else -np.log1p(-facts["lost"])),
        face_mass=float(facts.get("face_mass", 0.0)),
        folder=folder,
        table=Path(facts["table"]),
        scopes=scopes,
        outer_codes=codes,
        outer_targets=arrays["outer_targets"],
        kept=arrays["kept"],
        **rest,
    )


_TUPLES = ("key", "inside", "outside", "parts", "label_parts", "sources")
_PLAIN = (
    "total",
    "mass",
    "reference_exponent",
    "target_exponent",
    "note",
    "proofs",
)
