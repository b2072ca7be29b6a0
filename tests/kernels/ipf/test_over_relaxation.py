from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.kernels.ipf.over_relaxation import compute_relaxed_gain, log_of_ratio, take_relaxed_factors
from purtensor.kernels.ipf.steps import RECORD_WIDTH
from purtensor.kernels.ipf.sweeps import run_sweeps
from tests.kernels.drawn import Arrays, both
from tests.oracles import DIGITS

OMEGAS = st.sampled_from((0.3, 0.9, 1.2, 1.5, 1.9))


@both(log_of_ratio)
@pytest.mark.parametrize(
    ("target", "found"), [(1e-30, 1.0), (1e-300, 2.0), (1.0 + 2**-40, 1.0), (0.4, 1.0), (0.6, 1.0), (7.0, 1e-300)]
)
def test_log_of_ratio__also_of_targets_below_the_last_digit_of_what_is_there(kernel, target, found):
    """log1p((b - s) / s) is minus infinity there, and a row without mass for ever."""
    with localcontext(prec=50):
        exact = float((Decimal(target) / Decimal(found)).ln())
    assert kernel(target, found) == pytest.approx(exact, rel=1e-14)


@both(compute_relaxed_gain)
@given(st.one_of(st.floats(-1e-6, 1e-6), st.floats(-9.0, 9.0)).filter(lambda x: abs(x) > 1e-15), OMEGAS)
def test_relaxed_gain__keeps_its_digits(kernel, log_ratio, omega):
    with localcontext() as context:
        context.prec = DIGITS
        power = Decimal(omega) * Decimal(log_ratio)
        exact = float(power * Decimal(log_ratio).exp() - power.exp() + 1)
        parts = float(power * (Decimal(log_ratio).exp() - 1)), float(power.exp() - 1 - power)
    assert abs(kernel(log_ratio, omega) - exact) <= 4e-15 * max(parts)


@both(take_relaxed_factors)
@given(OMEGAS, st.floats(0.0, 3.0), st.integers(0, 2**32 - 1))
def test_take_relaxed_factors__gain_what_the_dual_does_and_keep_the_total(kernel, omega, spread, seed):
    rng = np.random.default_rng(seed)
    sums = np.exp(spread * rng.standard_normal(8))
    targets = np.exp(spread * rng.standard_normal(8))
    sums, targets = 0.7 * sums / sums.sum(), 0.7 * targets / targets.sum()
    factor, u = np.empty(8), np.ones(8)
    gain = kernel(targets, sums, omega, factor, u)
    move = np.log(factor)
    assert gain == pytest.approx(targets @ move - sums @ np.expm1(move), rel=1e-9, abs=1e-15)
    ratio = targets / sums
    plain = sums @ (ratio * np.log(ratio) - ratio + 1.0)
    assert gain >= 0.5 * omega * (2.0 - omega) * plain * (1.0 - 1e-9)  # notes/solvers.md, equation 4
    assert (sums * factor).sum() == pytest.approx(0.7, rel=1e-14)
    assert u.tolist() == factor.tolist()


@both(take_relaxed_factors)
def test_take_relaxed_factors__falls_back_to_the_plain_factor_row_by_row(kernel):
    sums, targets = np.array([1e-6, 0.5, 0.4, 0.0]), np.array([0.2, 0.35, 0.35, 0.0])
    factor, u = np.empty(4), np.ones(4)
    kernel(targets, sums, 1.9, factor, u)
    ratio = targets[:3] / sums[:3]
    plain, relaxed, small = factor[0] / ratio[0], factor[1] / ratio[1] ** 1.9, factor[2] / ratio[2] ** 1.9
    assert plain == pytest.approx(relaxed, rel=1e-13)  # 200,000 ** 1.9 would lose; the others are relaxed
    assert small == pytest.approx(relaxed, rel=1e-13)
    assert factor[3] == 1.0


def run(kernel, arrays, omega, limit, tolerance=0.0, records=64):
    masses, t, u = arrays.reference.copy(), np.zeros(15), np.ones(15)
    sums, factor = np.empty(15), np.empty(15)
    sums[arrays.block(0)] = np.bincount(arrays.index[0], masses)
    lines = np.full((records, RECORD_WIDTH), np.nan)
    made, written = kernel(
        arrays.reference,
        arrays.index,
        arrays.offsets,
        arrays.targets,
        np.arange(3),
        masses,
        t,
        u,
        sums,
        factor,
        0,
        limit,
        tolerance,
        100 * tolerance,
        lines,
        64,
        omega,
    )
    return made, lines[:written], masses, t + np.log(u)


def plain_relaxed(arrays, omega, count):
    """The same in obvious lines, for problems where no row falls back."""
    masses = arrays.reference.copy()
    for _ in range(count):
        for k in range(3):
            rows = arrays.coefficients[arrays.block(k)]
            masses = masses * (rows.T @ (arrays.targets[arrays.block(k)] / (rows @ masses)) ** omega)
            masses = masses / masses.sum()
    return masses


@both(run_sweeps)
@pytest.mark.parametrize("omega", [0.5, 1.3, 1.7])
def test_run_sweeps__relaxed_are_the_plain_ones_to_a_power(kernel, omega):
    arrays = Arrays(20)
    made, lines, masses, potentials = run(kernel, arrays, omega, 6)
    assert made == len(lines) == 6
    assert masses == pytest.approx(plain_relaxed(arrays, omega, 6), rel=1e-12)
    assert masses == pytest.approx(arrays.reference * np.exp(arrays.coefficients.T @ potentials), rel=1e-13)
    assert np.diff(lines[:, 4]) == pytest.approx(lines[1:, 3], rel=1e-5, abs=1e-15)


@both(run_sweeps)
def test_run_sweeps__relaxed_ends_within_the_tolerance_and_stays_in_the_family_over_folds(kernel):
    arrays = Arrays(21)
    made, lines, masses, potentials = run(kernel, arrays, 1.85, 400, tolerance=1e-12, records=400)
    assert 50 < made < 400  # 1.85 is too much here: a fold lies within
    assert np.abs(arrays.coefficients @ masses - arrays.targets).max() <= 1e-12
    assert lines[-1, 0] == made
    assert masses == pytest.approx(arrays.reference * np.exp(arrays.coefficients.T @ potentials), rel=1e-13)
    assert (np.diff(lines[:, 4]) >= -1e-15).all()
