"""How far single masses can be from the exact ones: the largest |log(q / p)|, by code that the solvers do not share.

With w = Pi (p^ - p) / p, p^ any table that meets the constraints and Pi the projection on the row space in the norm of
p, z = log(q / p) solves z = w - Pi (exp(z) - 1 - z); so the norm L of Pi, by row sums, bounds it (notes/log_ratio.md).
Here Pi is a matrix: that of small problems, inverted with a bound on the error.
"""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray
from purtensor.verification.exact_sums import Rows
from purtensor.verification.spanning import UPWARD, Spanning

MOST_PROFILES = 400

_UNIT = float(np.finfo(np.float64).eps)
_NOTHING = float("inf")


def log_ratio_from(change: FloatArray, off: FloatArray, norm: float) -> float:
    """Return no less than the largest |log(q / p)|; inf where the threshold of the proof is not met.

    Parameters
    ----------
    change, off
        C^T m, and no less than how far it is from (p^ - p) / p, profile by profile.
    norm
        No less than the norm of the projection.
    """
    size = (float(np.abs(change).max(initial=0)) + norm * float(off.max(initial=0))) * UPWARD
    if not (size < _NOTHING and norm < _NOTHING):
        return _NOTHING
    # where z - L (exp(z) - 1 - z) is largest: its slope is 1 - L (exp(z) - 1)
    high = math.log1p(1.0 / norm)
    if not _reaches(high, size, norm):
        return _NOTHING
    low = 0.0
    # `high` is a bound throughout, so that bisection may stop anywhere: 100 halvings reach the last bit
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _reaches(middle, size, norm) else (middle, high)
    return high


def _reaches(z: float, size: float, norm: float) -> bool:
    """Return whether z - norm (exp(z) - 1 - z) is no less than the size, in spite of rounding."""
    # z - L (exp(z) - 1 - z), less what rounding can add to either term
    return z * (1.0 - 16 * _UNIT * (1.0 + norm)) - norm * (math.expm1(z) - z) >= size


def norm_of_projection(rows: Rows, basis: Spanning | None, members: FloatArray, rounding: float) -> float:
    """Return no less than the norm of the projection for all masses within a share of these; inf where none is proved.

    With C_I independent rows and D = diag(C_I p)^(-1/2), Pi = C_I^T D A^-1 D C_I P for A = D C_I P C_I^T D.
    """
    count = len(members)
    if basis is None or count > MOST_PROFILES or not (np.isfinite(members) & (members > 0)).all():
        return _NOTHING
    # without the rows that follow from the rest: A must not be singular
    kept = basis.kept
    own = rows.matrix(np.ones(count, dtype=bool)).toarray()[kept]
    sums = own @ members
    scaled = own / np.sqrt(sums)[:, None]
    matrix = (scaled * members) @ scaled.T
    # `rounding` enters A through P, and through D on both sides, by half each
    blur = (count + 16) * _UNIT + 4 * rounding  # of the entries, which are sums of positive terms, as a share
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return _NOTHING
    sizes = np.abs(inverse)
    # as in notes/verification.md, equation 6, but for entries that are known to `blur` only
    error = np.abs(np.eye(len(kept)) - inverse @ matrix) + (blur + (len(kept) + 4) * _UNIT) * (sizes @ matrix)
    errors = error.sum(axis=1) * UPWARD
    if not errors.max(initial=0) < 0.5:
        return _NOTHING
    more = np.outer(errors / (1.0 - errors.max(initial=0)), sizes.max(axis=0, initial=0))
    left = scaled.T @ inverse
    off = scaled.T @ (more + (len(kept) + 16) * _UNIT * sizes)  # of the left side
    # D C_I P 1, by which an error of the left side is multiplied at most: all its terms are positive
    reached = (scaled * members).sum(axis=1)
    whole = np.abs(left @ scaled) @ members + (off + (len(kept) + 16) * _UNIT * np.abs(left)) @ reached
    # constants are in the row space, so that the norm of the projection is at least 1
    return max(1.0, float(whole.max(initial=0)) * (1.0 + 4 * rounding) * UPWARD)
