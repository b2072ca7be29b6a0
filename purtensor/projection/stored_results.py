"""Projections onto marginals, and relaxations, as datasets of plain arrays, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from purtensor._typing import Table
from purtensor.constraints.marginals import Marginal
from purtensor.feasibility.diagnose import diagnose_table
from purtensor.projection.evidence import LabelledEvidence
from purtensor.projection.log_reference import IN_MASS, support_of_logarithms
from purtensor.projection.relax import diagnosis_of_hard
from purtensor.projection.relaxation import Relaxation
from purtensor.projection.result import Projection
from purtensor.solving.termination import Termination
from purtensor.tables.io.table_dataset import dataset_to_table, table_to_dataset

NUMBERS = ("residual", "residual_l1", "divergence", "bound", "tv_bound", "seconds")
"""Facts that all kinds of results have, floats."""

ENDING = ("termination", "iterations", "notes")
_PROJECTION = (*ENDING, "certified", "reference_in", *NUMBERS)
_RELAXATION = (*ENDING, "certified", "objective", "penalty_paid", "penalty", "strength", "soft", "misses_l1", *NUMBERS)


def _read_notes(text: Any) -> tuple[str, ...]:
    # some files of earlier versions have a list of JSON
    lines = json.loads(text) if str(text).startswith("[") else str(text).split("\n")
    return tuple(line for line in lines if line)


_FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "termination": (lambda ending: ending.name, Termination.__getitem__),
    "iterations": (int, lambda number: int(np.asarray(number).item())),
    "notes": ("\n".join, _read_notes),
    "certified": (int, bool),
    "reference_in": (str, str),
    "penalty": (str, str),
    # text, as an attribute of one number comes back as a number
    "soft": (json.dumps, lambda text: tuple(json.loads(text))),
    "misses_l1": (json.dumps, lambda text: tuple(map(float, json.loads(text)))),
}
"""How fields that are no floats are written, as numbers and text, and read."""


def write_facts(result: Any, names: Sequence[str], prefix: str = "") -> dict[str, Any]:
    """Return fields of a result as attributes that NetCDF has."""
    return {f"{prefix}{name}": _FORMS.get(name, (float, float))[0](getattr(result, name)) for name in names}


def read_facts(facts: Mapping[Any, Any], names: Sequence[str], prefix: str = "") -> dict[str, Any]:
    """Return the fields that `write_facts` wrote.

    Raises
    ------
    KeyError, TypeError, ValueError
        One is missing, or of another kind.
    """
    return {name: _FORMS.get(name, (float, float))[1](facts[f"{prefix}{name}"]) for name in names}


def projection_dataset(result: Projection) -> xr.Dataset:
    """Return a projection onto marginals as a dataset."""
    tables = {"table_": result.table, "reference_": result.reference}
    columns = {
        "target": [constraint.target for constraint in result.constraints],
        "potential": result.potentials,
        "rows": result.independent_rows or (),
    }
    # coordinates become variables, so that the prefix names all of the trace
    trace = result.trace.reset_coords()
    trace = trace.rename({name: f"trace_{name}" for name in [*trace.data_vars, *trace.dims]})
    names_rows = int(result.independent_rows is not None)
    return _merge(result, tables, columns, [trace]).assign_attrs(
        **write_facts(result, _PROJECTION), kind="projection", names_rows=names_rows
    )


def projection_of(dataset: xr.Dataset) -> Projection:
    """Return what `projection_dataset` made a dataset of; its verdict is made again.

    Raises
    ------
    FileFormatError, KeyError, TypeError, ValueError
        A part is missing, or of another kind.
    """
    facts = {"reference_in": IN_MASS, "names_rows": 0, **dataset.attrs}  # files of earlier versions lack these
    trace = dataset[[name for name in dataset.variables if str(name).startswith("trace_")]]
    names = {name: str(name).removeprefix("trace_") for name in [*trace.data_vars, *trace.dims]}
    reference, constraints = _problem_of(dataset)
    evidence = LabelledEvidence(
        dataset_to_table(dataset, "table_"),
        _tables_of(dataset, "potential"),
        trace.rename(names).set_coords("iteration").drop_attrs(deep=False),
        _tables_of(dataset, "rows") if facts["names_rows"] else None,
    )
    read = read_facts(facts, _PROJECTION)
    support = reference if read["reference_in"] == IN_MASS else support_of_logarithms(reference)
    return Projection(
        # a verdict is not stored but made again: so the file cannot claim what does not hold
        diagnosis=diagnose_table(support, constraints) if facts.get("diagnosed", 0) else None,
        reference=reference,
        constraints=constraints,
        evidence=evidence,
        **read,
    )


def relaxation_dataset(result: Relaxation) -> xr.Dataset:
    """Return all of a relaxation but its diagnosis, of which it says whether there is one: it can be made again."""
    columns = {
        "target": [constraint.target for constraint in result.constraints],
        "miss": result.misses,
        "multiplier": result.multipliers,
    }
    tables = {"table_": result.table, "reference_": result.reference}
    return _merge(result, tables, columns).assign_attrs(**write_facts(result, _RELAXATION), kind="relaxation")


def relaxation_of(dataset: xr.Dataset) -> Relaxation:
    """Return what `relaxation_dataset` made a dataset of, its diagnosis made again.

    Raises
    ------
    FileFormatError, KeyError, TypeError, ValueError
        A part is missing, or of another kind.
    """
    # first of all: a fact that is missing names the damage better than a table
    read = read_facts(dataset.attrs, _RELAXATION)
    if math.isnan(read["strength"]):
        raise ValueError("the strength of the penalty is no number")
    reference, constraints = _problem_of(dataset)
    diagnosed = dataset.attrs.get("diagnosed", 0)  # files of earlier versions do not say
    return Relaxation(
        table=dataset_to_table(dataset, "table_"),
        misses=_tables_of(dataset, "miss"),
        multipliers=_tables_of(dataset, "multiplier"),
        diagnosis=diagnosis_of_hard(reference, constraints, read["soft"], read["penalty"]) if diagnosed else None,
        reference=reference,
        constraints=constraints,
        **read,
    )


def _merge(
    result: Projection | Relaxation,
    tables: dict[str, Table],
    columns: Mapping[str, Sequence[Table]],
    others: Sequence[xr.Dataset] = (),
) -> xr.Dataset:
    """Return tables, and lists of tables with one per constraint, in one dataset with the facts of any result."""
    numbered = {f"{name}{k}_": table for name, several in columns.items() for k, table in enumerate(several)}
    parts = [table_to_dataset(table, prefix) for prefix, table in (tables | numbered).items()]
    return xr.merge([*parts, *others], combine_attrs="override").assign_attrs(
        constraints=len(result.constraints), diagnosed=int(result.diagnosis is not None)
    )


def _tables_of(dataset: xr.Dataset, name: str) -> tuple[Table, ...]:
    return tuple(dataset_to_table(dataset, f"{name}{k}_") for k in range(int(dataset.attrs["constraints"])))


def _problem_of(dataset: xr.Dataset) -> tuple[Table, tuple[Marginal, ...]]:
    return dataset_to_table(dataset, "reference_"), tuple(map(Marginal, _tables_of(dataset, "target")))
