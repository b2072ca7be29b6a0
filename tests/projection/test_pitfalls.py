"""Inputs on which solvers of this kind go wrong without a word, each the smallest of its kind."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt

PEOPLE = {"sex": list("ffffmmmmmm"), "age": list("yyyoyooooo"), "x": [3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3.5]}
ONLY_POINT = np.array([4.7 / 3, 4.7 / 3, 4.7 / 3, 0.5, 1.8, 0.6, 0.6, 0.6, 0.6, 0.6])
"""The weights of these people with ratios between 0.5 and 1.8, of whom 5.2 are f and 6.5 y."""
SEX = pt.total(1, by="sex", target={"f": 5.2, "m": 4.8})


def table(values, **coords):
    return xr.DataArray(np.asarray(values, dtype=float), dims=tuple(coords), coords=coords)


def test_one_sided_rows_out_of_reach_are_infeasible_not_converged_by_rounding():
    """The potential of such a row grows without end, and a tolerance in its units grows with it."""
    out = pt.total("x", lower=10.0 * 9.0 + 0.3)
    with pytest.raises(pt.InfeasibleError, match="can reach"):
        pt.calibrate(PEOPLE, [SEX, out])
    kept = pt.calibrate(PEOPLE, [SEX, out], on_failure="return")
    assert not kept.result.certified
    assert kept.result.termination.name != "CONVERGED"


def test_rows_that_depend_on_each_other_once_bounds_are_active():
    """At the single feasible point every cell of m is at a bound or follows from the others."""
    age = pt.total(1, by="age", target={"y": 6.5, "o": 3.5})
    c = pt.calibrate(PEOPLE, [SEX, age], bounds=(0.5, 1.8))
    np.testing.assert_allclose(c.weights, ONLY_POINT, rtol=1e-9)
    assert c.result.residual < 1e-12


def test_intervals_and_soft_rows_with_equal_coefficients_all_stay():
    """Only equal equations may be dropped: of two intervals both count, and of two soft targets the weighted mean."""
    low, high = pt.total("x", lower=44.0, upper=52.0), pt.total("x", lower=47.0, upper=60.0)
    for rows in ([low, high], [high, low]):
        c = pt.calibrate(PEOPLE, [SEX, *rows])
        assert 47.0 - 1e-9 <= c.weights @ PEOPLE["x"] <= 52.0 + 1e-9
    one, other = (pt.soft(pt.total("x", target=b), sd=sd) for b, sd in ((42.0, 0.01), (45.0, 0.02)))
    c = pt.calibrate(PEOPLE, [SEX, one, other])
    # strong as they are, they outweigh the distance: (42 / 1 + 45 / 4) / (1 + 1 / 4), but for its pull
    assert c.weights @ PEOPLE["x"] == pytest.approx(42.6, abs=2e-3)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_bounds_hold_where_masses_differ(steps):
    """Pinsker's inequality is for equal masses: with a free total it would promise too little."""
    f = table([[0.5, 2.0], [1.0, 0.2]], a=[0, 1], b=[0, 1])
    rows = [pt.soft(pt.Marginal(f.sum("b") * 1.7), sd=0.1), pt.soft(pt.Marginal(f.sum("a")[::-1]), sd=0.2)]
    answer = pt.project(f, rows, total="free").table
    early = pt.project(f, rows, total="free", max_iterations=steps, on_failure="return")
    apart = float(abs(early.table - answer).sum() / early.table.sum())
    assert apart <= early.tv_bound + 1e-14
    assert apart > 0 or early.certified


def test_l1_rows_that_are_met_leave_no_dust_in_the_proof():
    soft = pt.soft(pt.total("x", target=41.0), penalty="l1", strength=50.0)
    c = pt.calibrate(PEOPLE, [SEX, soft])
    assert c.weights @ PEOPLE["x"] == pytest.approx(41.0, abs=1e-10)
    assert c.result.certified
    assert c.result.tv_bound < 1e-11


