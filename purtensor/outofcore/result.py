"""What a projection of a stored table is made of, slab by slab: small facts at hand, the numbers on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, StoreError
from purtensor.outofcore.array_file import read_packed
from purtensor.outofcore.part import Part, codes_of_rows, read_labels
from purtensor.outofcore.passes import open_part
from purtensor.outofcore.restrict import earlier_weights
from purtensor.outofcore.slab_store import SlabStore
from purtensor.projection.result import Projection
from purtensor.tables.coded import read_codes, sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.store.format import read_profiles
from purtensor.tables.store.table import StoredTable, open_table
from purtensor.tables.store.write import Piece as Profiles
from purtensor.tables.store.write import write_pieces
from purtensor.verification.stored_sums import Piece, Rows


@dataclass(frozen=True, slots=True, eq=False)
class ProvenRows(Rows):
    """Rows with their targets in the units given, and whole numbers on them that empty profiles: a line a proof.

    The first proof holds on all profiles whose targets are positive, each other on those that the ones before left.
    """

    targets: FloatArray
    weights: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class SlabEvidence:
    """The numbers of a projection whose slabs are on disk: see `Projection` for what each of them is.

    Attributes
    ----------
    store
        The problem that the table solves, cut into parts: where the constraints force zeros, without these.
    token, outer
        The state with the potentials inside the parts, and the potentials that couple them.
    """

    reference: StoredTable
    path: Path
    store: SlabStore
    token: str
    outer: FloatArray
    trace: xr.Dataset

    @property
    def table(self) -> StoredTable:
        """The projection as a stored table; written at the first access."""
        place = table_place(self.store, self.token)
        if place.exists():
            return open_table(place)
        return write_pieces(place, self.reference.domain, self._pieces())

    def chunks(self) -> Iterator[Table]:
        """Yield the projection part by part as sparse tables, slabs whole, without writing it."""
        for codes, values in self._pieces():
            yield sparse_table(self.reference.domain, codes, values, name="projection")

    @property
    def coupling_potentials(self) -> tuple[Table, ...]:
        """The potentials of the constraints that couple the slabs, natural logarithms; the others' stay on disk."""
        # masses and targets were scaled by powers of two: the first constraint's potentials take both back
        shift = (self.store.target_exponent - self.store.reference_exponent) * np.log(2.0)
        tables = []
        for codes, (k, rows) in zip(self.store.outer_codes, self.store.outer_blocks.items(), strict=True):
            domain = self.reference.domain.select(self.store.scopes[k])
            values = self.outer[rows] + (shift if k == 0 else 0.0)
            tables.append(sparse_table(domain, codes, values, name="potential"))
        return tuple(tables)

    @property
    def potentials(self) -> tuple[Table, ...]:
        """All potentials, read into memory: a table for each constraint, natural logarithms."""
        coupling = self.coupling_potentials
        inside = [k for k in range(len(self.store.scopes)) if k not in self.store.outside]
        chunks = list(self.potential_chunks()) if inside else []
        domain = self.reference.domain
        found = {k: _join(domain.select(self.store.scopes[k]), [tables[k] for tables in chunks]) for k in inside}
        found.update(zip(self.store.outside, coupling, strict=True))
        return tuple(found[k] for k in range(len(self.store.scopes)))

    @property
    def independent_rows(self) -> tuple[Table, ...] | None:
        """True on the rows onto whose targets the bound is proved; read into memory, None where the run named none."""
        found: list[list[Table]] = [[] for _ in self.store.scopes]
        for piece in self.pieces(self.table):
            for k, rows in enumerate(piece.rows):
                # each part has all rows that couple the parts
                if len(rows.codes[0]) and not (k in self.store.outside and found[k]):
                    if rows.named is None:
                        return None
                    domain = self.reference.domain.select(self.store.scopes[k])
                    named: Any = rows.named  # a table of marks, not of masses
                    found[k].append(sparse_table(domain, rows.codes, named, name="independent"))
        return tuple(
            _join(self.reference.domain.select(scope), tables, "independent")
            for scope, tables in zip(self.store.scopes, found, strict=True)
        )

    def potential_chunks(self) -> Iterator[tuple[Table, ...]]:
        """Yield the potentials part by part: a table for each constraint, on the rows that have a profile there."""
        for piece in self.pieces(self.table):
            yield tuple(
                sparse_table(self.reference.domain.select(scope), rows.codes, rows.potentials, name="potential")
                for scope, rows in zip(self.store.scopes, piece.rows, strict=True)
            )

    def pieces(self, table: StoredTable) -> Iterator[Piece]:
        """Yield what `verify` reads, part by part: profiles, their masses as written, potentials and what proves them.

        Rows are `ProvenRows`: all with a positive target and a profile in the part, or that couple the parts.
        """
        begin = 0
        for number in self.store.label_parts:
            codes, _, left_out = read_labels(self.store, number)
            read, masses = read_profiles(table.path, begin, begin + len(codes[0]))
            # labels are compared, or a table of another run would be verified by this one's potentials
            if any(not np.array_equal(own, other) for own, other in zip(codes, read, strict=True)):
                raise StoreError(f"{table.path} is not the table of this run: it has other profiles")
            # the table was written part by part, in the order of their labels
            begin += len(codes[0])
            reference, rows = left_out, [_no_rows(len(scope)) for scope in self.store.scopes]
            if number in self.store.parts:
                part, potentials = open_part(self.store, number, self.token, self.outer)
                reference = np.concatenate([np.ldexp(part.reference, self.store.reference_exponent), left_out])
                rows = self._rows(number, part, potentials, codes)
            yield Piece(codes, reference, masses, rows)

    def _rows(self, number: int, part: Part, potentials: FloatArray, codes: Sequence[IntArray]) -> list[ProvenRows]:
        """Return the rows of a part by their codes: potentials in the units given, and the witness, NaN without one."""
        place = self.store.witness(self.token) / f"{number:06d}"
        made = read_packed(place).arrays["made"] if place.exists() else np.full_like(potentials, np.nan)
        names = self.store.rows_met(self.token, number)
        named = read_packed(names).arrays["named"].astype(bool) if names.exists() else None
        weights = earlier_weights(self.store, number, part)
        potentials = potentials.copy()
        potentials[part.block(0)] += (self.store.target_exponent - self.store.reference_exponent) * np.log(2.0)
        found = []
        for k in range(len(self.store.scopes)):
            block = part.block(k)
            targets = part.targets[block]
            # rows of zero targets have no potential
            on = targets > 0
            columns = [code[on] for code in codes_of_rows(self.store, self.reference.domain, part, codes, k)]
            given = np.ldexp(targets[on], self.store.target_exponent)
            own = None if named is None else named[block][on]
            values = potentials[block][on], made[block][on]
            found.append(ProvenRows(columns, *values, own, given, weights[:, block][:, on]))
        return found

    def _pieces(self) -> Iterator[Profiles]:
        """Yield the projection in the targets' units; zeros left out come last in a part."""
        for number in self.store.label_parts:
            codes, count, _ = read_labels(self.store, number)
            values = np.zeros(len(codes[0]))
            if count:
                part, potentials = open_part(self.store, number, self.token, self.outer)
                values[:count] = np.ldexp(part.masses(potentials), self.store.target_exponent)
            yield codes, values


def evidence_of(result: Projection[StoredTable]) -> SlabEvidence:
    """Return the numbers of a projection on disk.

    Raises
    ------
    InvalidOptionError
        Its numbers are elsewhere.
    """
    if not isinstance(result.evidence, SlabEvidence):
        raise InvalidOptionError(f"result must be a Projection of a stored table, got one of {type(result.evidence)}")
    return result.evidence


def _join(domain: Domain, tables: list[Table], name: str = "potential") -> Table:
    """Return the tables of the parts, which share no row, as one."""
    codes = [np.concatenate(columns) for columns in zip(*(read_codes(one, domain) for one in tables), strict=True)]
    return sparse_table(domain, codes, np.concatenate([one.values for one in tables]), name=name)


def _no_rows(attributes: int) -> ProvenRows:
    nothing = np.empty(0)
    return ProvenRows([np.empty(0, np.int64)] * attributes, nothing, nothing, None, nothing, np.empty((0, 0), np.int64))


def table_place(store: SlabStore, token: str) -> Path:
    """Return where the table of the point that a token names is written."""
    return store.folder / f"table-{token}.zarr"
