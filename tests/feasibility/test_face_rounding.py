"""What float64 targets leave the profiles that a face leaves out, and what the bounds of a result say then."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.constraints.rank.independence import independent_rows
from purtensor.feasibility.face_rounding import face_rounding, rounding_of_rows
from purtensor.solving.problem import build_problem
from tests import oracles

LEFT = 2.0**-50


def stairs(left):
    """Two rows of 1, columns of 1 + left and 1 - left, and no mass at the last profile: the first has what is left."""
    reference = pt.as_table(np.array([[0.25, 0.25], [0.25, 0.0]]), ["y", "s"])
    goal = pt.as_table(np.array([[left, 1.0 - left], [1.0, 0.0]]), ["y", "s"])
    return reference, pt.marginals_of(goal, [("y",), ("s",)])


def arrays_and_proof(left):
    """The problem's arrays, the profile that is left out, and weights that empty it: what the first row has beside."""
    labelled = build_problem(*stairs(left))
    arrays = labelled.arrays
    zeros = (arrays.index[0] == 0) & (arrays.index[1] == 0)
    weights = np.zeros(arrays.system.rows, dtype=np.int64)
    weights[arrays.system.block(0)] = [1, 0]
    weights[arrays.system.block(1)] = [0, -1]
    return arrays, zeros, weights


def test_face_rounding__is_none_where_targets_say_exactly_that_profiles_are_empty():
    assert face_rounding(*arrays_and_proof(0.0)) is None


def test_face_rounding__is_what_targets_leave_the_profile():
    arrays, zeros, weights = arrays_and_proof(LEFT)
    found = face_rounding(arrays, zeros, weights)
    assert found.mass == LEFT * arrays.total / 2
    assert found.rows[arrays.system.block(0)].tolist() == [found.mass, 0.0]
    assert face_rounding(arrays, zeros, -weights).mass == math.inf  # these empty nothing
    assert face_rounding(arrays, zeros & False, weights) is None


def test_rounding_of_rows__is_how_far_targets_are_from_those_of_other_independent_rows():
    """The rows imply each other's last target but for an ulp: met without the first row, this is what it lacks."""
    arrays, _, _ = arrays_and_proof(LEFT)
    assert rounding_of_rows(arrays, np.array([False, True, True, True])) is None  # no contradiction, whatever is met
    targets = arrays.targets.copy()
    targets[-1] -= 2.0**-53
    system = arrays.system.with_targets(targets)
    own = independent_rows(system).mask(4)
    assert own.sum() == 3
    moved = [rounding_of_rows(replace(arrays, system=system), np.arange(4) != left).rows for left in range(4)]
    for left, rows in enumerate(moved):
        assert rows.tolist() == np.where(np.arange(4) == left, 2.0**-53, 0.0).tolist()
    assert np.isinf(rounding_of_rows(replace(arrays, system=system), np.arange(4) < 2).rows).all()


def test_face_rounding__counts_what_dependent_rows_say_otherwise():
    """One ulp between the sums of two constraints: the last row says something else than the others imply."""
    arrays, zeros, weights = arrays_and_proof(LEFT)
    targets = arrays.targets.copy()
    targets[-1] -= 2.0**-53
    found = face_rounding(replace(arrays, system=arrays.system.with_targets(targets)), zeros, weights)
    assert max(found.rows) >= 2.0**-53


def judge(result, left):
    """The table is empty at the corner, where the exact one has mass, unless nothing is left there."""
    table = result.table if result.path is None else result.table.to_table()
    table = oracles.normalised(oracles.masses_of(table))
    assert result.termination is pt.results.Termination.CONVERGED_ON_FACE
    assert len(table) == 2
    checked = pt.verify(result)
    assert checked.passed, checked.failures
    for proof in (result, checked):
        assert proof.tv_bound < 1e-13
        assert proof.tv_bound >= left / 2 * (1 - 1e-3)
        assert (proof.bound == math.inf) == (left > 0)
    assert result.certified


@pytest.mark.parametrize("left", [0.0, LEFT])
def test_bounds__on_a_face_are_infinite_where_the_targets_leave_what_is_empty_some_mass(left):
    result = pt.project(*stairs(left))
    judge(result, left)
    if not left:
        exact = pt.verify(result, exact=True)
        assert exact.passed
        assert Fraction(exact.tv_bound) < Fraction(1, 10**15)


@pytest.mark.parametrize("left", [0.0, LEFT])
def test_bounds__on_a_face_on_disk(left, tmp_path):
    pytest.importorskip("zarr")
    reference, constraints = stairs(left)
    stored = pt.store_table(reference, tmp_path / "t.zarr")
    with dask.config.set({"scheduler": "synchronous"}):
        judge(pt.project(stored, constraints), left)
