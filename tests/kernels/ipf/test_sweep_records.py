from __future__ import annotations

import math

import numpy as np
import pytest

from purtensor.kernels.ipf.steps import RECORD_WIDTH
from purtensor.kernels.ipf.sweep_records import ENDED, PASSED_OVER, RECORDED, judge_sweep
from tests.kernels.drawn import Arrays, both


def judge(kernel, *, sweep, tolerance, sums=None):
    """Judge a reference whose sums over constraint 1 are given; return the verdict and the record."""
    arrays = Arrays(40)
    true = arrays.coefficients @ arrays.reference
    sums = true if sums is None else sums
    record = np.full(RECORD_WIDTH, np.nan)
    verdict = kernel(
        arrays.reference,
        arrays.index,
        arrays.offsets,
        arrays.targets,
        sums,
        1,
        sweep,
        tolerance,
        tolerance,
        4,
        np.empty(15),
        record,
    )
    return arrays, true, verdict, record


@both(judge_sweep)
def test_judge_sweep__writes_what_is_due(kernel):
    arrays, true, verdict, record = judge(kernel, sweep=8, tolerance=1e-9)
    assert verdict == RECORDED
    gaps = np.abs(true - arrays.targets)
    assert record[:2] == pytest.approx([8, gaps.max()], rel=1e-12)
    assert record[2] == pytest.approx(max(gaps[arrays.block(k)].sum() for k in range(3)), rel=1e-12)
    assert np.isnan(record[3:5]).all()  # left to the caller
    assert record[5] == pytest.approx(1.0)


@both(judge_sweep)
def test_judge_sweep__passes_over_what_is_not_due_and_not_met(kernel):
    *_, verdict, record = judge(kernel, sweep=9, tolerance=1e-9)
    assert verdict == PASSED_OVER
    assert np.isnan(record).all()


@both(judge_sweep)
def test_judge_sweep__constraint_1_alone_is_not_enough(kernel):
    arrays = Arrays(40)
    sums = arrays.coefficients @ arrays.reference
    sums[arrays.block(1)] = arrays.targets[arrays.block(1)]  # as after scaling to it; the others are off
    assert judge(kernel, sweep=9, tolerance=1e-9, sums=sums)[2] == PASSED_OVER
    assert judge(kernel, sweep=9, tolerance=2.0, sums=sums)[2] == ENDED


@both(judge_sweep)
def test_judge_sweep__ends_at_what_is_no_number(kernel):
    *_, verdict, record = judge(kernel, sweep=9, tolerance=1e-9, sums=np.full(15, np.nan))
    assert verdict == ENDED
    assert math.isnan(record[1])
