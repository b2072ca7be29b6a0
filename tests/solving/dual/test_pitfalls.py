"""What went wrong in calibration software or in first versions of this solver, each with a small input that shows it.

Rows of large numbers, bounds that are out of reach, negative targets and the `size` of standard errors are tested with
`project` in tests/projection/test_general.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import purtensor as pt
from purtensor.feasibility.verdict import Verdict
from purtensor.solving.dual.certificate import certify, distance_from_gap
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.columns.kind import bregman_entropy
from purtensor.solving.dual.problem import RowCosts, dual_problem
from purtensor.solving.dual.solve import solve
from purtensor.solving.dual.watch import Watch

FOUR = pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=[4.0, 3.0, 2.0, 1.0])


def labelled(values, **categories):
    (name, labels), *_ = categories.items()
    return pt.tabulate({name: labels}, weights=values)


def column_problem(reference, rows, mass, lower=0.0, upper=np.inf):
    cells = len(reference)
    return dual_problem(EntropyColumns(reference, 1.0, np.full(cells, lower), np.full(cells, upper)), rows, mass)


def solved(problem):
    watch = Watch(500)
    run = solve(problem, watch)
    return run, certify(problem, run.point, advance=True), watch.iterations


def test_infeasible_rows_with_one_side_are_never_called_met():
    """Potentials grow without end, and with them what counts as rounding."""
    low = pt.total(1, by=("a",), lower=labelled([8.0, 4.0], a=[0, 1]))
    with pytest.raises(pt.InfeasibleError) as raised:
        pt.project(FOUR, [pt.Marginal(labelled([5.0, 5.0], b=[0, 1])), low])
    assert raised.value.diagnosis.verdict is Verdict.INFEASIBLE
    assert raised.value.diagnosis.exact == "rational"
    left = pt.project(FOUR, [pt.Marginal(labelled([5.0, 5.0], b=[0, 1])), low], on_failure="return")
    assert not left.converged
    assert not left.certified


def test_rank_may_vary_with_the_active_bounds():
    """At the answer three of four cells are at bounds: the free one leaves a rank of 1, all cells one of 3."""
    rows = [pt.Marginal(labelled([6.3, 3.7], a=[0, 1])), pt.Marginal(labelled([5.0, 5.0], b=[0, 1]))]
    low = pt.tabulate({"a": [0, 1], "b": [1, 0]}, weights=[3.9, 2.6])
    high = pt.tabulate({"a": [0], "b": [0]}, weights=[2.4])
    result = pt.project(FOUR, rows, cell_bounds=(low, high))
    assert result.certified
    assert result.tv_bound < 1e-12
    assert result.table.values == pytest.approx([2.4, 3.9, 2.6, 1.1], abs=1e-12)
    assert (result.at_bound.values != 0).sum() >= 1


def test_dependent_intervals_stay():
    """Of two intervals of one row the narrower end of each counts; only equalities may be left out."""
    first = pt.total(1, of={"a": 0}, lower=7.5, upper=9.0)
    second = pt.total(1, of={"a": 0}, lower=5.0, upper=8.0)
    for order in ([first, second], [second, first]):
        result = pt.project(FOUR, [pt.total(1, target=10.0), *order])
        assert pt.to_dense(result.table).sum("b").values[0] == pytest.approx(7.5, abs=1e-12)


def test_soft_rows_of_one_sum_stay():
    """Two noisy values of one sum pull as their mean weighted by precision does."""
    one = pt.soft(pt.total(1, of={"a": 0}, target=6.0), sd=0.1)
    other = pt.soft(pt.total(1, of={"a": 0}, target=8.0), sd=0.2)
    both = pt.project(FOUR, [pt.total(1, target=10.0), one, other])
    mean, sd = (6.0 / 0.01 + 8.0 / 0.04) / (1 / 0.01 + 1 / 0.04), (1 / 0.01 + 1 / 0.04) ** -0.5
    merged = pt.project(FOUR, [pt.total(1, target=10.0), pt.soft(pt.total(1, of={"a": 0}, target=mean), sd=sd)])
    assert both.table.values == pytest.approx(merged.table.values, rel=1e-12)


def test_dependent_equalities_are_told_from_contradictions():
    again = pt.total(1, of={"a": 0}, target=6.0)
    marginal = pt.Marginal(labelled([6.0, 4.0], a=[0, 1]))
    assert pt.project(FOUR, [marginal, again]).converged
    with pytest.raises(pt.InfeasibleError):
        pt.project(FOUR, [marginal, pt.total(1, of={"a": 0}, target=6.1)])


def test_distance__of_unequal_masses_is_not_pinskers():
    """KL of masses 1.2 and 1 is 0.0188; Pinsker's inequality would say that they differ by 0.194 at most."""
    gap = float(bregman_entropy(np.array([1.2]), np.array([1.0])).sum())
    assert np.sqrt(2.0 * gap) < 0.2
    cells = EntropyColumns(np.ones(1), 1.0, np.zeros(1), np.full(1, np.inf))
    assert distance_from_gap(cells, gap, np.array([1.2])) >= 0.2


