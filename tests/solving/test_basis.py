"""A basis against rational elimination: what it changes meets the misses, and what it bounds is never passed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from purtensor.constraints.rank.independence import independent_rows
from purtensor.solving.basis import heaviest_basis, invert_and_verify
from tests.constraints.exact import dense_matrix
from tests.solving.drawn import PROBLEMS, arrays_of, labelled_from, random_arrays


def exact_inverse(matrix):
    """The inverse of a regular matrix by Gauss and Jordan's elimination in fractions."""
    size = len(matrix)
    rows = [[Fraction(int(x)) for x in row] + [Fraction(i == j) for j in range(size)] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = next(r for r in range(column, size) if rows[r][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [x / rows[column][column] for x in rows[column]]
        for r in range(size):
            if r != column and rows[r][column]:
                rows[r] = [x - rows[r][column] * y for x, y in zip(rows[r], rows[column], strict=True)]
    return [row[size:] for row in rows]


def profiles_of(basis):
    own = [] if basis.closing is None else basis.closing.profiles.tolist()
    return np.array(basis.forest.edge.tolist() + own)


def heaviest_independent(columns, masses):
    """The greedy choice of independent columns by falling mass, in fractions: the heaviest basis of a matroid."""
    reduced, chosen = [], set()
    for profile in np.argsort(-masses, kind="stable"):
        column = [Fraction(int(x)) for x in columns[:, profile]]
        for place, other in reduced:
            column = [x - column[place] * y for x, y in zip(column, other, strict=True)]
        place = next((n for n, x in enumerate(column) if x), None)
        if place is not None:
            reduced.append((place, [x / column[place] for x in column]))
            chosen.add(int(profile))
    return chosen


@pytest.mark.parametrize("seed", range(40))
def test_heaviest_basis__inverts_the_columns_of_its_profiles(seed):
    problem = random_arrays(seed)
    basis = heaviest_basis(problem, problem.reference)
    rows = independent_rows(problem.system).rows
    inverse = exact_inverse(dense_matrix(problem.system)[np.ix_(rows, profiles_of(basis))])
    for n, row in enumerate(rows):
        missed = np.zeros(problem.system.rows)
        missed[row] = 1.0
        exact = np.zeros(problem.system.profiles)
        exact[profiles_of(basis)] = [float(line[n]) for line in inverse]
        assert basis.change(missed) == pytest.approx(exact, abs=1e-12)
        assert (basis.sizes(missed) >= np.abs(exact)).all()


@pytest.mark.parametrize("seed", range(20))
def test_heaviest_basis__of_two_constraints_is_the_heaviest(seed):
    problem = random_arrays(seed)
    masses = np.random.default_rng(seed).permutation(problem.system.profiles) + 1.0
    basis = heaviest_basis(problem, masses)
    if basis.closing is not None:
        pytest.skip("beside the forest heavy profiles are taken, not the heaviest")
    rows = independent_rows(problem.system).rows
    assert set(profiles_of(basis).tolist()) == heaviest_independent(dense_matrix(problem.system)[rows], masses)


@pytest.mark.parametrize("name", PROBLEMS)
def test_heaviest_basis__meets_what_any_table_misses(name):
    problem = arrays_of(name) if name == "a" else labelled_from_problem(name)
    basis = heaviest_basis(problem, problem.reference)
    matrix = dense_matrix(problem.system).astype(float)
    missed = matrix @ np.random.default_rng(1).normal(size=problem.system.profiles)
    change = basis.change(missed)
    assert matrix @ change == pytest.approx(missed, abs=1e-11 * np.abs(missed).max())
    assert (basis.sizes(np.abs(missed)) >= np.abs(change) * (1 - 1e-9)).all()


def labelled_from_problem(name):
    from tests.solving.drawn import labelled_problem

    class Named:
        reference, constraints = labelled_problem(name)

    return labelled_from(Named).arrays


def test_invert_and_verify__bounds_the_exact_one():
    rng = np.random.default_rng(5)
    for _ in range(20):
        matrix = rng.integers(-1, 2, (6, 6))
        found = invert_and_verify(matrix.astype(float))
        if round(np.linalg.det(matrix)) == 0:
            assert found is None
            continue
        exact = exact_inverse(matrix)
        for i in range(6):
            for j in range(6):
                assert abs(exact[i][j]) <= Fraction(float(found[1][i, j]))
                assert float(exact[i][j]) == pytest.approx(found[0][i, j], abs=1e-14)


def test_invert_and_verify__of_a_matrix_that_doubles_errors():
    matrix = np.eye(40) - 2.0 * np.eye(40, k=1)
    _, sizes = invert_and_verify(matrix)
    assert 2.0**39 <= sizes[0, -1] <= 2.0**40


def test_invert_and_verify__proves_nothing_where_rounding_may_hide_a_singular_matrix():
    assert invert_and_verify(np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])) is None
