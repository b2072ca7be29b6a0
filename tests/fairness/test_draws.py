"""Draws that can be made again: by seed and name, independent, never by content."""

from __future__ import annotations

import numpy as np
import pytest

from purtensor.fairness.draws import draw_categories, uniforms


def test_uniforms__depend_on_seed_and_name_alone() -> None:
    names = [f"person {i}" for i in range(50)]
    numbers = uniforms(names, 7)
    order = np.random.default_rng(0).permutation(50)
    assert np.array_equal(uniforms([names[i] for i in order], 7), numbers[order])
    assert np.array_equal(uniforms(range(10), 7), uniforms(np.arange(20), 7)[:10])
    assert not np.isin(uniforms(names, 8), numbers).any()


def test_uniforms__are_uniform_and_independent_even_where_names_repeat() -> None:
    for names in (range(20_000), ["the same"] * 20_000, [i % 7 for i in range(20_000)]):
        numbers = uniforms(names, 1)
        assert (numbers >= 0).all()
        assert (numbers < 1).all()
        # five standard errors of each: mean, variance, correlation of neighbours
        assert numbers.mean() == pytest.approx(1 / 2, abs=5 * np.sqrt(1 / 12 / 20_000))
        assert numbers.var() == pytest.approx(1 / 12, abs=5 * np.sqrt(1 / 180 / 20_000))
        assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 5 / np.sqrt(20_000)


def test_draw_categories__inverts_the_distribution_function() -> None:
    probabilities = np.array([[0.2, 0.0, 0.8], [0.0, 1.0, 0.0]])
    numbers = np.array([0.0, 0.19, 0.2, 0.999])
    assert draw_categories(np.repeat(probabilities[:1], 4, axis=0), numbers).tolist() == [0, 0, 2, 2]
    assert draw_categories(np.repeat(probabilities[1:], 4, axis=0), numbers).tolist() == [1, 1, 1, 1]


def test_draw_categories__never_one_without_probability() -> None:
    thirds = np.array([[1 / 3, 1 / 3, 1 / 3, 0.0]])  # they sum to less than 1 in floating point
    assert draw_categories(thirds, np.array([1 - 2.0**-53])).tolist() == [2]
