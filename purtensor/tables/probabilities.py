"""When the values of a table are probabilities, and no counts."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray

_NORMALISED = 1e-6
"""How far the total of probabilities may be from 1: they are often written with a few digits."""


def is_one(total: float) -> bool:
    """Return whether a total is that of probabilities."""
    return abs(total - 1.0) <= _NORMALISED


def are_probabilities(values: FloatArray, total: float) -> bool:
    """Return whether masses are probabilities: their total is 1, and not all are whole, as a single count would be.

    Examples
    --------
    >>> import numpy as np
    >>> are_probabilities(np.array([0.25, 0.75]), 1.0), are_probabilities(np.array([1.0, 0.0]), 1.0)
    (True, False)
    """
    return is_one(total) and not np.array_equal(values, np.rint(values))
