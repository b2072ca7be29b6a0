"""The terms of sums in plain numpy, without cancellation."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray


def exponential_excess(z: FloatArray) -> FloatArray:
    """Return exp(z) - 1 - z, by a series where the difference would cancel."""
    series = z * z * (0.5 + z * (1 / 6 + z * (1 / 24 + z / 120)))
    return np.where(np.abs(z) < 1e-3, series, np.expm1(z) - z)


def relative_excess(w: FloatArray) -> FloatArray:
    """Return (1 + w) log(1 + w) - w, by a series where the difference would cancel."""
    square = w * w
    # phi(w) of notes/certificate.md, equation 2
    series = square * (0.5 - w / 6 + square / 12 - square * w / 20 + square * square / 30)
    with np.errstate(all="ignore"):
        closed = np.where(w == -1.0, 1.0, (1 + w) * np.log1p(w) - w)
    return np.asarray(np.where(np.abs(w) < 1e-2, series, closed))


def gap_terms(w: FloatArray, v: FloatArray, off: FloatArray) -> FloatArray:
    """Return (1 + w) (x - 1 + exp(-x)) with x = log(1 + w) - v, the worse of x + off and x - off."""
    # where p^ is 0 only exp(v) is left of notes/certificate.md, equation 9
    if_empty = np.exp(v + off)
    with np.errstate(all="ignore"):
        # log(1 + w) - v by way of w, as both are near it and their difference would cancel
        apart = np.abs(v - w) + np.abs(np.log1p(w) - w) + off
        apart = np.where(np.abs(w) < 1e-2, apart, np.abs(np.log1p(w) - v) + off)
        # exp(x) - 1 - x at |x| is the larger side, so it bounds exp(-x) - 1 + x for either sign
        found = (1 + w) * exponential_excess(apart)
    return np.asarray(np.where(w == -1.0, if_empty, found))
