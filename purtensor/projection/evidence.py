"""Where the numbers of a projection are: in the solver's arrays, in a file, or on disk; labels are made when needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import xarray as xr

from purtensor._typing import Table
from purtensor.constraints.rank.independence import independent_rows
from purtensor.errors import TooLargeError
from purtensor.kernels.engine import engine_for
from purtensor.projection.labels import (
    in_units_given,
    table_of,
    tables_of_potentials,
    tables_of_rows,
    trace_of,
    with_duals,
)
from purtensor.solving.gauge import canonical_potentials
from purtensor.solving.loop import Run
from purtensor.solving.problem import LabelledProblem
from purtensor.solving.solvers.ipf.solver import IPF

if TYPE_CHECKING:
    from purtensor.projection.result import Projection
    from purtensor.tables.store.table import StoredTable

TableT_co = TypeVar("TableT_co", covariant=True)


class Evidence(Protocol[TableT_co]):
    """The table, the potentials and the trace of a projection: see `Projection` for each."""

    @property
    def table(self) -> TableT_co:
        """The projection."""
        ...

    @property
    def potentials(self) -> tuple[Table, ...]:
        """One table per constraint: natural logarithms."""
        ...

    @property
    def independent_rows(self) -> tuple[Table, ...] | None:
        """One table per constraint, True on the rows onto whose targets the bounds are proved; None where unknown."""
        ...

    @property
    def trace(self) -> xr.Dataset:
        """The recorded iterations."""
        ...

    @property
    def path(self) -> Path | None:
        """The folder of a run on disk."""
        ...

    def chunks(self) -> Iterator[Table]:
        """Yield the projection part by part."""
        ...

    def potential_chunks(self) -> Iterator[tuple[Table, ...]]:
        """Yield the potentials part by part."""
        ...


class InMemory:
    """What evidence in memory says of the disk."""

    __slots__ = ()

    @property
    def path(self) -> None:
        """No folder."""
        return None

    @property
    def independent_rows(self) -> tuple[Table, ...] | None:
        """None: rows of other kinds than marginals are not named."""
        return None

    def chunks(self: Evidence[Table]) -> Iterator[Table]:
        """Yield the whole table."""
        yield self.table

    def potential_chunks(self: Evidence[Table]) -> Iterator[tuple[Table, ...]]:
        """Yield all potentials at once."""
        yield self.potentials


@dataclass(frozen=True, eq=False)
class SolverEvidence(InMemory):
    """Evidence in the solver's arrays; `sweeping` makes the sweeps that a run from the reference began with."""

    labelled: LabelledProblem
    run: Run
    bound: float
    sweeping: IPF = field(default_factory=IPF)

    @cached_property
    def table(self) -> Table:
        """The projection."""
        return table_of(self.labelled, self.run.iterate.masses)

    @cached_property
    def potentials(self) -> tuple[Table, ...]:
        """One table per constraint: zero on dependent rows, -inf on zero targets."""
        # the solver's masses and targets were scaled by powers of two
        given = in_units_given(self.labelled, self.run.iterate.potentials)
        with engine_for(self.labelled.arrays.index.size):
            return tables_of_potentials(self.labelled, canonical_potentials(self.labelled.arrays, given))

    @cached_property
    def independent_rows(self) -> tuple[Table, ...] | None:
        """True on a maximal set of independent rows, which certificates take too; None where their rank is too dear."""
        arrays = self.labelled.arrays
        try:
            with engine_for(arrays.index.size):
                found = independent_rows(arrays.system, None if arrays.slabs is None else arrays.slabs.key)
        except TooLargeError:
            return None
        return tables_of_rows(self.labelled, found.mask(arrays.system.rows))

    @cached_property
    def trace(self) -> xr.Dataset:
        """The recorded iterations."""
        lines = with_duals(self.run.lines, lambda: self.labelled.arrays, self.sweeping)
        return trace_of(lines, self.bound, float(-np.log(self.labelled.kept_share)))


@dataclass(frozen=True, eq=False)
class ChunkedEvidence:
    """Evidence on disk for a reference of chunks of dask.

    Attributes
    ----------
    stored
        The projection of the stored copy of the reference.
    reference
        The table of chunks that was given.
    """

    stored: Projection[StoredTable]
    reference: Table

    @cached_property
    def table(self) -> Table:
        """The projection, as the reference is laid out; what is stored is read when it is computed."""
        return self.stored.table.laid_like(self.reference, name="projection")

    @property
    def potentials(self) -> tuple[Table, ...]:
        """All potentials, read into memory."""
        return self.stored.potentials

    @property
    def independent_rows(self) -> tuple[Table, ...] | None:
        """The rows onto whose targets the bounds are proved, read into memory."""
        return self.stored.independent_rows

    @property
    def trace(self) -> xr.Dataset:
        """The recorded iterations."""
        return self.stored.trace

    @property
    def path(self) -> Path | None:
        """The folder of the run."""
        return self.stored.path

    def chunks(self) -> Iterator[Table]:
        """Yield the projection part by part, in the order of the run."""
        return self.stored.chunks()

    def potential_chunks(self) -> Iterator[tuple[Table, ...]]:
        """Yield the potentials part by part, in the order of the run."""
        return self.stored.potential_chunks()


@dataclass(frozen=True, eq=False)
class LabelledEvidence(InMemory):
    """Evidence with labels: loaded from a file, or of a problem without profiles."""

    table: Table
    potentials: tuple[Table, ...]
    trace: xr.Dataset
    independent_rows: tuple[Table, ...] | None = None
