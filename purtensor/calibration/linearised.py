"""Standard errors of calibrated estimates by linearisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._options import check_choice
from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidTableError


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


def linearised(
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
    the controls, which is made with the design weights here, as survey's does. The mean is linearised first.

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
