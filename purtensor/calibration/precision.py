"""What unequal weights cost in precision, and bounds on the ratios in divergence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from purtensor._options import is_count
from purtensor._typing import FloatArray
from purtensor.calibration.groups import Asked, Merged, find_total, solve_next
from purtensor.calibration.tightest_bounds import tightest_bounds
from purtensor.calibration.units import Units
from purtensor.errors import InvalidOptionError


def design_effect(weights: FloatArray) -> float:
    """Return Kish's design effect of unequal weights, n sum w^2 / (sum w)^2.

    Examples
    --------
    >>> import numpy as np
    >>> design_effect(np.array([1.0, 3.0]))
    1.25
    """
    return float(len(weights) * (weights**2).sum() / weights.sum() ** 2)


def effective_size(weights: FloatArray) -> float:
    """Return the size of the simple random sample that Kish's design effect leaves, (sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def spread(columns: dict[str, FloatArray]) -> pd.DataFrame:
    """Return a row of facts for each set of weights: size, sum, quartiles, variation, design effect."""
    return pd.DataFrame(
        [
            {
                "weights": name,
                "count": len(own),
                "sum": float(own.sum()),
                "mean": float(own.mean()),
                **dict(
                    zip(
                        ("least", "first quartile", "median", "third quartile", "largest"),
                        map(float, np.quantile(own, [0, 0.25, 0.5, 0.75, 1])),
                        strict=True,
                    )
                ),
                "coefficient of variation": float(own.std() / own.mean()),
                "design effect": design_effect(own),
                "effective size": effective_size(own),
            }
            for name, own in columns.items()
        ]
    )


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
    # solved from wide to tight, returned from tight to wide
    return pd.DataFrame(lines[::-1])


def _scale(asked: Asked, merged: Merged) -> FloatArray | float:
    total = find_total(merged.blocks) if asked.relative_to == "scaled" else None
    return 1.0 if total is None else total / float(merged.weights.sum())
