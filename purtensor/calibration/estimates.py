"""What estimates are of, and their standard errors: by linearisation, or by replicate weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import check_choice, is_count
from purtensor._typing import FloatArray, IntArray
from purtensor.calibration.columns import number_column
from purtensor.calibration.groups import Asked, Merged, is_unscaled, solve_next
from purtensor.calibration.units import Units
from purtensor.constraints.rows import RowBlock
from purtensor.errors import InfeasibleError, InvalidOptionError, InvalidTableError
from purtensor.projection.general import GeneralEvidence
from purtensor.projection.result import Projection
from purtensor.records.frames import read_records
from purtensor.sampling.checks import generator
from purtensor.solving.dual.warm_starts import SameRows

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


def standard_errors_of(block: RowBlock) -> FloatArray:
    """Return the standard errors of the targets of a control, NaN where it has none."""
    soft = block.softness
    if soft is None:
        return np.full(block.count, np.nan)
    if soft.covariance is not None:
        return np.sqrt(np.diag(soft.covariance))
    return np.full(block.count, np.nan) if soft.sd is None else np.asarray(soft.sd)


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
    group, stratum = _place_in_strata(
        clusters, strata, "a cluster has records in two strata; number the clusters within each stratum"
    )
    sums = np.bincount(group, weights=parts).astype(np.float64)
    return Estimate(value, float(np.sqrt(_sum_variances(sums, stratum))))


def _place_in_strata(clusters: IntArray, strata: IntArray | None, refusal: str) -> tuple[IntArray, IntArray]:
    """Return the cluster of each record, numbered from 0, and the stratum of each cluster; one in two is refused."""
    group = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    stratum = np.zeros(int(group.max()) + 1, dtype=np.int64)
    if strata is not None:
        stratum[group] = strata
        if (stratum[group] != strata).any():
            raise InvalidTableError(refusal)
    return group, stratum


def _sum_variances(sums: FloatArray, stratum: IntArray) -> float:
    counts = np.bincount(stratum)
    lonely = np.flatnonzero(counts == 1)
    if len(lonely):
        raise InvalidTableError("a stratum has a single cluster, so its variance is unknown; merge it with another")
    present = np.maximum(counts, 1)
    means = np.bincount(stratum, weights=sums) / present
    # with replacement: n / (n - 1) times the squares about the stratum's mean
    squares = np.bincount(stratum, weights=(sums - means[stratum]) ** 2)
    return float((squares * counts / np.maximum(counts - 1, 1)).sum())


def refit(asked: Asked, merged: Merged, units: Units, replicates: FloatArray, first: Projection) -> FloatArray:
    """Return calibrated replicate weights, shape (records, replicates); groups without a replicate weight have none.

    Raises
    ------
    InvalidOptionError
        Bounds on the weights themselves.
    InfeasibleError
        A replicate with which the controls cannot be met.
    """
    if asked.limited:
        raise InvalidOptionError(
            "replicate weights cannot be calibrated with weight_bounds; use bounds on the ratios instead"
        )
    found = np.zeros_like(replicates)
    count = len(merged.weights)
    group = merged.group[units.records]
    # all replicates have the same rows: what depends on these alone is computed once
    same = _same_rows(asked, merged, first)
    for r in range(replicates.shape[1]):
        own = replicates[:, r]
        inside = group >= 0
        # groups stay those of the whole sample: equal units get equal ratios in any replicate
        masses = np.bincount(group[inside], weights=own[inside], minlength=count).astype(np.float64)
        # a group that was not drawn has no mass, and no ratio
        kept = np.flatnonzero(masses > 0)
        if not len(kept):
            raise InvalidTableError(f"replicate {r} (counted from 0) has no positive weight")
        weights = None if same is None else _refit_at_once(asked, same, merged.limits, masses)
        if weights is None:
            try:
                # the general way, where the quick one does not converge or does not apply
                # the groups that a replicate has, with its masses
                blocks = tuple(block.select_cells(kept) for block in merged.blocks)
                own_groups = Merged(blocks, merged.group, masses[kept], merged.limits[:, kept])
                result = solve_next(asked, own_groups, start=list(first.potentials))
            except InfeasibleError as error:
                raise InfeasibleError(f"in replicate {r} (counted from 0): {error}", error.diagnosis) from None
            weights = np.zeros(count)
            weights[kept] = np.asarray(result.table.values)
        ratio = np.zeros(count)
        ratio[kept] = weights[kept] / masses[kept]
        found[inside, r] = own[inside] * ratio[group[inside]]
    return found


def _same_rows(asked: Asked, merged: Merged, first: Projection) -> SameRows | None:
    """Return the rows with what can be kept of them; None where the total, and soft rows with it, vary by replicate."""
    soft = any(block.softness is not None for block in merged.blocks)
    evidence = first.evidence
    varies = asked.options.total == "reference" or (asked.options.total == "free" and soft)
    if varies or not isinstance(evidence, GeneralEvidence) or len(evidence.answer.masses) != len(merged.weights):
        return None
    return SameRows.of(evidence.labelled.question, evidence.answer)


def _refit_at_once(asked: Asked, same: SameRows, limits: FloatArray, masses: FloatArray) -> FloatArray | None:
    scaled = masses if is_unscaled(asked) else masses * (same.question.total / float(masses.sum()))
    base = masses if asked.relative_to == "given" else scaled
    # the regression estimator may have negative weights, unless bounds forbid them
    nothing = -np.inf if asked.options.distance == "linear" and not asked.bounded else 0.0
    with np.errstate(invalid="ignore"):
        # inf times a mass of 0 would be NaN
        upper = np.where(np.isinf(limits[1]), np.inf, limits[1] * base)
    lower = np.maximum(nothing, limits[0] * base) if asked.bounded else np.full(len(base), nothing)
    return same.masses(scaled, lower, upper, asked.tolerance)


def bootstrap_weights(
    design: FloatArray, units: IntArray, count: int, seed: Any, strata: IntArray | None
) -> FloatArray:
    """Return design weights of bootstrap samples of units within strata, shape (records, count).

    Raises
    ------
    InvalidOptionError
        No count, or no seed.
    InvalidTableError
        A stratum with a single unit, or a unit in two strata.
    """
    if not is_count(count) or count == 0:
        raise InvalidOptionError(f"count must be a positive number of samples, got {count!r}")
    rng = generator(seed)
    if strata is not None and len(strata) != len(units):
        raise InvalidTableError(f"strata must have one label for each of {len(units)} records, got {len(strata)}")
    group, stratum = _place_in_strata(units, strata, "units that share a weight must lie in one stratum")
    factors = np.zeros((len(stratum), count))
    for number in np.unique(stratum):
        own = np.flatnonzero(stratum == number)
        n = len(own)
        if n < 2:
            raise InvalidTableError("a stratum has a single unit, which cannot be resampled; merge it with another")
        # n - 1 draws: with n the variance would be too small by (n - 1) / n (Rao and Wu, 1988)
        drawn = rng.multinomial(n - 1, np.full(n, 1.0 / n), size=count)
        factors[own] = drawn.T * (n / (n - 1))
    return np.asarray(design[:, None] * factors[group])
