"""Squared Friedrichs cosines of pairs of constraints, against dense singular values."""

from __future__ import annotations

import numpy as np
import pytest

from purtensor.solving.convergence.friedrichs import pair_spectrum, second_gap
from tests.solving.convergence.test_rates import solved


def dense_cosines(problem, masses, first, second):
    """All squared singular values of D^-1/2 C_j diag(q) C_k^T D^-1/2."""
    sizes = np.diff(problem.offsets)
    joint = np.zeros((sizes[first], sizes[second]))
    np.add.at(joint, (problem.index[first].astype(int), problem.index[second].astype(int)), masses)
    with np.errstate(divide="ignore"):
        left, right = (1 / np.sqrt(joint.sum(axis)) for axis in (1, 0))
    scaled = np.where(joint > 0, joint, 0) * np.where(np.isfinite(left), left, 0)[:, None]
    return np.linalg.svd(scaled * np.where(np.isfinite(right), right, 0), compute_uv=False) ** 2


@pytest.mark.parametrize("name", ["PUR without regularisation", "binary, all pairs", "cube", "records", "b"])
def test_pair_spectrum__is_the_largest_cosine_below_one(name):
    problem, limit = solved(name)
    for pair in ((0, 1), (1, 2), (0, 2)):
        cosines = dense_cosines(problem, limit.masses, *pair)
        below = cosines[cosines < 1 - 1e-9]
        found = pair_spectrum(problem, limit.masses, *pair)
        assert found.gap == pytest.approx(1 - below.max(initial=0.0), rel=1e-6)
        assert len(found.gaps) == np.sum(cosines > 1 - 1e-9)


@pytest.mark.parametrize("most_work", [1.0, 1e4])
def test_pair_spectrum__is_bounded_by_the_work(most_work):
    problem, limit = solved("cube")
    assert pair_spectrum(problem, limit.masses, 0, 1, most_work=most_work) is None
    assert pair_spectrum(problem, limit.masses, 0, 1) is not None


@pytest.mark.parametrize("weight", [1e-3, 1e-9, 1e-15])
def test_second_gap__keeps_its_digits_for_weak_links(weight):
    # two pieces of mass 1/2 joined by w: the determinant of K is its second singular value
    cells = np.array([[[0.5, weight], [0.0, 0.5]]])
    exact = weight * (1 + weight) / (0.5 + weight) ** 2
    assert second_gap(cells)[0] == pytest.approx(exact, rel=1e-12 / min(1.0, weight**0.5))
