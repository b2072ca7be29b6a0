"""What estimates are of, and their standard errors by linearisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import check_choice
from purtensor._typing import FloatArray, IntArray
from purtensor.calibration.columns import number_column
from purtensor.calibration.units import Units
from purtensor.constraints.rows import RowBlock
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.records.frames import read_records

_NUMBERS = {"integer", "floating", "mixed-integer-float", "decimal"}


def numbers_of_records(records: Any, members: Any, units: Units, values: Any) -> tuple[FloatArray, FloatArray]:
    """Return a number for each record, and how many it is the sum of: more than one where it is of its members.

    Errors as `number_column`.
    """
    if not _is_of_members(records, members, units, values):
        numbers = number_column(records, values)
        return numbers, np.ones(len(numbers))
    numbers, homes, count = number_column(members, values), homes_of(units), len(units.per_record)
    sums = np.bincount(homes, numbers, count).astype(np.float64)
    return sums, np.bincount(homes, minlength=count).astype(np.float64)


def _is_of_members(records: Any, members: Any, units: Units, values: Any) -> bool:
    if members is None:
        return False
    if isinstance(values, str):
        return values not in read_records(records).names and values in read_records(members).names
    lengths = len(units.per_record), len(homes_of(units))
    # an array says by its length whose values it has; where both lengths agree it is the records'
    return bool(np.shape(values)[:1] == lengths[1:] and lengths[0] != lengths[1])


def homes_of(units: Units) -> IntArray:
    """Return for each member the number of its record."""
    persons = units.persons
    if persons is None or persons.aggregate is None:
        return np.empty(0, dtype=np.int64)
    # each member is a column with one entry, in the row of its record
    return np.asarray(persons.aggregate.tocsc().indices, dtype=np.int64)


def refuse_kinks(controls: pd.DataFrame, blocks: Sequence[RowBlock], at_bound: int) -> None:
    """Refuse estimate_linearly errors where a small change of the sample moves the weights as no linear function does.

    Raises
    ------
    InvalidOptionError
        Ratios at a bound, soft controls, or intervals.
    """
    what = ""
    if at_bound:
        what = f"{at_bound} ratios are at a bound"
    elif any(block.softness is not None for block in blocks):
        what = "some controls are soft"
    elif controls["state"].isin(["lower", "upper"]).any():
        what = "an interval is active"
    elif (controls["state"] == "inside").any():
        what = "some controls are intervals"
    if what:
        raise InvalidOptionError(
            f"{what}, so the weights are not a smooth function of the sample and have no estimate_linearly standard "
            "errors; use replicate weights, such as those of bootstrap(count, seed=...)"
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its standard error.

    Attributes
    ----------
    value, standard_error
        In the units of the values.
    """

    value: float
    standard_error: float


def estimate_linearly(
    weights: FloatArray,
    design: FloatArray,
    values: FloatArray,
    controls: FloatArray,
    *,
    kind: str,
    sizes: FloatArray,
    strata: IntArray | None,
    clusters: IntArray,
) -> Estimate:
    """Return a total or a mean with the standard error of its residuals on the controls.

    J.-C. Deville and C.-E. Särndal, "Calibration estimators in survey sampling", Journal of the American Statistical
    Association 87, 1992: for any distance, a calibrated total varies like that of the residuals of the regression on
    the controls, which is made with the design weights here, as survey's does. The mean is estimate_linearly first.

    Parameters
    ----------
    weights, design, values
        Shape (records,).
    controls
        Shape (records, rows): what each record adds to the controls.
    sizes
        Shape (records,): how many a record counts for in a mean: 1, or its members.
    clusters, strata
        Numbers of the primary units and of the strata they are drawn from, with replacement.

    Raises
    ------
    InvalidTableError
        Another length than that of the records, a stratum with one cluster, or a cluster in two strata.
    """
    check_choice("kind", kind, ("total", "mean"))
    lengths = {len(part) for part in (values, clusters, strata) if part is not None}
    if lengths != {len(weights)}:
        raise InvalidTableError(f"values, strata and clusters must have one entry for each of {len(weights)} records")
    whole = float(weights @ values)
    if kind == "mean":
        mass = float(weights @ sizes)
        value = whole / mass
        # a mean is a ratio of totals: its linearisation has these values (Taylor's)
        values = (values - value * sizes) / mass
    else:
        value = whole
    # weighted least squares; lstsq, because controls may depend on each other
    root = np.sqrt(design)
    slope = np.linalg.lstsq(controls * root[:, None], values * root, rcond=None)[0]
    # calibrated weights, not the design weights: the estimator that Deville and Särndal recommend
    parts = weights * (values - controls @ slope)
    group = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    sums = np.bincount(group, weights=parts).astype(np.float64)
    stratum = np.zeros(len(sums), dtype=np.int64)
    if strata is not None:
        stratum[group] = strata
        if (stratum[group] != strata).any():
            raise InvalidTableError("a cluster has records in two strata; number the clusters within each stratum")
    return Estimate(value, float(np.sqrt(_variance(sums, stratum))))


def _variance(sums: FloatArray, stratum: IntArray) -> float:
    counts = np.bincount(stratum)
    lonely = np.flatnonzero(counts == 1)
    if len(lonely):
        raise InvalidTableError("a stratum has a single cluster, so its variance is unknown; merge it with another")
    present = np.maximum(counts, 1)
    means = np.bincount(stratum, weights=sums) / present
    # with replacement: n / (n - 1) times the squares about the stratum's mean
    squares = np.bincount(stratum, weights=(sums - means[stratum]) ** 2)
    return float((squares * counts / np.maximum(counts - 1, 1)).sum())
