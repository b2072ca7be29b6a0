"""The profiles that zero targets and proofs empty, as pieces of a stored table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.part import Part, read_part
from purtensor.outofcore.slab_store import SlabStore
from purtensor.tables.coded import encode
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import smallest_unsigned
from purtensor.tables.store.open_store import CHUNK, StoredTable, TableWriter

Piece = tuple[list[IntArray], FloatArray]
"""The codes and the values of some profiles."""


def written(path: Path, domain: Domain, pieces: Iterable[Piece]) -> StoredTable:
    """Return a stored table of these pieces; what was at its path before is replaced, once all is written."""
    with TableWriter(path, domain, chunk=CHUNK, replaces=True) as writer:
        for codes, values in pieces:
            writer.append(codes, values)
        return writer.close()


def written_table(path: Path, table: Table) -> StoredTable:
    """Return a table in memory as a stored one; what was at its path before is replaced, once all is written."""
    coded = encode(table, allow_empty=True)
    return written(path, coded.domain, [(list(coded.codes), coded.values)])


def labelled_codes(store: SlabStore, number: int) -> tuple[list[IntArray], int, FloatArray]:
    """Return the codes of the profiles of a part, how many are of the problem, and the values of those after them."""
    labels = read_packed(store.labels(number))
    count = len(labels.arrays) - 1
    codes = [labels.arrays[f"codes_{k}"].astype(np.int64) for k in range(count)]
    return codes, int(labels.facts["profiles"]), labels.arrays["left_out"]


def write_labels(
    path: Path, codes: Sequence[IntArray], sizes: Sequence[int], left_out: FloatArray, profiles: int
) -> None:
    """Write the codes of the profiles of a part, those of the problem first, and the values of the others."""
    arrays: dict[str, Any] = {
        f"codes_{k}": code.astype(smallest_unsigned(size))
        for k, (code, size) in enumerate(zip(codes, sizes, strict=True))
    }
    write_packed(path, {**arrays, "left_out": left_out}, {"profiles": profiles})


def codes_of_rows(
    store: SlabStore, domain: Domain, part: Part, codes: Sequence[IntArray], k: int
) -> tuple[IntArray, ...]:
    """Return the codes of the rows of a constraint in a part, given those of its profiles.

    Each row of an inside constraint has a profile there; of one outside these are all rows.
    """
    if k in store.outside:
        return store.outer_codes[store.outside.index(k)]
    # any profile of a row has the row's labels
    _, first = np.unique(part.index[k], return_index=True)
    return tuple(codes[domain.position(name)][first] for name in store.scopes[k])


def of_zero_targets(store: SlabStore) -> Iterator[Piece]:
    """Yield the profiles with mass that targets of zero empty."""
    for number in store.label_parts:
        codes, begin, values = labelled_codes(store, number)
        kept = values > 0
        if kept.any():
            yield [code[begin:][kept] for code in codes], values[kept]


def of_proof(store: SlabStore, folder: Path) -> Iterator[Piece]:
    """Yield the profiles that kept weights empty, with the reference's values."""
    for number in store.parts:
        codes, count, _ = labelled_codes(store, number)
        chosen = read_packed(folder / f"{number:06d}").arrays["costs"] > 0
        if chosen.any():
            reference = read_part(store.part(number), store.kept).reference[chosen]
            values = np.ldexp(reference, store.reference_exponent)
            yield [code[:count][chosen] for code in codes], values
