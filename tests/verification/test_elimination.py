"""Exact elimination."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given

from purtensor.verification.elimination import correct
from tests import oracles
from tests.strategies import cases


def rows_of(case):
    profiles = list(case.reference_masses)
    matrix = oracles.coefficients(profiles, case.attributes, case.scopes)
    return profiles, matrix, [[i for i, entry in enumerate(row) if entry] for row in matrix]


@given(cases(spread=1))
def test_correct__meets_every_row_of_consistent_misses_exactly(case):
    profiles, matrix, rows = rows_of(case)
    weight = [case.reference_masses[profile] for profile in profiles]
    wanted = [case.feasible_masses[profile] - case.reference_masses[profile] for profile in profiles]
    misses = [sum((wanted[i] for i in row), Fraction(0)) for row in rows]
    found = correct(rows, misses, weight)
    assert [sum((found.added.get(i, Fraction(0)) for i in row), Fraction(0)) for row in rows] == misses
    assert found.disagreement == 0
    assert len(found.independent) == oracles.rank(matrix) == len(found.added)


@given(cases(spread=1))
def test_correct__names_what_dependent_rows_disagree_by(case):
    _, _, rows = rows_of(case)
    twice = [*rows, rows[0]]
    misses = [Fraction(0)] * len(rows) + [Fraction(1, 7)]
    found = correct(twice, misses, [Fraction(1)] * len(case.reference_masses))
    assert found.disagreement == Fraction(1, 7)
    assert len(rows) not in found.independent
    assert set(found.added.values()) == {0}


def test_correct__puts_the_correction_on_heavy_profiles():
    found = correct([[0, 1, 2]], [Fraction(5)], [Fraction(1), Fraction(9), Fraction(3)])
    assert found.added == {1: 5}
