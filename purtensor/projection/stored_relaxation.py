"""A relaxation as a dataset, and back."""

from __future__ import annotations

import json
import math

import numpy as np
import xarray as xr

from purtensor.constraints.marginals import Marginal
from purtensor.projection.relax import diagnosis_of_hard
from purtensor.projection.relaxation import Relaxation
from purtensor.solving.termination import Termination
from purtensor.tables.io.table_dataset import dataset_to_table, table_to_dataset

KIND = "relaxation"
_NUMBERS = (
    "objective",
    "divergence",
    "penalty_paid",
    "residual",
    "residual_l1",
    "bound",
    "tv_bound",
    "seconds",
    "strength",
)


def relaxation_dataset(result: Relaxation) -> xr.Dataset:
    """Return all of a relaxation but its diagnosis, of which it says whether there is one: it can be made again."""
    parts = [table_to_dataset(result.table, "table_"), table_to_dataset(result.reference, "reference_")]
    for k, constraint in enumerate(result.constraints):
        parts.append(table_to_dataset(constraint.target, f"target{k}_"))
        parts.append(table_to_dataset(result.misses[k], f"miss{k}_"))
        parts.append(table_to_dataset(result.multipliers[k], f"multiplier{k}_"))
    facts = {name: float(getattr(result, name)) for name in _NUMBERS}
    return xr.merge(parts, combine_attrs="override").assign_attrs(
        **facts,
        kind=KIND,
        termination=result.termination.name,
        certified=int(result.certified),
        diagnosed=int(result.diagnosis is not None),
        iterations=result.iterations,
        constraints=len(result.constraints),
        soft=json.dumps(result.soft),  # an attribute of one number comes back as a number
        misses_l1=json.dumps(result.misses_l1),
        penalty=result.penalty,
        notes="\n".join(result.notes),
    )


def relaxation_of(dataset: xr.Dataset) -> Relaxation:
    """Return what `relaxation_dataset` made a dataset of, its diagnosis made again.

    Raises
    ------
    FileFormatError, KeyError, TypeError, ValueError
        A part is missing, or of another kind.
    """
    facts = dataset.attrs
    count = int(facts["constraints"])
    numbers = {name: float(facts[name]) for name in _NUMBERS}
    if math.isnan(numbers["strength"]):
        raise ValueError("the strength of the penalty is no number")
    reference, soft = dataset_to_table(dataset, "reference_"), tuple(int(k) for k in json.loads(facts["soft"]))
    constraints = tuple(Marginal(dataset_to_table(dataset, f"target{k}_")) for k in range(count))
    penalty = str(facts["penalty"])
    diagnosed = bool(facts.get("diagnosed", 0))  # files of earlier versions do not say
    return Relaxation(
        table=dataset_to_table(dataset, "table_"),
        termination=Termination[facts["termination"]],
        misses=tuple(dataset_to_table(dataset, f"miss{k}_") for k in range(count)),
        misses_l1=tuple(float(miss) for miss in json.loads(facts["misses_l1"])),
        multipliers=tuple(dataset_to_table(dataset, f"multiplier{k}_") for k in range(count)),
        certified=bool(facts["certified"]),
        iterations=int(np.asarray(facts["iterations"]).item()),
        notes=tuple(line for line in str(facts["notes"]).split("\n") if line),
        diagnosis=diagnosis_of_hard(reference, constraints, soft, penalty) if diagnosed else None,
        soft=soft,
        penalty=penalty,
        reference=reference,
        constraints=constraints,
        **numbers,
    )
