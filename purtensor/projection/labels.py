"""From the solver's arrays back to labelled tables."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray, Table
from purtensor.solving.problem import LabelledProblem
from purtensor.tables.coded import like


def table_of(labelled: LabelledProblem, masses: FloatArray) -> Table:
    """Return the masses as a table like the reference, with the targets' total and exact zeros."""
    on_support = np.zeros(len(labelled.coded.values))
    on_support[labelled.profiles] = np.ldexp(masses, labelled.target_exponent)
    return labelled.coded.rebuild(on_support, name="projection")


def tables_of_potentials(labelled: LabelledProblem, potentials: FloatArray) -> tuple[Table, ...]:
    """Return the potentials as one table a constraint, relative to the reference and the targets as given.

    The solver's scaling by powers of two becomes a constant, on the rows of the first constraint.
    """
    full = labelled.full
    values = np.zeros(full.rows)
    values[full.targets == 0] = -np.inf
    values[labelled.reduction.rows] = potentials
    shift = (labelled.target_exponent - labelled.reference_exponent) * math.log(2.0)
    values[full.block(0)] += shift
    tables = []
    for k, constraint in enumerate(labelled.constraints):
        domain = full.domain.select(full.scopes[k])
        tables.append(
            like(constraint.target, domain, full.row_codes[k], values[full.block(k)], name="potential")
        )  # fmt: skip
    return tuple(tables)
