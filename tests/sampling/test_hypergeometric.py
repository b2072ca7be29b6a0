from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from purtensor.sampling.hypergeometric import _log_ratio, _stirling_rest, by_rejection, hypergeometric

DRAWS = 20_000


def repeated(*numbers):
    return tuple(np.full(DRAWS, number, dtype=np.int64) for number in numbers)


@pytest.mark.parametrize("draw", [hypergeometric, by_rejection])
@pytest.mark.parametrize(
    ("good", "bad", "drawn"),
    [(1, 1, 1), (5, 7, 4), (3, 50, 40), (200, 300, 120), (1, 1000, 500), (40, 3, 20), (9, 9, 18), (4000, 6000, 5000)],
)
def test_hypergeometric__is_the_distribution(draw, good, bad, drawn):
    seen = draw(np.random.default_rng(1), *repeated(good, bad, drawn))
    low, high = max(0, drawn - bad), min(good, drawn)
    assert low <= seen.min()
    assert seen.max() <= high
    expected = DRAWS * stats.hypergeom.pmf(np.arange(low, high + 1), good + bad, good, drawn)
    observed = np.bincount(seen - low, minlength=len(expected))
    common = expected >= 5
    if common.all():
        expected_bins, bins = expected, observed
    else:
        expected_bins = np.append(expected[common], expected[~common].sum())
        bins = np.append(observed[common], observed[~common].sum())
    if len(bins) > 1:
        assert stats.chisquare(bins, expected_bins / expected_bins.sum() * DRAWS).pvalue > 1e-3


def test_hypergeometric__large_populations_tend_to_the_normal():
    good, bad, drawn = 3 * 10**15, 10**15, 10**15
    seen = hypergeometric(np.random.default_rng(2), *repeated(good, bad, drawn))
    share = good / (good + bad)
    variance = drawn * share * (1 - share) * 0.75
    scores = (seen - drawn * share) / np.sqrt(variance)
    assert stats.kstest(scores, "norm").pvalue > 1e-3


def test_hypergeometric__large_populations_few_drawn_tend_to_the_binomial():
    seen = hypergeometric(np.random.default_rng(3), *repeated(3 * 10**12, 10**12, 6))
    expected = DRAWS * stats.binom.pmf(np.arange(7), 6, 0.75)
    assert stats.chisquare(np.bincount(seen, minlength=7), expected).pvalue > 1e-3


@pytest.mark.parametrize(
    ("good", "bad", "drawn"), [(10**15, 3 * 10**15, 10**14), (10**9, 10**15, 10**7), (12, 2**52, 2**51), (50, 60, 30)]
)
def test_log_ratio__against_exact_products(good, bad, drawn):
    # p(k+1) / p(k) = (good - k)(drawn - k) / ((k + 1)(bad - drawn + k + 1)), in exact integers
    mode = (drawn + 1) * (good + 1) // (good + bad + 2)
    for step in (-1000, -30, -3, -1, 0, 1, 4, 40, 900):
        value = mode + step
        numbers = (np.array([n]) for n in (mode, value, good, bad, drawn))
        found = _log_ratio(*numbers)[0]
        if not max(0, drawn - bad) <= value <= min(good, drawn):
            assert found == -np.inf
            continue
        factors = [((good - k) * (drawn - k), (k + 1) * (bad - drawn + k + 1)) for k in range(*sorted((mode, value)))]
        exact = math.fsum(math.log1p((a - b) / b) for a, b in factors) * (1 if step > 0 else -1)
        assert found == pytest.approx(exact, abs=1e-9, rel=1e-9)


def test_stirling_rest__against_factorials():
    for n in (0, 1, 5, 14, 15, 16, 40, 150):
        z = n + 1.0
        exact = math.log(math.factorial(n)) - ((z - 0.5) * math.log(z) - z + 0.5 * math.log(2 * math.pi))
        assert _stirling_rest(np.array([z]))[0] == pytest.approx(exact, abs=2e-13)
