"""Absolute penalties at one strength after another: the derivatives are those that two strengths show."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.projection.relax import build_relaxation
from purtensor.solving.dual.warm_starts import Priced

STEP = 1e-5


LABELS = {"y": list("ab"), "s": list("fmd"), "x": list("0123")}


def priced(seed):
    rng = np.random.default_rng(seed)
    f = xr.DataArray(rng.gamma(1.0, 1.0, (2, 3, 4)), dims=tuple(LABELS), coords=LABELS)
    soft, hard = rng.dirichlet(np.ones(6)).reshape(2, 3), rng.dirichlet(np.ones(12)).reshape(3, 4)
    rows = [
        pt.Marginal(xr.DataArray(own, dims=scope, coords={name: LABELS[name] for name in scope}))
        for own, scope in ((soft, ("y", "s")), (hard, ("s", "x")))
    ]
    return Priced(build_relaxation(f, rows, (0,), "l1", 1.0).question, 0)


@given(st.integers(0, 2**32), st.floats(-2.0, 2.0))
def test_at__tells_how_the_misses_fall(seed, logarithm):
    question, strength = priced(seed), float(np.exp(logarithm))
    here = question.at(strength, None, 500)
    there = question.at(strength * (1.0 + STEP), here, 500)
    before = question.at(strength * (1.0 - STEP), here, 500)
    assert here.run.converged
    assert there.run.converged
    rises = [(one.missed - here.missed) / (one.strength - here.strength) for one in (there, before)]
    # where a row begins or ceases to be missed in between, the derivative is that of one side
    assert min(rises) - 1e-4 <= here.missed_rise <= max(rises) + 1e-4
    assert here.missed_rise <= 1e-9


def test_at__begins_near_where_another_strength_points_to():
    question = priced(0)
    far = question.at(0.5, None, 500)
    near = question.at(0.50001, far, 500)
    assert near.watch.iterations <= 2 < far.watch.iterations
    assert near.missed == pytest.approx(question.at(0.50001, None, 500).missed, abs=1e-12)


def test_answer__is_proved_as_one_of_its_own():
    question = priced(1)
    found = question.answer(question.at(0.7, None, 500), 1e-10)
    assert found.termination.converged
    assert found.tv_bound < 1e-12
