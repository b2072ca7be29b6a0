"""From the solver's arrays back to labelled tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from purtensor._typing import BoolArray, FloatArray, Table
from purtensor.solving.problem import LabelledProblem
from purtensor.tables.coded import dense_table, domain_of, is_sparse, sparse_table
from purtensor.tables.values_at import look_up


def table_of(labelled: LabelledProblem, masses: FloatArray) -> Table:
    """Return the masses as a table like the reference, with the targets' total and exact zeros."""
    return labelled.table(masses, name="projection", exponent=labelled.target_exponent)


def in_units_given(labelled: LabelledProblem, potentials: FloatArray) -> FloatArray:
    """Return the potentials relative to the reference and the targets as they were given.

    The solver's scaling becomes a constant, on the rows of the first constraint.
    """
    moved = potentials.copy()
    # every profile has one row of the first constraint, so the constant reaches all masses once
    moved[labelled.arrays.system.block(0)] += _log_scale(labelled)
    return moved


def _log_scale(labelled: LabelledProblem) -> float:
    return (labelled.target_exponent - labelled.reference_exponent) * math.log(2.0) - labelled.log_scale


def tables_of_potentials(labelled: LabelledProblem, potentials: FloatArray) -> tuple[Table, ...]:
    """Return the potentials as one table per constraint, -inf on zero targets."""
    values = np.zeros(labelled.full.rows)
    values[labelled.full.targets == 0] = -np.inf
    values[labelled.rows] = potentials
    # a profile that no row lists has no support, and target 0
    return _tables_on_rows(labelled, values, -np.inf, "potential")


def tables_of_rows(labelled: LabelledProblem, marked: BoolArray) -> tuple[Table, ...]:
    """Return marks of the solver's rows as one table per constraint, False on all others."""
    values = np.zeros(labelled.full.rows, dtype=bool)
    values[labelled.rows] = marked
    return _tables_on_rows(labelled, values, False, "independent")


def _tables_on_rows(labelled: LabelledProblem, values: Any, beside: float, name: str) -> tuple[Table, ...]:
    """Return values of all rows as one table per constraint, `beside` where a dense one has no row."""
    full, tables = labelled.full, []
    for k, constraint in enumerate(labelled.constraints):
        domain = full.domain.select(full.scopes[k])
        own = values[full.block(k)]
        if is_sparse(constraint.target):
            tables.append(sparse_table(domain, full.row_codes[k], own, name=name))
            continue
        dense = np.full(domain.sizes, beside, dtype=own.dtype)
        dense[full.row_codes[k]] = own
        tables.append(dense_table(domain, dense, name=name))
    return tuple(tables)


def potentials_from(labelled: LabelledProblem, tables: Sequence[Table]) -> FloatArray:
    """Return potentials in labels as the solver's array: rows that the tables do not know start at 0.

    A table serves the first constraint of the same scope, attributes in any order; the reference and the targets
    may differ from those that the potentials were made for.
    """
    full = labelled.full
    values = np.zeros(full.rows)
    waiting = list(tables)
    for k, scope in enumerate(full.scopes):
        found = next((table for table in waiting if set(domain_of(table).attributes) == set(scope)), None)
        if found is None:
            continue
        # by identity: comparing tables would compare their values
        waiting = [table for table in waiting if table is not found]
        block = full.block(k)
        values[block] = look_up(found, full.domain.select(scope), full.row_codes[k])
    # rows that left this problem drop out; those that had left the earlier one come as -inf, and begin at 0
    potentials = values[labelled.rows]
    potentials[~np.isfinite(potentials)] = 0.0
    potentials[labelled.arrays.system.block(0)] -= _log_scale(labelled)
    return potentials
