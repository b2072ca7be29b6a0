"""Statements of the paper that do not hold as printed, each by the smallest example found; see notes/paper.md."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import purtensor as pt

ROLES = {"response": "y", "protected": "s"}


def proxy(support: str = "observed", strength: float = 1e-4) -> pt.Marginal:
    """Return regularized people whose only predictor x equals s: counts 3, 2 of s = 0 and 1, 4 of s = 1."""
    counts = pt.tabulate({"y": [0, 1, 0, 1], "s": [0, 0, 1, 1], "x": [0, 0, 1, 1]}, weights=[3, 2, 1, 4])
    return pt.regularize(counts, strength, response="y", support=support)


def verdict(f: pt.Marginal) -> str:
    return str(pt.diagnose(f, pt.pur(f, **ROLES)).verdict)


def test_existence__the_data_are_no_solution_and_there_may_be_none() -> None:
    f = proxy()
    assert abs(pt.marginal(f, ["y", "s"]).values - pt.parity(f, **ROLES).target.values).max() > 0.05
    assert verdict(f) == "infeasible"


@pytest.mark.parametrize("strength", [1e-4, 1, 1000])
def test_regularization__on_the_observed_support_no_strength_makes_a_proxy_feasible(strength: float) -> None:
    assert verdict(proxy(strength=strength)) == "infeasible"


@pytest.mark.parametrize(("strength", "found"), [(0.1, "infeasible"), (0.5, "boundary"), (1, "interior")])
def test_regularization__on_the_product_support_a_large_one_does(strength: float, found: str) -> None:
    assert verdict(proxy("product", strength)) == found


def test_single_rows__a_step_leaves_the_simplex() -> None:
    # p_i b / (row sum) on the row alone: the mass elsewhere stays, and the total is no longer 1
    p, row, target = [Fraction(4, 10), Fraction(3, 10), Fraction(2, 10), Fraction(1, 10)], (0, 1), Fraction(1, 2)
    of_row = sum(p[i] for i in row)
    after = [mass * target / of_row if i in row else mass for i, mass in enumerate(p)]
    assert sum(after) == Fraction(8, 10)
    feasible = [Fraction(1, 4)] * 4  # it has the row's mass
    divergence = sum(float(a) * np.log(float(a / b)) for a, b in zip(after, p, strict=True))
    assert divergence == pytest.approx(-0.168, abs=5e-4)  # the appendix takes such terms to be non-negative
    assert sum(feasible[i] for i in row) == target


def test_whole_marginals__a_step_stays_in_the_simplex() -> None:
    p, target = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.5])
    after = p * np.repeat(target / p.reshape(2, 2).sum(axis=1), 2)
    assert after.sum() == pytest.approx(1, abs=1e-15)
    assert (after * np.log(after / p)).sum() > 0


def test_cauchy__differences_that_tend_to_zero_do_not_make_a_sequence_converge() -> None:
    # sin log n moves by less than 1 / n and has every number of [-1, 1] as a limit point
    n = np.arange(1, 100_000)
    values = np.sin(np.log(n))
    assert (np.abs(np.diff(values)) <= 1 / n[:-1]).all()
    assert values[n > 1000].max() > 0.99
    assert values[n > 1000].min() < -0.99


def test_continuity__where_only_the_boundary_solves_there_is_one_solution() -> None:
    labels = {"row": [0, 0, 1], "column": [0, 1, 0]}
    stairs = pt.tabulate(labels)
    margins = [pt.Marginal(pt.tabulate({name: [0, 1]})) for name in ("row", "column")]
    found = pt.diagnose(stairs, margins)
    assert str(found.verdict) == "boundary"
    assert pt.project(stairs, margins).table.values.tolist() == [0, 1, 1]  # both ones are forced: no second solution


def test_enumeration__ranges_that_share_an_end_count_an_index_twice() -> None:
    # as printed, blocks 1..a, a..b, b..c; the conditions of PUR are numbered without overlap
    sizes = (4, 6, 6)
    ends = np.cumsum(sizes)
    printed = [range(first, last + 1) for first, last in zip((1, *ends[:-1]), ends, strict=True)]
    assert sum(map(len, printed)) == ends[-1] + 2
    f = pt.regularize(
        pt.tabulate({"y": [0, 1] * 6, "s": [0, 0, 1, 1] * 3, "x": [0] * 4 + [1] * 4 + [2] * 4}), response="y"
    )
    system = pt.coefficients(f, pt.pur(f, **ROLES))
    assert system.matrix.shape[0] == sum(sizes) == len(system.targets)


def test_entropy__is_minus_the_divergence_from_uniform_plus_its_logarithm() -> None:
    p = pt.tabulate({"a": [0, 1, 2], "b": [0, 1, 0]}, weights=[0.5, 0.3, 0.2])
    assert pt.entropy(p) == pytest.approx(np.log(3) - pt.kl_divergence(p, pt.uniform(p)), abs=1e-15)
    assert pt.entropy(p) == pytest.approx(-sum(m * np.log(m) for m in (0.5, 0.3, 0.2)))


def test_zero_marginals__a_target_of_zero_empties_its_profiles() -> None:
    f = pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=[1, 2, 3, 4])
    target = pt.Marginal(pt.to_dense(pt.tabulate({"a": [0, 1]}, weights=[1, 1])) * [0, 10])
    q = pt.project(f, [target])
    assert q.table.values == pytest.approx([0, 0, 30 / 7, 40 / 7])
    assert q.table.values[:2].tolist() == [0, 0]
