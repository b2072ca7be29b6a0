"""What bounds on the ratios cost: divergence and effective size from the tightest bounds to none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from purtensor._options import is_count
from purtensor._typing import FloatArray
from purtensor.calibration.merging import Merged
from purtensor.calibration.solve import Asked, solve_next, wanted_total
from purtensor.calibration.spread import design_effect, effective_size
from purtensor.calibration.tightest_bounds import tightest_bounds
from purtensor.calibration.units import Units
from purtensor.errors import InvalidOptionError

_MARGIN = 1e-6
"""By how much bounds are wider than the tightest, on which no potentials are unique, and than any that are active."""


def bound_curve(asked: Asked, merged: Merged, units: Units, points: int) -> pd.DataFrame:
    """Return a row for each pair of bounds 1/s and s, s from the least that can be met to where none is active.

    Raises
    ------
    InvalidOptionError
        Fewer than two points, or a distance that depends on its bounds.
    InfeasibleError
        No bounds will do.
    """
    if not is_count(points) or points < 2:
        raise InvalidOptionError(f"points must be a number of at least 2, got {points!r}")
    if asked.options.distance == "logit":
        raise InvalidOptionError(
            "the logit distance depends on the bounds, so it has no curve: use distance='kl' or 'linear'"
        )
    open_limits = np.repeat([[0.0], [np.inf], [0.0], [np.inf]], len(merged.weights), axis=1)
    free = replace(asked, bounded=False, limited=False, bounds="")
    unbounded = solve_next(free, replace(merged, limits=open_limits))
    scale = _scale(asked, merged)
    ratios = np.asarray(unbounded.table.values) / (merged.weights * scale)
    # beyond it no bound is active, and the answer is the unbounded one
    widest = float(max(ratios.max(), 1.0 / max(ratios.min(), 1e-12))) * (1.0 + _MARGIN)
    tightest = tightest_bounds(asked, merged, lower=None, upper=None).upper * (1.0 + _MARGIN)
    lines = []
    start = unbounded.potentials
    # from wide to tight: the potentials of each answer are a good start for the next
    for s in np.geomspace(max(widest, tightest), tightest, points):
        limits = open_limits.copy()
        limits[0], limits[1] = 1.0 / s, s
        bounded = replace(asked, bounded=True, limited=False, bounds=f"weights between {1 / s:g} and {s:g} times")
        found = solve_next(bounded, replace(merged, limits=limits), start=list(start))
        start = found.potentials
        weights = units.per_unit(units.ratios(merged, np.asarray(found.table.values) / merged.weights))
        at = np.asarray(found.at_bound.values) != 0
        lines.append(
            {
                "lower": 1.0 / s,
                "upper": s,
                "objective": found.objective,
                "design effect": design_effect(weights),
                "effective size": effective_size(weights),
                "share at a bound": float(merged.weights[at].sum() / merged.weights.sum()),
            }
        )
    # solved from wide to tight, told from tight to wide
    return pd.DataFrame(lines[::-1])


def _scale(asked: Asked, merged: Merged) -> FloatArray | float:
    total = wanted_total(merged.blocks) if asked.relative_to == "scaled" else None
    return 1.0 if total is None else total / float(merged.weights.sum())
