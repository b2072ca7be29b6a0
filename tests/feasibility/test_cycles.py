"""Corrections along cycles give each coupled row what it misses, and nothing to the two constraints of the forest."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from purtensor.constraints.rank.graph import couple, grow_forest
from purtensor.feasibility import cycles
from purtensor.feasibility.cycles import shifts_along_cycles
from tests.constraints.exact import dense_matrix, system_on


def coupled(seed: int):
    """A system of three two-way constraints, the cycles of its first two, and what random moves leave to the third."""
    rng = np.random.default_rng(seed)
    support = rng.random((3, 4, 3)) < 0.8
    system = system_on(support, [(0, 1), (0, 2), (1, 2)])
    forest = grow_forest(system, 0, 1, system.supported())
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
