"""What is left of misses, against fractions: columns of no more than the sizes that are proved meet it exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.solving.dual import remainder
from purtensor.solving.dual.remainder import bound_remainder, enclose_misses
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
