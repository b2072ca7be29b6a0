"""Corrections along cycles give each coupled row what it misses, and nothing to the two constraints of the forest."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from purtensor.constraints.rank.graph import couple, grow_forest
from purtensor.feasibility import cycles
from purtensor.feasibility.cycles import bound_solution, shifts_along_cycles, solve_whole
from tests.constraints.exact import dense_matrix, system_on


def coupled(seed: int):
    """A system of three two-way constraints, the cycles of its first two, and what random moves leave to the third."""
    rng = np.random.default_rng(seed)
    support = rng.random((3, 4, 3)) < 0.8
    system = system_on(support, [(0, 1), (0, 2), (1, 2)])
    forest = grow_forest(system, 0, 1, system.find_supported())
    rows = np.arange(system.offsets[2], system.offsets[3])
    coupling = couple(system, forest, [2], rows)
    amounts = rng.integers(-1000, 1000, len(coupling.closing))
    return system, coupling, rows, coupling.of(coupling.closing).T.astype(np.int64) @ amounts


@pytest.mark.parametrize("seed", range(5))
def test_shifts_along_cycles__reach_the_rows_exactly_and_move_no_other(seed: int) -> None:
    system, coupling, rows, left = coupled(seed)
    assert left.any()
    profiles, amounts, written = shifts_along_cycles(coupling, left, Fraction(0))
    assert written
    sums = dense_matrix(system)[:, profiles].astype(object) @ np.array(amounts, dtype=object)
    wanted = np.zeros(system.rows, dtype=object)
    wanted[rows] = left
    assert sums.tolist() == wanted.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_shifts_along_cycles__bounds_leave_room_for_amounts_that_exist(seed: int, monkeypatch) -> None:
    monkeypatch.setattr(cycles, "_MOST_SOLVED", 0)
    system, coupling, rows, left = coupled(seed)
    profiles, bounds, written = shifts_along_cycles(coupling, left, Fraction(0))
    assert not written
    wanted = np.zeros(system.rows)
    wanted[rows] = left
    room = [(-float(bound), float(bound)) for bound in bounds]
    found = linprog(np.zeros(len(profiles)), A_eq=dense_matrix(system)[:, profiles], b_eq=wanted, bounds=room)
    assert found.status == 0


@pytest.mark.parametrize("most", [64, 0])
def test_shifts_along_cycles__none_for_rows_that_contradict_each_other(most: int, monkeypatch) -> None:
    monkeypatch.setattr(cycles, "_MOST_SOLVED", most)
    _, coupling, _, left = coupled(0)
    left[0] += 1  # the rows' sum is no longer that of the other constraints
    assert shifts_along_cycles(coupling, left, Fraction(0)) is None


def test_shifts_along_cycles__dependent_rows_may_be_off_by_what_is_allowed() -> None:
    _, coupling, _, left = coupled(0)
    left[0] += 1
    assert shifts_along_cycles(coupling, left, Fraction(1)) is not None


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
    found = solve_whole(np.array(rows), np.array(right))
    expected = cramer(rows, right)
    if found is None:
        assert expected is None
    else:
        assert [Fraction(numerator, found[1]) for numerator in found[0]] == expected


@given(questions)
def test_bounded_solution__no_entry_passes_the_bound_which_is_not_wide(question) -> None:
    rows, right = question
    found, expected = bound_solution(np.array(rows), np.array(right)), cramer(rows, right)
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
    assert bound_solution(grown, np.ones(size, dtype=np.int64)) is None
    numerators, denominator = solve_whole(grown, np.ones(size, dtype=np.int64))
    assert [Fraction(sum(int(a) * x for a, x in zip(row, numerators)), denominator) for row in grown] == [1] * size


def test_solve_whole__of_nothing_is_nothing() -> None:
    assert solve_whole(np.empty((0, 0), dtype=np.int64), np.empty(0, dtype=np.int64)) == ([], 1)
