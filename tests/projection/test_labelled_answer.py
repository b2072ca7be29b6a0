"""The divergence of an answer, by potentials where that keeps the digits, is the sum over its profiles."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.projection import labelled_answer


@pytest.mark.parametrize("tilt", [1.0, 1e-3, 1e-7])
@pytest.mark.parametrize("name", ["b", "b_lam0", "haberman"])
def test_divergence_of__by_potentials_is_that_by_profiles(name, tilt, monkeypatch):
    named = pt.problems.load(name)
    answer = pt.project(named.reference, named.constraints).table
    # targets on the way from the reference to the answer: nearby ones need every digit
    reference = named.reference / float(named.reference.sum())
    between = reference * (1.0 - tilt) + answer / float(answer.sum()) * tilt
    constraints = pt.marginals_of(between, [constraint.scope for constraint in named.constraints])
    by_profiles = pt.project(reference, constraints, tolerance=1e-13, on_failure="return")
    monkeypatch.setattr(labelled_answer, "SMALLEST_IN_CHUNKS", 0)
    by_potentials = pt.project(reference, constraints, tolerance=1e-13, on_failure="return")
    assert by_potentials.divergence == pytest.approx(by_profiles.divergence, rel=1e-11, abs=0.0)
    assert np.isfinite(by_potentials.divergence)
