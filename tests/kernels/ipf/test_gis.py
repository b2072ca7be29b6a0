from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.ipf.gis import restore_total, run_gis, take_roots
from purtensor.kernels.ipf.steps import RECORD_WIDTH
from tests.kernels.drawn import Arrays, both


@both(take_roots)
def test_take_roots__logarithms_over_the_number_of_constraints(kernel):
    targets, sums, move = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.5, 0.0]), np.full(3, np.nan)
    slope = kernel(targets, sums, 3, move)
    assert move == pytest.approx(np.array([np.log(2) / 3, np.log(0.5) / 3, 0.0]), rel=1e-15)
    assert slope == pytest.approx((targets - sums) @ move, rel=1e-15)


@both(restore_total)
def test_restore_total__and_what_that_gains(kernel):
    masses, sums, t = np.array([0.2, 0.4]), np.array([0.2, 0.4, 0.6]), np.zeros(2)
    gain = kernel(masses, sums, sums[:2], 0.9, t)
    assert masses == pytest.approx(np.array([0.3, 0.6]), rel=1e-15)
    assert sums == pytest.approx(np.array([0.3, 0.6, 0.9]), rel=1e-15)
    assert t == pytest.approx(np.full(2, np.log(1.5)), rel=1e-15)
    assert gain == pytest.approx(0.9 * np.log(1.5) - 0.3, rel=1e-14)


def run(kernel, arrays, limit, tolerance=0.0):
    masses, t = arrays.reference.copy(), np.zeros(len(arrays.targets))
    lines = np.full((256, RECORD_WIDTH), np.nan)
    made, written = kernel(
        arrays.reference,
        arrays.index,
        arrays.offsets,
        arrays.targets,
        masses,
        t,
        arrays.coefficients @ masses,
        0,
        limit,
        tolerance,
        100 * tolerance,
        lines,
        64,
    )
    return made, lines[:written], masses, t


def plain_gis(arrays, count):
    """All constraints at once, in obvious lines."""
    masses = arrays.reference.copy()
    for _ in range(count):
        ratio = arrays.targets / (arrays.coefficients @ masses)
        masses = masses * np.exp(arrays.coefficients.T @ np.log(ratio) / len(arrays.index))
        masses = masses / masses.sum()
    return masses


@both(run_gis)
@pytest.mark.parametrize("rows", [(6, 5), (6, 5, 4), (3, 2, 5, 2)])
def test_run_gis__is_the_plain_loop(kernel, rows):
    arrays = Arrays(30, rows=rows)
    made, lines, masses, t = run(kernel, arrays, 5)
    assert made == len(lines) == 5
    assert masses == pytest.approx(plain_gis(arrays, 5), rel=1e-13)
    assert masses == pytest.approx(arrays.reference * np.exp(arrays.coefficients.T @ t), rel=1e-13)
    assert np.diff(lines[:, 4]) == pytest.approx(lines[1:, 3], rel=1e-6, abs=1e-15)


@both(run_gis)
def test_run_gis__one_constraint_is_met_at_once(kernel):
    arrays = Arrays(31, rows=(7,))
    made, _, masses, _ = run(kernel, arrays, 50, tolerance=1e-15)
    assert made == 1
    assert arrays.coefficients @ masses == pytest.approx(arrays.targets, rel=1e-14)


@both(run_gis)
def test_run_gis__gains_at_least_the_mean_divergence_and_ends_within_the_tolerance(kernel):
    arrays = Arrays(32)
    made, lines, masses, _ = run(kernel, arrays, 256, tolerance=1e-7)
    assert np.abs(arrays.coefficients @ masses - arrays.targets).max() <= 1e-7
    assert lines[-1, 0] == made < 256
    for n in (1, 2, 3):
        sums = arrays.coefficients @ plain_gis(arrays, n - 1)
        divergences = arrays.targets @ np.log(arrays.targets / sums)
        assert lines[n - 1, 3] >= divergences / 3
