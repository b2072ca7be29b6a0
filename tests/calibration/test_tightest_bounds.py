"""Proofs of tightest bounds: whatever the potentials, they promise nothing that exact arithmetic does not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import purtensor as pt
from purtensor.calibration.tightest_bounds import weak_dual

seeds = st.integers(0, 2**32 - 1)


def exact(rows, lower, upper, y):
    """b, p and m of the inequality in fractions, over potentials whose ends are there."""
    y = [0.0 if (v > 0 and lo == -np.inf) or (v < 0 and up == np.inf) else v for v, lo, up in zip(y, lower, upper)]
    asked = sum((Fraction(v) * Fraction(lo if v > 0 else up) for v, lo, up in zip(y, lower, upper) if v), Fraction(0))
    z = [sum((Fraction(v) * Fraction(c) for v, c in zip(y, column)), Fraction(0)) for column in rows.T]
    return asked, sum(max(v, Fraction(0)) for v in z), sum(max(-v, Fraction(0)) for v in z)


@given(seeds)
def test_weak_dual__promises_no_more_than_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    rows = rng.choice([0.0, 1.0, -1.0, 0.1, 3e8], (3, 5)) * rng.uniform(0.5, 2.0, (3, 5))
    lower = np.where(rng.random(3) < 0.3, -np.inf, rng.normal(size=3))
    upper = np.where(rng.random(3) < 0.3, np.inf, np.where(np.isfinite(lower), lower, 0.0) + rng.random(3))
    y = rng.normal(size=3) * rng.choice([0.0, 1.0, 1e-9], 3)
    found = weak_dual(sparse.csr_array(rows), lower, upper, y)
    asked, positive, negative = exact(rows, lower.tolist(), upper.tolist(), y.tolist())
    assert Fraction(found.least_asked) <= asked
    assert Fraction(found.most_positive) >= positive
    assert Fraction(found.least_negative) <= negative
    if positive > 0:
        assert Fraction(found.least_upper(0.25)) <= max(Fraction(0), (asked + negative / 4) / positive)
        s = Fraction(found.least_symmetric())
        assert s <= 1 or s * positive - negative / s <= asked
    if negative > 0:
        assert Fraction(min(found.largest_lower(2.0), 1e300)) >= min((2 * positive - asked) / negative, 10**300)


@given(seeds)
def test_tightest_bounds__are_proved_to_rounding(seed):
    rng = np.random.default_rng(seed)
    n = 30
    records = {"a": rng.integers(0, 3, n), "x": rng.gamma(2.0, 1.0, n)}
    records["a"][:3] = range(3)
    d = rng.uniform(0.5, 2.0, n)
    wanted = d * rng.uniform(0.6, 1.8, n)
    sums = np.bincount(records["a"], wanted, 3)
    controls = [pt.total(1, by="a", target=dict(enumerate(sums))), pt.total("x", target=float(wanted @ records["x"]))]
    c = pt.calibrate(records, controls, weights=d)
    for found, end in (
        (c.tightest_bounds(), "upper"),
        (c.tightest_bounds(lower=0.5), "upper"),
        (c.tightest_bounds(upper=2.0), "lower"),
    ):
        value = getattr(found, end)
        assert found.proved == pytest.approx(value, rel=1e-8)
        assert found.lower - 1e-9 <= found.ratios.min() <= found.ratios.max() <= found.upper + 1e-9
    both = c.tightest_bounds()
    # the proof is about every set of weights, also the one that the controls were made from
    ratios = wanted / d
    assert both.proved <= max(ratios.max(), 1 / ratios.min()) * (1 + 1e-12)
