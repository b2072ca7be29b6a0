"""What a projection can tell of how it was reached: worked out of the solver's arrays, or read from a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import xarray as xr

from purtensor._typing import Table
from purtensor.projection.labels import in_units_given, tables_of_potentials
from purtensor.projection.trace import trace_of
from purtensor.solving.gauge import canonical_potentials
from purtensor.solving.loop import Run
from purtensor.solving.problem import LabelledProblem


class Evidence(Protocol):
    """The potentials and the trace of a projection."""

    @property
    def potentials(self) -> tuple[Table, ...]:
        """One table a constraint: natural logarithms, zero on dependent rows, -inf on zero targets."""
        ...

    @property
    def trace(self) -> xr.Dataset:
        """The recorded iterations."""
        ...


@dataclass(frozen=True, eq=False)
class SolverEvidence:
    """Evidence in the solver's arrays; labels are made when they are asked for."""

    labelled: LabelledProblem
    run: Run
    bound: float

    @cached_property
    def potentials(self) -> tuple[Table, ...]:
        """One table a constraint."""
        given = in_units_given(self.labelled, self.run.iterate.potentials)
        return tables_of_potentials(self.labelled, canonical_potentials(self.labelled.arrays, given))

    @cached_property
    def trace(self) -> xr.Dataset:
        """The recorded iterations."""
        return trace_of(self.run.lines, self.bound, float(-np.log(self.labelled.kept_share)))


@dataclass(frozen=True, slots=True, eq=False)
class StoredEvidence:
    """Evidence as it was saved."""

    potentials: tuple[Table, ...]
    trace: xr.Dataset
