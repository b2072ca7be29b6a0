"""From the solver's arrays back to labelled tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from purtensor._typing import BoolArray, FloatArray, Table
from purtensor.solving.problem import LabelledProblem, Problem
from purtensor.solving.run_state import TraceLine
from purtensor.solving.solve import run
from purtensor.solving.solvers.ipf.slab_sweeps import EARLY
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.stopping import Stopping
from purtensor.tables.coded import dense_table, domain_of, is_sparse, sparse_table
from purtensor.tables.translate import values_at


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
    return tables_on_rows(labelled, values, -np.inf, "potential")


def tables_of_rows(labelled: LabelledProblem, marked: BoolArray) -> tuple[Table, ...]:
    """Return marks of the solver's rows as one table per constraint, False on all others."""
    values = np.zeros(labelled.full.rows, dtype=bool)
    values[labelled.rows] = marked
    return tables_on_rows(labelled, values, False, "independent")


def tables_on_rows(labelled: LabelledProblem, values: Any, beside: float, name: str) -> tuple[Table, ...]:
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
        values[block] = values_at(found, full.domain.select(scope), full.row_codes[k])
    # rows that left this problem drop out; those that had left the earlier one come as -inf, and begin at 0
    potentials = values[labelled.rows]
    potentials[~np.isfinite(potentials)] = 0.0
    potentials[labelled.arrays.system.block(0)] -= _log_scale(labelled)
    return potentials


_UNITS = {
    "residual": "largest miss over all constrained profiles, total mass 1",
    "residual_l1": "sum of misses in the worst constraint, total mass 1",
    "kl_step": "nats: what the iteration gained; NaN where the loop measured the last of several iterations itself",
    "dual": "nats: a lower bound on the divergence of the projection from the reference",
    "gap": "nats: how far the dual can be below its maximum, by the certificate of the result",
    "tv_bound": "proved distance in total variation, where it was computed on the way",
    "log_ratio_bound": "nats: proved bound on the largest |log(q / p)|, where it was computed on the way",
    "seconds": "seconds since the start; within one compiled call interpolated",
}


def with_duals(lines: Sequence[TraceLine], problem: Callable[[], Problem], sweeping: IPF) -> Sequence[TraceLine]:
    """Return the lines of a run from the reference with the duals that were put off; they change in place."""
    # a run that was not finite has none
    if not any(math.isnan(line.record.dual) and not math.isnan(line.record.residual) for line in lines):
        return lines
    # the last of these may have got its dual when its point was scaled, but not its gain
    early = [line for line in lines if line.iteration <= EARLY and math.isnan(line.record.kl_step)]
    # plain sweeps are deterministic: the same number of them passes the same points
    # a tolerance of 0: as many sweeps as the run had, whatever they reach
    limits = Stopping(0.0, "residual", early[-1].iteration, math.inf)
    again = {line.iteration: line.record for line in run(problem(), sweeping, limits).lines}
    for line in early:
        record = again[line.iteration]
        dual = record.dual if math.isnan(line.record.dual) else line.record.dual
        line.record = line.record._replace(kl_step=record.kl_step, dual=dual)
    return lines


def trace_of(lines: Sequence[TraceLine], bound: float, emptied: float = 0.0) -> xr.Dataset:
    """Return the recorded iterations of a run.

    The gap needs the certificate: the maximum of the dual is at most the last dual value plus `bound`. What zero
    targets alone make the divergence, -log of the reference's share that they leave, is added as `emptied`.
    """
    dual = np.array([line.record.dual for line in lines]) + emptied
    columns = {
        "residual": np.array([line.record.residual for line in lines]),
        "residual_l1": np.array([line.record.residual_l1 for line in lines]),
        "kl_step": np.array([line.record.kl_step for line in lines]),
        "dual": dual,
        # weak duality: the maximum of the dual is unknown, but no more than this above each value
        "gap": dual[-1] + bound - dual,
        "tv_bound": np.array([line.tv_bound for line in lines]),
        "log_ratio_bound": np.array([line.log_ratio_bound for line in lines]),
        "seconds": np.array([line.seconds for line in lines]),
    }
    if np.isnan(columns["log_ratio_bound"]).all():  # asked for by stop_on alone
        del columns["log_ratio_bound"]
    data = {name: ("record", values, {"long_name": _UNITS[name]}) for name, values in columns.items()}
    return xr.Dataset(data, coords={"iteration": ("record", [line.iteration for line in lines])})


def describe_washout(reference: Table) -> str:
    """Return in words how much of a regularized reference is pseudo-counts; nothing where it is not regularized."""
    share = reference.attrs.get("washed_out_share")
    # arithmetic keeps attributes: a sum of tables, or a part of one, is no regularized reference of total 1
    if share is not None and abs(float(reference.sum()) - 1.0) > 1e-9:
        return ""
    return "" if share is None else f"{share:.3g} (lambda * profiles / N: pseudo-counts over counts)"
