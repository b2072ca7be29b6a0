"""Bounds on log ratios against exact answers, and the norm that they need against the projection itself."""

from __future__ import annotations

import math
from random import Random

import dask
import numpy as np
import pytest
from hypothesis import settings

import purtensor as pt
from purtensor.solving.basis import heaviest_basis
from purtensor.solving.log_ratio import _least_root, projection_norm
from tests import oracles
from tests.constraints.exact import dense_matrix
from tests.laws.fuzz_problems import posed
from tests.solving.drawn import labelled_problem, random_arrays

SEEDS = 20_000 if settings.get_current_profile_name() == "thorough" else 60


def test_log_ratio_bound__is_never_below_the_truth():
    proved = 0
    for seed in range(SEEDS):
        _, reference, constraints, answer = posed(seed)
        answer = oracles.normalised(answer)
        random = Random(seed)
        tolerance, limit = random.choice((1e-12, 1e-8, 1e-4)), random.choice((0, 3, 30, 100))
        result = pt.project(
            reference, constraints, tolerance=tolerance, max_iterations=limit, certificate=False, on_failure="return"
        )
        table = oracles.normalised(oracles.masses_of(result.table))
        found = result.log_ratio_bound
        if found < math.inf:
            proved += 1
            truth = max(abs(float(oracles.log_of(mass / table[profile]))) for profile, mass in answer.items())
            assert truth <= found * (1 + 1e-9) + 4e-16, seed
    assert proved >= SEEDS // 4


@pytest.mark.parametrize("seed", range(25))
def test_projection_norm__is_no_less_than_that_of_the_projection(seed):
    problem = random_arrays(seed)
    masses = problem.reference
    basis = heaviest_basis(problem, masses)
    found = projection_norm(problem, basis, masses, 1e-15)
    root = np.sqrt(masses)
    vectors, sizes, _ = np.linalg.svd((dense_matrix(problem.system).astype(float) * root).T, full_matrices=False)
    vectors = vectors[:, sizes > 1e-10 * sizes[0]]
    projection = (vectors @ vectors.T) * root / root[:, None]
    assert np.abs(projection).sum(axis=1).max() <= found * (1 + 1e-9)
    assert found < math.inf


@pytest.mark.parametrize("norm", [1.0, 3.0, 40.0])
def test_least_root__solves_the_equation_or_says_that_there_is_none(norm):
    most = (1 + norm) * math.log1p(1 / norm) - 1
    for size in (1e-12, 0.1 * most, 0.9 * most):
        z = _least_root(size, norm)
        assert z - norm * (math.exp(z) - 1 - z) == pytest.approx(size, rel=1e-3)
        assert z >= size
    assert _least_root(1.1 * most, norm) == math.inf


@pytest.mark.parametrize("solver", [pt.Newton(), pt.IPF(), None])
def test_stop_on_log_ratio__goes_on_until_every_profile_is_as_close(solver):
    reference, constraints = labelled_problem("PUR")
    result = pt.project(reference, constraints, solver=solver, stop_on="log_ratio", tolerance=1e-6)
    assert result.trace["log_ratio_bound"].values[-1] <= 1e-6
    exact = pt.project(reference, constraints, solver=pt.Newton(), tolerance=1e-14, on_failure="return")
    on = exact.table.values > 0
    assert np.abs(np.log(result.table.values[on] / exact.table.values[on])).max() <= 1.1e-6
    assert "log_ratio_bound" not in exact.trace


def test_stop_on_log_ratio__below_the_floor_of_rounding_ends_as_stalled():
    reference, constraints = labelled_problem("cube")
    result = pt.project(
        reference, constraints, solver=pt.Newton(), stop_on="log_ratio", tolerance=1e-17, on_failure="return"
    )
    assert result.termination is pt.results.Termination.STALLED


def test_stop_on_log_ratio__is_refused_where_none_is_proved():
    reference, constraints = labelled_problem("cube")
    with pytest.raises(pt.InvalidOptionError, match="rows of other kinds than marginals with targets have no bound"):
        pt.project(reference, constraints, cell_bounds=(0.1, None), stop_on="log_ratio")


def test_log_ratio_bound__proves_nothing_of_rows_of_other_kinds():
    reference, constraints = labelled_problem("cube")
    assert pt.project(reference, constraints, ratio_bounds=(1e-6, 1e6)).log_ratio_bound == math.inf


def test_log_ratio_bound__is_the_same_of_a_result_that_was_saved(tmp_path):
    reference, constraints = labelled_problem("records")
    result = pt.project(reference, constraints)
    pt.save(result, tmp_path / "r.nc")
    assert pt.load(tmp_path / "r.nc").log_ratio_bound == pytest.approx(result.log_ratio_bound, rel=0.5, abs=1e-11)


def stored_case(case, folder):
    reference, constraints = labelled_problem(case)
    return reference, pt.store_table(reference, folder / "t.zarr"), constraints


@pytest.mark.parametrize("case", ["PUR", "PUR without regularisation", "no freedom left"])
def test_log_ratio_bound__of_a_table_on_disk_is_that_of_one_in_memory(case, tmp_path):
    pytest.importorskip("zarr")
    reference, stored, constraints = stored_case(case, tmp_path)
    with dask.config.set({"scheduler": "synchronous"}):
        result = pt.project(stored, constraints, tolerance=1e-9)
        found = result.log_ratio_bound
    exact = pt.project(reference, constraints, tolerance=1e-14, on_failure="return")
    one, other = (oracles.masses_of(table) for table in (result.table.to_table(), exact.table))
    farthest = max(abs(math.log(other[profile] / mass)) for profile, mass in one.items())
    assert farthest - exact.log_ratio_bound <= found <= 2 * farthest + 1e-7


def test_log_ratio_bound__on_disk_is_infinite_where_targets_are_sums_of_fractions(tmp_path):
    pytest.importorskip("zarr")
    reference, stored, _ = stored_case("PUR", tmp_path)
    goal = pt.store_table(reference * 1.1, tmp_path / "goal.zarr")
    with dask.config.set({"scheduler": "synchronous"}):
        result = pt.project(stored, pt.marginals_of(goal, [("y", "x"), ("s", "x")]))
        assert result.certified
        assert result.log_ratio_bound == math.inf
