"""The oracle itself: its answers carry their own proof, or can be read off by hand."""

from __future__ import annotations

from random import Random

import pytest

from tests.feasibility.oracle import decide


def crossing(support, size):
    """The matrix of row and column sums over the cells of a support."""
    return [[int(cell[axis] == number) for cell in support] for axis in (0, 1) for number in range(size)]


def test_decide__a_cut_is_refuted_by_a_ray():
    support = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)]
    matrix = crossing(support, 3)
    answer = decide(matrix, [1] * 6)
    assert answer.verdict == "infeasible"
    assert all(sum(t * row[j] for t, row in zip(answer.ray, matrix)) >= 0 for j in range(len(support)))
    assert sum(answer.ray) < 0


def test_decide__a_staircase_empties_its_corner():
    support = [(0, 0), (0, 1), (1, 0)]
    assert decide(crossing(support, 2), [1] * 4).zeros == {0}


def test_decide__free_cells_are_interior():
    support = [(0, 0), (0, 1), (1, 0), (1, 1)]
    answer = decide(crossing(support, 2), [1, 2, 2, 1])
    assert (answer.verdict, answer.zeros) == ("interior", frozenset())


@pytest.mark.parametrize("seed", range(20))
def test_decide__entries_of_some_solution_are_never_called_empty(seed):
    random = Random(seed)
    rows, columns = random.randint(1, 5), random.randint(1, 8)
    matrix = [[1] * columns] + [[random.randint(0, 1) for _ in range(columns)] for _ in range(rows)]
    point = [random.choice((0, 0, 1, 2, 5)) for _ in range(columns)]
    answer = decide(matrix, [sum(a * p for a, p in zip(row, point)) for row in matrix])
    assert answer.verdict != "infeasible"
    assert all(point[j] == 0 for j in answer.zeros)
