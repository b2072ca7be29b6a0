"""The judge: sums over dense arrays in the obvious way say the same."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.comparison.outcome import divergence_to
from purtensor.comparison.plain import NotApplicableError, PlainProblem
from purtensor.comparison.questions import questions


def plain(name: str) -> tuple[pt.problems.NamedProblem, PlainProblem]:
    problem = pt.problems.load(name)
    return problem, questions(problem, 10.0)[0].plain


@pytest.mark.parametrize("name", ["a", "haberman", "staircase", "b_inf"])
def test_misses__are_those_of_dense_sums(name: str) -> None:
    problem, arrays = plain(name)
    whole, targets = problem.arrays()
    scale = targets[0][1].sum()
    drawn = np.random.default_rng(1).gamma(1.0, 1.0, whole.shape) * (whole > 0)
    drawn /= drawn.sum()
    misses = [
        np.abs(drawn.sum(axis=tuple(set(range(whole.ndim)) - set(axes))) - target / scale) for axes, target in targets
    ]
    largest, l1 = arrays.misses(arrays.on_support(drawn))
    assert largest == pytest.approx(max(miss.max() for miss in misses), rel=1e-12)
    assert l1 == pytest.approx(max(miss.sum() for miss in misses), rel=1e-12)
    assert np.array_equal(arrays.dense(arrays.on_support(drawn)), drawn)
    for k, (axes, target) in enumerate(targets):
        assert arrays.dense_target(k)[0] == axes
        assert arrays.dense_target(k)[1] == pytest.approx(target / scale, rel=1e-12)


def test_dense_target__axes_in_ascending_order() -> None:
    table = pt.to_dense(pt.tabulate({"a": [0, 0, 1], "b": [0, 1, 2], "c": [1, 0, 1]}, weights=[1, 2, 4]))
    arrays = questions((table, pt.marginals_of(table, [("c", "b")])), 10.0)[0].plain
    axes, target = arrays.dense_target(0)
    assert axes == (1, 2)
    assert target * 7 == pytest.approx(table.sum("a").transpose("b", "c").values)


def test_matrix__has_the_profiles_that_zero_targets_leave() -> None:
    table = pt.to_dense(pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}))
    wanted = pt.to_dense(pt.tabulate({"a": [0, 1]}, weights=[1, 1])) * np.array([1.0, 0.0])
    arrays = questions((table, [pt.Marginal(wanted)]), 10.0)[0].plain
    matrix, targets = arrays.matrix()
    assert arrays.kept.tolist() == [0, 1]
    assert matrix.toarray().tolist() == [[1.0, 1.0]]
    assert targets.tolist() == [1.0]
    assert arrays.spread(np.array([0.3, 0.7])).tolist() == [0.3, 0.7, 0.0, 0.0]


def test_dense__refuses_a_domain_that_fills_the_memory() -> None:
    _, arrays = plain("i4")
    with pytest.raises(NotApplicableError, match=r"1e\+12 cells"):
        arrays.dense(arrays.masses)


def test_misses__not_a_number_is_no_small_number() -> None:
    _, arrays = plain("haberman")
    assert np.isnan(arrays.misses(np.full(6, np.nan))).all()


def test_divergence_to__the_answer() -> None:
    _, arrays = plain("haberman")
    assert arrays.solution is not None
    assert divergence_to(arrays, 3 * arrays.solution) < 1e-30  # of distributions: the total plays no part
    shifted = arrays.solution + np.array([1, -1, 0, 0, 0, 0]) * 1e-9
    expected = 0.5 * 1e-18 * (1 / arrays.solution[0] + 1 / arrays.solution[1])
    assert divergence_to(arrays, shifted) == pytest.approx(expected, rel=1e-6)
    far = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    assert divergence_to(arrays, far) == pytest.approx(float((arrays.solution * np.log(arrays.solution / far)).sum()))
    assert divergence_to(arrays, np.array([0.0, 0.2, 0.2, 0.2, 0.2, 0.2])) == np.inf
