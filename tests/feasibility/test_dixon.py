"""Linear equations in whole numbers, against Cramer's rule in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.feasibility.dixon import bounded_solution, solve_whole


def determinant(rows):
    total = 0
    for order in permutations(range(len(rows))):
        swaps = sum(order[i] > order[j] for j in range(len(rows)) for i in range(j))
        product = (-1) ** swaps
        for i, j in enumerate(order):
            product *= rows[i][j]
        total += product
    return total


def cramer(rows, right):
    whole = determinant(rows)
    if whole == 0:
        return None
    replaced = [[[*row[:j], b, *row[j + 1 :]] for row, b in zip(rows, right)] for j in range(len(rows))]
    return [Fraction(determinant(one), whole) for one in replaced]


questions = st.integers(1, 4).flatmap(
    lambda n: st.tuples(
        st.lists(st.lists(st.integers(-2, 2), min_size=n, max_size=n), min_size=n, max_size=n),
        st.lists(st.integers(-(2**55), 2**55), min_size=n, max_size=n),
    )
)


@given(questions)
def test_solve_whole__is_cramers_rule(question) -> None:
    rows, right = question
    found = solve_whole(np.array(rows), right)
    expected = cramer(rows, right)
    if found is None:
        assert expected is None
    else:
        assert [Fraction(numerator, found[1]) for numerator in found[0]] == expected


@given(questions)
def test_bounded_solution__no_entry_passes_the_bound_which_is_not_wide(question) -> None:
    rows, right = question
    found, expected = bounded_solution(np.array(rows), np.array(right)), cramer(rows, right)
    if expected is None:
        assert found is None
        return
    near, bound = found
    assert max(map(abs, expected)) <= Fraction(bound)
    assert bound <= 1.001 * np.abs(np.linalg.inv(np.array(rows, float))).sum(axis=1).max() * max(map(abs, right))
    scale = max(map(abs, right), default=0) * 2.0**-40
    assert near.tolist() == pytest.approx([float(x) for x in expected], abs=scale)


def test_bounded_solution__nothing_is_said_where_rounding_rules() -> None:
    size = 60
    grown = np.eye(size, dtype=np.int64) - np.triu(np.full((size, size), 2), 1)  # its inverse has entries of 3^58
    assert bounded_solution(grown, np.ones(size, dtype=np.int64)) is None
    numerators, denominator = solve_whole(grown, [1] * size)
    assert [Fraction(sum(int(a) * x for a, x in zip(row, numerators)), denominator) for row in grown] == [1] * size


def test_solve_whole__of_nothing_is_nothing() -> None:
    assert solve_whole(np.empty((0, 0), dtype=np.int64), []) == ([], 1)
