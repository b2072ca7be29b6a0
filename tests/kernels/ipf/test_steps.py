from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.kernels.ipf.steps import (
    FEW_ROWS,
    RECORD_WIDTH,
    dual_value,
    fold,
    is_recorded,
    measure,
    miss,
    phi,
    rebuild_masses,
    scale_and_sum,
    sum_rows,
    take_factors,
)
from purtensor.kernels.ipf.sweeps import run_sweeps
from tests.kernels.drawn import Arrays, both
from tests.kernels.newton.test_certificate import exact_sums


@both(phi)
@given(st.one_of(st.floats(-0.03, 0.03), st.floats(-0.999, 1e6)).filter(lambda w: abs(w) > 1e-20))
def test_phi__keeps_its_digits(kernel, w):
    assert kernel(w) == pytest.approx(exact_sums([1.0], [w])[0], rel=3e-14)  # beyond 0.02 a factor of 50 cancels


@both(phi)
def test_phi__ends_at_minus_one(kernel):
    assert kernel(-1.0) == 1.0
    assert kernel(0.0) == 0.0


@both(rebuild_masses)
def test_rebuild_masses__is_the_exponential_family(kernel):
    arrays = Arrays(5)
    t = np.random.default_rng(6).standard_normal(len(arrays.targets))
    masses = np.empty_like(arrays.reference)
    kernel(arrays.reference, arrays.index, arrays.offsets, t, masses)
    assert masses == pytest.approx(arrays.reference * np.exp(arrays.coefficients.T @ t), rel=1e-14)


@both(fold)
def test_fold__moves_the_factors_into_the_potentials(kernel):
    arrays = Arrays(7)
    rng = np.random.default_rng(8)
    t, u = rng.standard_normal(15), rng.uniform(0.5, 2.0, 15)
    wanted = t + np.log(u)
    masses = np.empty_like(arrays.reference)
    kernel(arrays.reference, arrays.index, arrays.offsets, t, u, masses)
    assert t == pytest.approx(wanted, rel=0, abs=2**-51)  # log may differ in its last digit
    assert (u == 1.0).all()
    assert masses == pytest.approx(arrays.reference * np.exp(arrays.coefficients.T @ wanted), rel=1e-14)


@both(sum_rows)
@pytest.mark.parametrize("crowded", [True, False])
@pytest.mark.parametrize("rows", [3, FEW_ROWS + 1])
def test_sum_rows__sums_whatever_the_order(kernel, rows, crowded):
    rng = np.random.default_rng(rows)
    row = rng.integers(0, rows, 1500).astype(np.uint16)
    row = np.sort(row) if crowded else row
    masses = rng.uniform(0.0, 1.0, 1500)
    sums = np.full(rows, np.nan)
    kernel(masses, row, sums)
    assert sums == pytest.approx(np.bincount(row, masses, rows), rel=1e-14)


@both(scale_and_sum)
@pytest.mark.parametrize("crowded", [True, False])
@pytest.mark.parametrize("rows", [3, FEW_ROWS + 1])
def test_scale_and_sum__scales_by_one_constraint_and_sums_for_the_next(kernel, rows, crowded):
    rng = np.random.default_rng(rows)
    row, following = (rng.integers(0, rows, 1503).astype(np.uint16) for _ in range(2))
    following = np.sort(following) if crowded else following
    masses, factor = rng.uniform(0.0, 1.0, 1503), rng.uniform(0.5, 2.0, rows)
    wanted = masses * factor[row]
    sums = np.full(rows, np.nan)
    kernel(masses, row, factor, following, sums)
    assert masses.tolist() == wanted.tolist()
    assert sums == pytest.approx(np.bincount(following, wanted, rows), rel=1e-14)


@both(miss)
def test_miss__largest_and_sum(kernel):
    assert kernel(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])) == (1.0, 1.5)
    assert all(map(math.isnan, kernel(np.array([np.nan, 2.0]), np.ones(2))))
    assert all(map(math.isnan, kernel(np.array([np.inf, 2.0]), np.ones(2))))


@both(measure)
def test_measure__over_all_constraints_not_the_last(kernel):
    arrays = Arrays(9)
    sums = np.full(15, np.nan)
    largest, l1 = kernel(arrays.reference, arrays.index, arrays.offsets, arrays.targets, sums)
    gaps = np.abs(arrays.coefficients @ arrays.reference - arrays.targets)
    assert sums == pytest.approx(arrays.coefficients @ arrays.reference, rel=1e-14)
    assert largest == pytest.approx(gaps.max(), rel=1e-12)
    assert l1 == pytest.approx(max(gaps[arrays.block(k)].sum() for k in range(3)), rel=1e-12)
    masses = arrays.reference.copy()
    masses[3] = np.nan
    assert all(map(math.isnan, kernel(masses, arrays.index, arrays.offsets, arrays.targets, sums)))


@both(take_factors)
def test_take_factors__and_what_the_step_gains(kernel):
    targets, sums = np.array([0.5, 0.25, 0.25, 0.1]), np.array([0.25, 0.5, 0.25, 0.0])
    factor, u = np.full(4, np.nan), np.array([1.0, 2.0, 3.0, 4.0])
    gain = kernel(targets, sums, factor, u)
    assert factor.tolist() == [2.0, 0.5, 1.0, 1.0]  # no potential can serve a row without mass
    assert u.tolist() == [2.0, 1.0, 3.0, 4.0]
    assert gain == pytest.approx(0.5 * math.log(2) + 0.25 * math.log(0.5), rel=1e-14)


