"""The answer of a projection of a stored table: small facts at hand, the table on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import xarray as xr

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.distributed.packed import read_packed
from purtensor.distributed.passes import opened_part
from purtensor.distributed.slab_store import SlabStore
from purtensor.projection.outcome import Outcome
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.stored import CHUNK, StoredTable, TableWriter, open_table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredProjection(Outcome):
    """An information projection of a stored table; what a Projection tells, with the table on disk.

    Attributes
    ----------
    trace
        As in `Projection`.
    reference, constraints
        What was projected onto what.
    path
        The folder of the run: slabs, potentials, checkpoint; `resume` goes on from it.

    And those of every outcome, as in `Projection`.
    """

    trace: xr.Dataset = field(repr=False)
    reference: StoredTable = field(repr=False)
    constraints: tuple[Marginal | StoredMarginal, ...] = field(repr=False)
    path: Path
    store: SlabStore = field(repr=False)
    token: str = field(repr=False)
    outer: FloatArray = field(repr=False)

    @property
    def diagnosis(self) -> None:
        """No verdict on feasibility is computed for stored tables."""
        return

    @property
    def table(self) -> StoredTable:
        """The projection as a stored table; written when it is first asked for."""
        place = self.path / f"table-{self.token}.zarr"
        if place.exists():
            return open_table(place)
        writer = TableWriter(place, self.reference.domain, chunk=CHUNK)
        try:
            for codes, values in self._pieces():
                writer.append(codes, values)
            return writer.close()
        except BaseException:
            writer.abandon()
            raise

    def chunks(self) -> Iterator[Table]:
        """Yield the projection part by part as sparse tables, slabs whole, without writing it."""
        for codes, values in self._pieces():
            yield sparse_table(self.reference.domain, codes, values, name="projection")

    @property
    def coupling_potentials(self) -> tuple[Table, ...]:
        """The potentials of the constraints that couple the slabs, natural logarithms; the others' stay on disk."""
        shift = (self.store.target_exponent - self.store.reference_exponent) * np.log(2.0)
        tables = []
        for codes, (k, rows) in zip(self.store.outer_codes, self.store.outer_blocks.items(), strict=True):
            domain = self.reference.domain.select(self.store.scopes[k])
            values = self.outer[rows] + (shift if k == 0 else 0.0)
            tables.append(sparse_table(domain, codes, values, name="potential"))
        return tuple(tables)

    def _pieces(self) -> Iterator[tuple[list[IntArray], FloatArray]]:
        for number in self.store.label_parts:
            yield part_values(self.store, number, self.token, self.outer, self.reference.domain)


def part_values(
    store: SlabStore, number: int, token: str, outer: FloatArray, domain: Domain
) -> tuple[list[IntArray], FloatArray]:
    """Return the codes and values of a part of the projection, in the targets' units; zeros left out come last."""
    labels = read_packed(store.labels(number))
    codes = [labels.arrays[f"codes_{k}"].astype(np.int64) for k in range(len(domain.attributes))]
    values = np.zeros(len(codes[0]))
    if labels.facts["profiles"]:
        part, potentials = opened_part(store, number, token, outer)
        values[: labels.facts["profiles"]] = np.ldexp(part.masses(potentials), store.target_exponent)
    return codes, values
