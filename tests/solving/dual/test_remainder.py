"""What is left of misses, against fractions: columns of no more than the sizes that are proved meet it exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.solving.dual import remainder
from purtensor.solving.dual.certificate import certify
from purtensor.solving.dual.remainder import bound_by_eigenvalue, bound_remainder, enclose_misses
from purtensor.solving.dual.solve import solve
from purtensor.solving.dual.watch import Watch
from tests import oracles
from tests.solving.dual.mixed import draw_mixed


def exact(values):
    return [Fraction(float(value)) for value in values]


def rows_of(problem):
    """A as fractions: the coefficients, and the slacks."""
    slacks = np.zeros((problem.rows, len(problem.slack_rows)))
    slacks[problem.slack_rows, np.arange(len(problem.slack_rows))] = problem.slack_signs
    return [exact(row) for row in np.concatenate([problem.matrix.to_sparse().toarray(), slacks], axis=1)]


@given(st.integers(0, 10**6))
def test_enclose_misses__holds_the_exact_ones(seed):
    problem = draw_mixed(seed).problem()
    x = np.abs(np.random.default_rng(seed).normal(size=problem.columns.size)) * problem.mass
    missed, unsure = enclose_misses(problem, x)
    for row, target, own, off in zip(rows_of(problem), exact(problem.targets), missed, unsure, strict=True):
        apart = abs(target - sum(a * b for a, b in zip(row, exact(x), strict=True)) - Fraction(float(own)))
        assert apart <= Fraction(float(off))
        assert off <= 1e-14 * float(sum(abs(a) * b for a, b in zip(row, exact(x), strict=True)) + abs(target))


@given(st.integers(0, 10**6))
def test_bound_remainder__columns_of_these_sizes_meet_the_misses(seed):
    problem = draw_mixed(seed).problem()
    run = solve(problem, Watch(100))
    missed = problem.mass * 1e-15 * np.random.default_rng(seed).uniform(-1.0, 1.0, problem.rows)
    sizes = bound_remainder(problem, run.point.give, np.abs(missed))
    if sizes is None:
        return
    rows, give = rows_of(problem), exact(run.point.give)
    kept = remainder._independent(np.array([[float(sum(map(_product, a, b, give))) for b in rows] for a in rows]))
    # the least change that meets the rows is close to the one that is proved, so no bound may be far below it
    gram = [[sum(map(_product, rows[i], rows[k], give)) for k in kept] for i in kept]
    potentials = oracles.solved_by_any_pivots(gram, [Fraction(float(missed[i])) for i in kept])
    change = [w * sum(rows[i][j] * y for i, y in zip(kept, potentials, strict=True)) for j, w in enumerate(give)]
    for own, size in zip(change, sizes, strict=True):
        assert abs(own) <= Fraction(float(size)) * (1 + Fraction(1, 10**6))


def test_bound_remainder__proves_nothing_where_columns_hardly_tell_rows_apart(monkeypatch):
    problem = draw_mixed(3).problem()
    monkeypatch.setattr(remainder, "_right_inverse", lambda rows, weights, gram: 2.0 * np.linalg.pinv(rows))
    assert bound_remainder(problem, solve(problem, Watch(100)).point.give, np.ones(problem.rows)) is None


def _product(a, b, c):
    return a * b * c


@pytest.mark.parametrize("share", [0.0, 1e-3])
def test_bound_remainder__grows_with_the_misses(share):
    problem = draw_mixed(5).problem()
    give = solve(problem, Watch(100)).point.give
    one, other = (bound_remainder(problem, give, np.full(problem.rows, size)) for size in (1e-9, 2e-9 + share))
    assert one is not None
    assert other == pytest.approx(one * (2e-9 + share) / 1e-9, rel=1e-6)


@given(st.integers(0, 10**6))
def test_bound_by_eigenvalue__columns_of_these_sizes_meet_the_misses(seed):
    """In fractions: cells meet the rows without a free slack by the least change, and free slacks what is left then."""
    problem, rng = draw_mixed(seed).problem(), np.random.default_rng(seed)
    give = solve(problem, Watch(100)).point.give
    slacks = np.arange(problem.cells, len(give))
    give[slacks[rng.random(len(slacks)) < 0.3]] = 1e20 * problem.mass
    missed = problem.mass * 1e-15 * rng.uniform(-1.0, 1.0, problem.rows)
    sizes = bound_by_eigenvalue(problem, give, np.abs(missed))
    if sizes is None:
        return
    rows, weights = rows_of(problem), exact(give)
    gram = np.array([[float(sum(map(_product, a, b, weights))) for b in rows] for a in rows])
    slack = np.bincount(problem.slack_rows, give[problem.cells :], problem.rows)
    of_cells = [float(sum(map(_product, row, row, weights[: problem.cells]))) for row in rows]
    free = slack > 2.0**20 * np.array(of_cells)
    asked = np.flatnonzero(~free if problem.matrix.dependent is None else ~free & ~problem.matrix.dependent)
    kept = asked[remainder._independent(gram[np.ix_(asked, asked)])]
    exact_gram = [[sum(map(_product, rows[i], rows[k], weights)) for k in kept] for i in kept]
    potentials = oracles.solved_by_any_pivots(exact_gram, [Fraction(float(missed[i])) for i in kept])
    change = [w * sum(rows[i][j] * y for i, y in zip(kept, potentials, strict=True)) for j, w in enumerate(weights)]
    for i in np.flatnonzero(free):
        left = Fraction(float(missed[i])) - sum(a * b for a, b in zip(rows[i], change[: problem.cells], strict=False))
        own = problem.cells + np.flatnonzero(problem.slack_rows == i)
        assert all(abs(left) <= Fraction(float(sizes[j])) * (1 + Fraction(1, 10**6)) for j in own)
    for j in range(problem.cells):
        assert abs(change[j]) <= Fraction(float(sizes[j])) * (1 + Fraction(1, 10**6))


def test_bound_by_eigenvalue__serves_where_rows_times_columns_are_many(monkeypatch):
    problem = draw_mixed(5).problem()
    small = certify(problem, solve(problem, Watch(100)).point)
    monkeypatch.setattr(remainder, "_MOST_ENTRIES", 0)
    large = certify(problem, solve(problem, Watch(100)).point)
    assert 0.0 < small.distance < 1e-9 * problem.mass
    assert 0.0 < large.distance < 1e-9 * problem.mass
    assert large.distance != small.distance


def test_bound_by_eigenvalue__proves_nothing_where_rows_nearly_depend():
    gram = np.array([[1.0, 1.0 - 2.0**-40], [1.0 - 2.0**-40, 1.0]])
    assert remainder._least_eigenvalue(gram, 10)[0] == 0.0
    assert remainder._least_eigenvalue(np.eye(2), 10)[0] == pytest.approx(2.0**-6)


def test_project__claims_no_bound_that_is_only_estimated(monkeypatch):
    people = pt.tabulate({"sex": ["f", "f", "m"], "age": ["old", "young", "old"]}, weights=[3.0, 4.0, 5.0])
    half = pt.total(1, of={"sex": "f"}, target=0.5)
    proved = pt.project(people, [half], total="reference")
    assert proved.certified
    assert not any("no bounds" in note for note in proved.notes)
    monkeypatch.setattr(remainder, "_MOST_ENTRIES", 0)
    monkeypatch.setattr(remainder, "_MOST_ROWS", 0)
    found = pt.project(people, [half], total="reference")
    assert found.converged
    assert (found.bound, found.tv_bound, found.certified) == (float("inf"), 1.0, False)
    assert any("no bounds are proved" in note for note in found.notes)
    xr.testing.assert_allclose(found.table, proved.table, rtol=1e-14)