@both(dual_value)
def test_dual_value__does_not_change_with_the_scale(kernel):
    targets, u = np.array([0.4, 0.6]), np.array([2.0, 0.5])
    first = kernel(targets, 1.0, np.array([0.1, 0.2]), u, 1.3, 1.0)
    shifted = kernel(targets, 1.0, np.array([1.1, 1.2]), u, 1.3 * math.e, 1.0)
    assert first == pytest.approx(0.4 * (0.1 + math.log(2)) + 0.6 * (0.2 - math.log(2)) - math.log(1.3), rel=1e-14)
    assert shifted == pytest.approx(first, rel=1e-14)


@both(is_recorded)
def test_is_recorded__all_at_first_then_so_many_an_octave(kernel):
    kept = [n for n in range(1, 65) if kernel(n, 4)]
    assert kept == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64]


def run(kernel, arrays, order, limit, tolerance=0.0, records=64, dense=64, done=0):
    """Run the sweep kernel from the reference; return its state."""
    masses, t, u = arrays.reference.copy(), np.zeros(15), np.ones(15)
    sums, factor = np.empty(15), np.empty(15)
    first = arrays.block(order[0])
    sums[first] = np.bincount(arrays.index[order[0]], masses)
    lines = np.full((records, RECORD_WIDTH), np.nan)
    made, written = kernel(
        arrays.reference,
        arrays.index,
        arrays.offsets,
        arrays.targets,
        np.array(order),
        masses,
        t,
        u,
        sums,
        factor,
        done,
        limit,
        tolerance,
        100 * tolerance,
        lines,
        dense,
        1.0,
    )
    with np.errstate(divide="ignore"):
        return made, lines[:written], masses, t + np.log(u)


def plain_sweeps(arrays, order, count):
    """The same in three obvious lines a step."""
    masses = arrays.reference.copy()
    for _ in range(count):
        for k in order:
            rows = arrays.coefficients[arrays.block(k)]
            masses = masses * (rows.T @ (arrays.targets[arrays.block(k)] / (rows @ masses)))
    return masses


@both(run_sweeps)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0)])
def test_run_sweeps__are_the_plain_sweeps_in_that_order(kernel, order):
    arrays = Arrays(10)
    made, lines, masses, potentials = run(kernel, arrays, order, 7)
    assert made == 7
    assert lines[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert masses == pytest.approx(plain_sweeps(arrays, order, 7), rel=1e-13)
    assert masses == pytest.approx(arrays.reference * np.exp(arrays.coefficients.T @ potentials), rel=1e-13)


@both(run_sweeps)
def test_run_sweeps__records_what_each_point_is(kernel):
    arrays = Arrays(11)
    _, lines, *_ = run(kernel, arrays, (0, 1, 2), 6)
    for n, line in enumerate(lines, 1):
        masses = plain_sweeps(arrays, (0, 1, 2), n)
        gaps = np.abs(arrays.coefficients @ masses - arrays.targets)
        assert line[1] == pytest.approx(gaps.max(), rel=1e-10)
        assert line[2] == pytest.approx(max(gaps[arrays.block(k)].sum() for k in range(3)), rel=1e-10)
        assert line[5] == pytest.approx(masses.sum(), rel=1e-14)
    assert np.diff(lines[:, 4]) == pytest.approx(lines[1:, 3], rel=1e-6)  # what a sweep gains is what the dual rises


@both(run_sweeps)
def test_run_sweeps__ends_at_the_first_sweep_within_the_tolerance(kernel):
    arrays = Arrays(12)
    made, lines, *_ = run(kernel, arrays, (0, 1, 2), 1000, tolerance=1e-8, dense=2)
    misses = [
        np.abs(arrays.coefficients @ plain_sweeps(arrays, (0, 1, 2), n) - arrays.targets).max()
        for n in (made - 1, made)
    ]
    assert misses[0] > 1e-8 >= misses[1]
    assert lines[-1, 0] == made


@both(run_sweeps)
def test_run_sweeps__ends_where_a_number_is_not_finite_and_where_records_are_full(kernel):
    arrays = Arrays(13)
    assert run(kernel, arrays, (0, 1, 2), 50, records=5)[0] == 5
    arrays.reference[0] = np.inf
    made, lines, *_ = run(kernel, arrays, (0, 1, 2), 50)
    assert made == 1
    assert math.isnan(lines[-1, 1])


def test_run_sweeps__recording_does_not_move_a_bit():
    arrays = Arrays(14)
    everything = run(run_sweeps, arrays, (0, 1, 2), 120, records=256, dense=64)
    little = run(run_sweeps, arrays, (0, 1, 2), 120, records=256, dense=1)
    assert len(little[1]) < len(everything[1])
    assert little[2].tolist() == everything[2].tolist()
    assert little[3].tolist() == everything[3].tolist()


@pytest.mark.parametrize("width", [1, 40], ids=["alternating", "crowded"])
def test_sum_rows__many_terms_of_few_rows_lose_no_digits(width):
    masses = np.random.default_rng(9).uniform(0.0, 1.0, 1_000_003)
    row = (np.arange(len(masses)) // width % 3).astype(np.uint32)
    sums = np.empty(3)
    sum_rows(masses, row, sums)
    exact = [math.fsum(masses[row == r].tolist()) for r in range(3)]
    assert sums == pytest.approx(exact, rel=4e-15)  # one chain of additions loses 3e-14 here