def test_two_strong_values_of_one_cell_are_certified_no_better_than_they_are():
    f = table([1.0, 1.0, 2.0], a=[0, 1, 2])
    total = pt.total(1, target=4.0)
    rows = [pt.soft(pt.total(1, of={"a": 0}, target=value), sd=1e-6) for value in (1.2, 1.4)]
    with pytest.raises(pt.NotConvergedError, match="no better step: rounding leaves none"):
        pt.project(f, [total, *rows])
    found = pt.project(f, [total, *rows], on_failure="return")
    error = abs(float(found.table.sel(a=0).item()) - 1.3)
    assert error <= 4.0 * found.tv_bound < 1e-3


def test_rows_with_target_zero_are_judged_in_their_own_units():
    """Rows of means have the target 0: a miss relative to it is infinite, in absolute units arbitrary."""
    euro = pt.calibrate(PEOPLE, [SEX, pt.mean("x", target=4.2)])
    cents = {**PEOPLE, "x": [1e8 * x for x in PEOPLE["x"]]}
    scaled = pt.calibrate(cents, [SEX, pt.mean("x", target=4.2e8)])
    np.testing.assert_allclose(scaled.weights, euro.weights, rtol=1e-12)
    assert euro.weights @ PEOPLE["x"] / euro.weights.sum() == pytest.approx(4.2, rel=1e-13)
    assert scaled.result.residual < 1e-12


def test_standard_errors_in_counts_and_in_shares_are_one_question_given_the_size():
    counts = table([[30.0, 20.0], [10.0, 40.0]], a=[0, 1], b=[0, 1])
    a, b = pt.Marginal(table([55.0, 45.0], a=[0, 1])), pt.Marginal(table([35.0, 65.0], b=[0, 1]))
    in_counts = pt.project(counts, [a, pt.soft(b, sd=5.0)]).table
    shares = [pt.Marginal(one.target / 100.0) for one in (a, b)]
    with pytest.raises(pt.InvalidOptionError, match="size"):
        pt.project(counts / 100.0, [shares[0], pt.soft(shares[1], sd=0.05)])
    in_shares = pt.project(counts / 100.0, [shares[0], pt.soft(shares[1], sd=0.05)], size=100.0).table
    np.testing.assert_allclose(100.0 * in_shares, in_counts, rtol=1e-11)
    assert float(in_counts.sum("a")[0]) == pytest.approx(37.0, abs=2.0)


def test_bounds_that_do_not_contain_the_reference_are_where_the_way_begins():
    f = table([1.0, 1.0, 1.0, 1.0], a=list("pqrs"))
    low = table([1.5, 0.0, 0.0, 0.0], a=list("pqrs"))
    high = table([9.0, 0.4, 9.0, 9.0], a=list("pqrs"))
    found = pt.project(f, pt.total(1, target=4.0), cell_bounds=(low, high))
    np.testing.assert_allclose(found.table.values, [1.5, 0.4, 1.05, 1.05], rtol=1e-12)
    assert found.at_bound.values.tolist() == [-1, 1, 0, 0]


def test_logit_with_the_bounds_of_a_clipped_distance_is_another_answer():
    rows = [SEX, pt.total(1, of={"age": "y"}, target=6.3)]
    clipped, logit = (pt.calibrate(PEOPLE, rows, bounds=(0.5, 2.0), distance=d).weights for d in ("kl", "logit"))
    assert np.abs(clipped - logit).sum() > 0.01
    np.testing.assert_allclose([logit[:4].sum(), clipped[:4].sum()], 5.2, rtol=1e-11)


def test_logit_answers_at_bounds_are_approached_and_proved_to_be_near():
    """No finite potentials put the logit distance at a bound, and here controls leave nothing else: they run away."""
    age = pt.total(1, by="age", target={"y": 6.5, "o": 3.5})
    c = pt.calibrate(PEOPLE, [SEX, age], bounds=(0.5, 1.8), distance="logit")
    apart = np.abs(c.weights - ONLY_POINT).sum() / 20
    assert apart <= c.result.tv_bound < 1e-6
    assert c.result.residual < 1e-10
