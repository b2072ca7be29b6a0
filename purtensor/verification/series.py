"""The terms of both bounds as functions of a relative change, by series where their closed forms cancel."""

from __future__ import annotations

import numpy as np

from purtensor.verification.evidence import LongArray
from purtensor.verification.exact_sums import EPS

# up to here the series are exact to extended precision; beyond, the closed forms lose few digits
_REACH = 0.1


def excess(w: LongArray) -> LongArray:
    """Return (1 + w) log(1 + w) - w, by its series for small w."""
    small = np.abs(w) <= _REACH
    inner, outer = np.where(small, w, 0), np.where(small, 1, w)
    series = np.zeros_like(inner)
    # sum over k >= 2 of (-w)^k / (k (k - 1)), by Horner's rule
    for k in range(22, 1, -1):
        series = series * inner + np.longdouble((-1) ** k) / (k * (k - 1))
    closed = (1 + outer) * np.log1p(np.where(outer > -1, outer, 0)) - outer  # 0 log 0 = 0 at w = -1
    return np.asarray(np.where(small, series * inner**2, closed))


def gap_terms(w: LongArray, v: LongArray, blur: LongArray) -> LongArray:
    """Return (1 + w) (log(1 + w) - v) - (1 + w) + exp(v), the most that it is where v may be off by `blur`."""
    there = w > -1
    # the term is (1 + w) (x - 1 + exp(-x)) with x = log(1 + w) - v, so that nothing cancels
    logs = np.log1p(np.where(there, w, 0))
    x, blur = logs - v, blur + 4 * EPS * np.abs(logs)
    with np.errstate(over="ignore"):  # then nothing is proved
        # convex in v: the most is at an end
        beside = (1 + w) * np.maximum(_slack(x + blur), _slack(x - blur))
        # at w = -1 only exp(v) is left
        return np.asarray(np.where(there, beside, np.exp(v + blur)))


def _slack(x: LongArray) -> LongArray:
    """Return x - 1 + exp(-x), by its series for small x."""
    small = np.abs(x) <= _REACH
    inner, outer = np.where(small, x, 0), np.where(small, 1, x)
    series, factorial = np.zeros_like(inner), np.longdouble(1)
    for k in range(2, 20):
        factorial *= k
        series = series + (-1) ** k * inner ** (k - 2) / factorial
    return np.asarray(np.where(small, series * inner**2, outer + np.expm1(-outer)))
