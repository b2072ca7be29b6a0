"""Replicate weights: each is calibrated as the whole sample was, from its potentials on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from purtensor._options import is_count
from purtensor._typing import FloatArray, IntArray
from purtensor.calibration.merging import Merged
from purtensor.calibration.solve import Asked, is_unscaled, solve_next
from purtensor.calibration.units import Units
from purtensor.errors import InfeasibleError, InvalidOptionError, InvalidTableError
from purtensor.projection.general import GeneralEvidence
from purtensor.projection.result import Projection
from purtensor.sampling.checks import generator
from purtensor.solving.dual.warm_starts import SameRows


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
                result = solve_next(asked, _restrict(merged, kept, masses), start=list(first.potentials))
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


def _restrict(merged: Merged, kept: IntArray, masses: FloatArray) -> Merged:
    """Return the groups that a replicate has, with its masses."""
    blocks = tuple(
        replace(
            block,
            coefficients=sparse.csr_array(block.coefficients[:, kept]),
            counts=None if block.counts is None else sparse.csr_array(block.counts[:, kept]),
            denominators=None if block.denominators is None else sparse.csr_array(block.denominators[:, kept]),
        )
        for block in merged.blocks
    )
    return Merged(blocks, merged.group, masses[kept], merged.limits[:, kept])


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
    group = np.unique(units, return_inverse=True)[1].reshape(-1)
    stratum = np.zeros(int(group.max()) + 1, dtype=np.int64)
    if strata is not None:
        if len(strata) != len(units):
            raise InvalidTableError(f"strata must have one label for each of {len(units)} records, got {len(strata)}")
        stratum[group] = strata
        if (stratum[group] != strata).any():
            raise InvalidTableError("units that share a weight must lie in one stratum")
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
