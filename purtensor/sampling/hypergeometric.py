"""Hypergeometric draws for populations of any size up to 2^53.

numpy's generator refuses populations of 10^9 and more, for which its logarithms of factorials are too coarse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from purtensor._typing import FloatArray

Counts = npt.NDArray[np.int64]

NUMPY_LIMIT = 10**9
_HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


def hypergeometric(rng: np.random.Generator, good: Counts, bad: Counts, drawn: Counts) -> Counts:
    """Return how many good ones are among `drawn` individuals out of good + bad, one draw an entry."""
    small = good + bad < NUMPY_LIMIT
    result = np.empty(len(drawn), dtype=np.int64)
    result[small] = rng.hypergeometric(good[small], bad[small], drawn[small])
    large = ~small
    result[large] = by_rejection(rng, good[large], bad[large], drawn[large])
    return result


def by_rejection(rng: np.random.Generator, good: Counts, bad: Counts, drawn: Counts) -> Counts:
    """Return hypergeometric draws by rejection, about six tries each whatever the population.

    The distribution is log-concave, so its ratio to the mode m obeys p(m+k)/p(m) <= min(1, exp(1 - p(m) |k|))
    (L. Devroye, Computing 39, 1987, 87-91). A lower bound of p(m) serves as well, and any integer variable has one:
    with uniform noise added its density is at most p(m), hence variance + 1/12 >= 1/(12 p(m)^2).
    """
    total = good + bad
    # exact integers: the products pass 2^63
    mode = np.array(
        [(n + 1) * (k + 1) // (t + 2) for n, k, t in zip(drawn.tolist(), good.tolist(), total.tolist(), strict=True)],
        dtype=np.int64,
    )
    share = good / total
    variance = drawn * share * (bad / total) * ((total - drawn) / np.maximum(total - 1, 1))
    height = 1 / np.sqrt(1 + 12 * variance)
    result = np.empty(len(drawn), dtype=np.int64)
    open_ = np.arange(len(drawn))
    while len(open_):
        h, m = height[open_], mode[open_]
        step, log_hat = _propose(rng, h)
        value = m + step
        log_ratio = _log_ratio(m, value, good[open_], bad[open_], drawn[open_])
        taken = np.log(rng.random(len(open_))) + log_hat <= log_ratio
        result[open_[taken]] = value[taken]
        open_ = open_[~taken]
    return result


def _propose(rng: np.random.Generator, height: FloatArray) -> tuple[Counts, FloatArray]:
    """Return steps from the mode, drawn from the hat (flat, then exponential), and the logarithm of the hat there."""
    flat = 1 + height / 2
    where, along, sign = rng.random((3, len(height)))
    scaled = np.where(where <= flat / (1 + flat), along * flat, flat - np.log1p(-along))
    step = np.rint(scaled / height).astype(np.int64) * np.where(sign < 0.5, -1, 1)
    return step, np.minimum(0.0, flat - scaled)


def _log_ratio(mode: Counts, value: Counts, good: Counts, bad: Counts, drawn: Counts) -> FloatArray:
    """Return log p(value) - log p(mode), -inf outside of the range; absolute error about 1e-8 at a total of 2^53."""
    outside = (value < np.maximum(0, drawn - bad)) | (value > np.minimum(good, drawn))
    at = np.where(outside, mode, value)
    step = (at - mode).astype(np.float64)
    factorials = (
        (mode, at, 1),
        (bad - drawn + mode, bad - drawn + at, 1),
        (good - mode, good - at, -1),
        (drawn - mode, drawn - at, -1),
    )
    # log z! by Stirling around z + 1, in differences: the parts linear in the step cancel between the four factorials
    logs = np.zeros(len(step))
    ratio = np.ones(len(step))
    for before, after, direction in factorials:
        z0, z1 = before + 1.0, after + 1.0
        logs -= (z0 - 0.5) * np.log1p(direction * step / z0) + _stirling_rest(z1) - _stirling_rest(z0)
        ratio = ratio * z1 if direction == 1 else ratio / z1
    logs -= step * np.log(ratio)
    logs[outside] = -np.inf
    return logs


def _stirling_rest(z: npt.NDArray[Any]) -> FloatArray:
    """Return log Gamma(z) - [(z - 1/2) log z - z + log(2 pi) / 2], z >= 1."""
    low = np.minimum(z, 16.0)
    exact = gammaln(low) - ((low - 0.5) * np.log(low) - low + _HALF_LOG_2PI)
    high = np.maximum(z, 16.0)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / high**2) / high**2) / high**2) / high
    rest: FloatArray = np.where(z < 16, exact, series)
    return rest
