"""Calibrations in files: what the weights are of and how they were asked for, beside their projection."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr
from scipy import sparse

from purtensor._typing import FloatArray, IntArray
from purtensor.calibration.estimates import homes_of
from purtensor.calibration.groups import Asked, Merged
from purtensor.calibration.result import Calibration
from purtensor.calibration.units import Units
from purtensor.constraints.rows import Cells
from purtensor.projection.general import GeneralEvidence
from purtensor.projection.stored_general import general_dataset, general_projection_of
from purtensor.solving.dual.options import GeneralOptions
from purtensor.tables.domain import Domain

KIND = "calibration"
_WORDS = ("relative_to", "bounds", "bounded", "limited", "tolerance")
ROW = "number of the row"
"""What a loaded calibration knows of the records' columns."""


def calibration_dataset(calibration: Calibration) -> xr.Dataset:
    """Return a calibration as a dataset of plain arrays: all but the columns of its records."""
    units, merged, asked = calibration.units, calibration.merged, calibration.asked
    arrays: dict[str, Any] = {
        "unit_of_record": ("record", units.records),
        "weight_of_record": ("record", units.per_record),
        "weight_of_unit": ("unit", units.weights),
        "group_of_unit": ("unit", merged.group),
        "weight_of_group": ("group", merged.weights),
        "limits": (("limit", "group"), merged.limits),
    }
    if calibration.members is not None:
        arrays["record_of_member"] = ("member", homes_of(units))
    if calibration.replicates is not None:
        arrays["replicates"] = (("record", "replicate"), calibration.replicates)
    options = asked.options
    facts = {
        **{word: getattr(asked, word) for word in _WORDS},
        "distance": options.distance,
        "total": options.total,
        "size": options.size,
        "distance_over": units.distance_over,
        "asked": len(merged.blocks),
    }
    whole = xr.merge([general_dataset(calibration.result), xr.Dataset(arrays)], combine_attrs="override")
    return whole.assign_attrs(kind=KIND, calibration=json.dumps(facts))


def calibration_of(dataset: xr.Dataset) -> Calibration:
    """Return the calibration that a dataset holds; its records have no columns but their numbers."""
    facts = json.loads(dataset.attrs["calibration"])
    result = general_projection_of(dataset)
    evidence = result.evidence
    if not isinstance(evidence, GeneralEvidence):
        raise TypeError("the projection of a calibration has rows of any kind")
    per_record = np.asarray(dataset["weight_of_record"].values)
    homes = np.asarray(dataset["record_of_member"].values) if "record_of_member" in dataset else None
    units = Units(
        own=_number_cells(len(dataset["weight_of_unit"])),
        persons=None if homes is None else _members(homes, len(per_record)),
        records=np.asarray(dataset["unit_of_record"].values),
        weights=np.asarray(dataset["weight_of_unit"].values),
        per_record=per_record,
        distance_over=facts["distance_over"],
    )
    merged = Merged(
        # without the row of the total that the question may have added
        blocks=evidence.labelled.question.blocks[: facts["asked"]],
        group=np.asarray(dataset["group_of_unit"].values),
        weights=np.asarray(dataset["weight_of_group"].values),
        limits=np.asarray(dataset["limits"].values),
    )
    asked = Asked(
        controls=result.constraints,
        options=GeneralOptions(None, None, facts["distance"], facts["total"], facts["size"], False),
        **{word: facts[word] for word in _WORDS},
        solver=None,
    )
    return Calibration(
        records=_rows(len(per_record)),
        units=units,
        merged=merged,
        asked=asked,
        result=result,
        replicates=np.asarray(dataset["replicates"].values) if "replicates" in dataset else None,
        members=None if homes is None else _rows(len(homes)),
    )


def _rows(count: int) -> dict[str, FloatArray]:
    return {ROW: np.arange(count, dtype=np.float64)}


def _number_cells(count: int) -> Cells:
    # cells need a length, and have no columns any more
    return Cells(Domain((), ()), (), _rows(count))


def _members(homes: IntArray, records: int) -> Cells:
    count = len(homes)
    sums = sparse.csr_array((np.ones(count), (homes, np.arange(count))), shape=(records, count))
    return Cells(Domain((), ()), (), _rows(count), sums)