@pytest.mark.parametrize("strength", [10.0, 1e4])
def test_certify__dust_on_slacks_costs_no_digits(strength):
    """A slack of 1e-12 at a price of 1e4 would cost 1e-8 nats, the root of which is 1e-4."""
    rng = np.random.default_rng(1)
    c = (rng.random((8, 30)) < 0.4).astype(float)
    reference = rng.random(30) + 0.5
    targets = c @ reference * np.exp(rng.normal(0, 0.3, 8))
    rows = RowCosts(sparse.csr_array(c), targets, targets, np.full(8, strength), np.zeros(8), np.full(8, np.nan))
    run, proof, _ = solved(column_problem(reference, rows, reference.sum(), 0.0, 2.0))
    assert run.converged
    assert proof.distance <= 1e-14 * max(10.0, strength) * reference.sum()


def test_solve__misses_do_not_stall_at_large_masses():
    """Proximal widths that grow without limit lose the digits of the misses."""
    rng = np.random.default_rng(2)
    c = (rng.random((6, 20)) < 0.4).astype(float)
    reference = 1e9 * (rng.random(20) + 0.5)
    targets = c @ reference * np.exp(rng.normal(0, 0.3, 6))
    rows = RowCosts(sparse.csr_array(c), targets, targets, np.full(6, 0.5), np.zeros(6), np.full(6, np.nan))
    run, proof, _ = solved(column_problem(reference, rows, reference.sum()))
    assert run.converged
    assert run.residual <= 1e-12
    assert proof.distance <= 1e-12 * reference.sum()


def test_certify__says_what_tiny_standard_errors_cost():
    """Two values of one cell, each with a standard error of 1e-6: potentials of 5e11, and few digits are left."""
    c = sparse.csr_array(np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]]))
    targets = np.array([2.0, 0.4, 1.4])
    rows = RowCosts(
        c, targets, targets, np.full(3, np.inf), np.array([0.0, 1e-12, 1e-12]), np.full(3, np.nan)
    )  # fmt: skip
    run, proof, _ = solved(column_problem(np.ones(2), rows, 2.0))
    # the mean of the two values, moved by variance / 2 times a slope of less than 1
    assert proof.cells == pytest.approx([0.9, 1.1], abs=1e-4)
    exact = np.array([0.9 + 0.5e-12 * np.log(1.1 / 0.9), 1.1 - 0.5e-12 * np.log(1.1 / 0.9)])
    assert np.abs(proof.cells - exact).sum() <= proof.distance
    assert np.abs(run.point.potentials).max() > 1e11
    assert proof.distance > 1e-12


def test_project__homogeneous_rows_are_judged_by_their_terms():
    """A mean's row has the target 0, which tells nothing of its size."""
    people = pt.tabulate({"income": [1e6, 2e6, 4e6], "n": [0, 0, 0]}, weights=[5.0, 3.0, 2.0])
    result = pt.project(people, [pt.total(1, target=10.0), pt.mean("income", target=1.9e6)])
    income = np.array([1e6, 2e6, 4e6])
    masses = pt.to_dense(result.table).sum("n").sel(income=income).values
    assert masses @ income / 10.0 == pytest.approx(1.9e6, rel=1e-13)
    assert result.certified
    assert result.residual < 1e-13


def test_project__begins_inside_of_bounds_that_leave_the_reference_out():
    """Lower bounds above the reference: the response at potentials of 0 is the bound."""
    low = FOUR.copy(data=np.where(FOUR.values == 1.0, 5.0, 0.0))
    result = pt.project(FOUR, pt.total(1, target=10.0), cell_bounds=(low, None))
    assert result.certified
    assert result.table.values == pytest.approx(np.where(FOUR.values == 1.0, 5.0, FOUR.values * 5.0 / 9.0), rel=1e-13)


def test_project__logit_is_another_distance_than_kl_within_the_same_bounds():
    people = pt.tabulate({"sex": list("ffffmmmmmm"), "age": list("yyyoyooooo")})
    controls = [pt.Marginal(labelled([5.2, 4.8], sex=["f", "m"])), pt.Marginal(labelled([6.5, 3.5], age=["y", "o"]))]
    answers = [pt.project(people, controls, ratio_bounds=(0.4, 2.5), distance=name) for name in ("kl", "logit")]
    assert all(answer.certified for answer in answers)
    assert np.abs(answers[0].table - answers[1].table).sum() > 0.02


def test_diagnose__finds_bounds_out_of_reach_though_all_controls_can_be_met():
    people = pt.tabulate({"sex": list("ffffmmmmmm"), "age": list("yyyoyooooo")})
    controls = [pt.Marginal(labelled([5.2, 4.8], sex=["f", "m"])), pt.Marginal(labelled([6.5, 3.5], age=["y", "o"]))]
    assert pt.project(people, controls).converged
    assert pt.project(people, controls, ratio_bounds=(0.55, 2.5)).converged
    assert pt.diagnose(people, controls, ratio_bounds=(0.6, 2.5)).verdict is Verdict.INFEASIBLE
