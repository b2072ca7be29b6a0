"""What unequal weights cost in precision, and how they are spread before and after a calibration."""

from __future__ import annotations

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray


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
