"""The transport problem behind fair decisions, against linear programs and against sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from purtensor._typing import FloatArray
from purtensor.fairness.assignment import best_assignment


@st.composite
def questions(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    profiles, categories = draw(st.integers(1, 12)), draw(st.integers(2, 4))
    masses = rng.random(profiles) * 10.0 ** -draw(st.integers(0, 6)) + rng.integers(0, 2, profiles)
    gains = rng.dirichlet(np.ones(categories), profiles)
    rates = rng.dirichlet(np.ones(categories))
    if draw(st.booleans()):  # many ties
        gains, rates = gains.round(1), np.full(categories, 1 / categories)
    return masses, gains, rates


def largest_gain(masses: FloatArray, gains: FloatArray, rates: FloatArray) -> float:
    """Return the optimum of the same problem, written down as a linear program."""
    profiles, categories = gains.shape
    rows = np.kron(np.eye(profiles), np.ones(categories))
    columns = np.kron(np.ones(profiles), np.eye(categories))
    totals = np.concatenate([masses / masses.sum(), rates])
    return -float(linprog(-gains.reshape(-1), A_eq=np.vstack([rows, columns]), b_eq=totals).fun)


@given(questions())
def test_best_assignment__meets_the_rates_and_gains_what_a_linear_program_gains(question) -> None:
    masses, gains, rates = question
    found = best_assignment(masses, gains, rates)
    weights = masses / masses.sum()
    assert found.shares.min() >= 0
    assert found.shares.sum(axis=1) == pytest.approx(np.ones(len(masses)), abs=1e-14)
    assert weights @ found.shares == pytest.approx(rates, abs=2e-14)
    assert found.gain == pytest.approx((weights[:, None] * found.shares * gains).sum(), abs=1e-14)
    assert found.gain == pytest.approx(largest_gain(masses, gains, rates), abs=1e-7)  # the program's own tolerance
    assert found.gap < 1e-12


@given(questions())
def test_best_assignment__few_profiles_are_divided(question) -> None:
    masses, gains, rates = question
    shares = best_assignment(masses, gains, rates).shares
    assert np.count_nonzero(shares > 1e-12) <= len(masses) + gains.shape[1] - 1


def test_best_assignment__of_two_categories_is_a_threshold() -> None:
    rng = np.random.default_rng(3)
    masses, scores = rng.random(50), rng.random(50)
    shares = best_assignment(masses, np.stack([1 - scores, scores], axis=1), np.array([0.7, 0.3])).shares[:, 1]
    order = np.argsort(-scores)
    taken = np.clip((0.3 * masses.sum() - (masses[order].cumsum() - masses[order])) / masses[order], 0, 1)
    assert shares[order] == pytest.approx(taken, abs=1e-12)


def test_best_assignment__at_the_rates_of_the_largest_gains_nothing_moves() -> None:
    gains = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    found = best_assignment(np.array([1.0, 2.0, 1.0]), gains, np.array([0.25, 0.75]))
    assert found.shares.tolist() == [[1, 0], [0, 1], [0, 1]]
    assert found.gain == pytest.approx((0.9 + 1.6 + 0.6) / 4)
