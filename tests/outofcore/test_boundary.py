"""Projections on disk where the constraints force zeros: solved on the face that is left, as in memory."""

from __future__ import annotations

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore import diagnose
from purtensor.outofcore import project as running
from purtensor.outofcore.project import project_stored
from purtensor.projection.lazy_verdict import FaceVerdict
from purtensor.solving import run_state
from tests.outofcore.test_kills import assert_same_bits
from tests.outofcore.test_project import SETS, by_profile, pools  # noqa: F401

pytestmark = pytest.mark.slow

pytest.importorskip("zarr")

ON_FACE = pt.results.Termination.CONVERGED_ON_FACE


@pytest.fixture(autouse=True)
def small_parts():
    with dask.config.set({"scheduler": "synchronous", "purtensor.part-profiles": 30}):
        yield


def forced_goal(seed):
    """Counts on a random support, and other counts on a part of it that has all its pairs: no target is zero."""
    rng = np.random.default_rng(seed)
    sizes = (int(rng.integers(2, 4)), int(rng.integers(2, 5)), int(rng.integers(6, 20)))
    return _thinned(rng, "ysx", sizes, SETS["PUR"], float(rng.choice([0.5, 0.7])), 0.5)


def thinned(seed, names, sizes, scopes):
    """Counts on 45 % of all profiles, and others on as few of them as have all rows of these scopes."""
    return _thinned(np.random.default_rng(seed), names, sizes, scopes, 0.45, 1.0)


def _thinned(rng, names, sizes, scopes, share, tried):
    profiles = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, len(sizes))
    profiles = profiles[rng.random(len(profiles)) < share]
    counts = rng.integers(1, 30, len(profiles)).astype(float)
    table = pt.tabulate({name: profiles[:, k] for k, name in enumerate(names)}, weights=counts)
    goal = np.ceil(table.values * np.exp(rng.normal(size=table.size)))
    columns = {name: table[name].values for name in names}
    for i in rng.permutation(len(goal))[: int(tried * len(goal))]:
        alike = [np.all([columns[name] == columns[name][i] for name in scope], axis=0) for scope in scopes]
        if all((own & (goal > 0)).sum() > 1 for own in alike):
            goal[i] = 0.0
    return table, table.copy(data=goal)


def forced_case(seed):
    """A table, and PUR's marginals of another that lacks some of its profiles."""
    table, goal = forced_goal(seed)
    return table, pt.marginals_of(goal, SETS["PUR"])


TWO_PROOFS = 5
SEEDS = (10, 22, TWO_PROOFS)


def stored(table, folder, chunk=13):
    return pt.store_table(table, folder / "t.zarr", chunk=chunk)


def zeros_of(table):
    series = by_profile(table)
    return set(series.index[series == 0])


def assert_as_in_memory(result, expected):
    """Check termination, figures, profiles and zeros; masses to 1e-12 of the total."""
    assert result.termination is expected.termination
    assert result.iterations == expected.iterations
    assert expected.certified or not result.certified  # memory may prove more of a point that is far off
    mine, its = by_profile(result.table.to_table()), by_profile(expected.table)
    assert mine.index.equals(its.index)
    assert np.abs(mine.values - its.values).max() <= 1e-12 * its.sum()
    assert zeros_of(result.table.to_table()) == zeros_of(expected.table)
    for name in ("divergence", "residual", "residual_l1"):
        assert getattr(result, name) == pytest.approx(getattr(expected, name), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("chunk", "part"), [(1000, 1000), (13, 30), (50, 1)])
def test_project__where_zeros_are_forced_equals_the_answer_in_memory(tmp_path, seed, chunk, part):
    table, constraints = forced_case(seed)
    expected = pt.project(table, constraints, solver=pt.Newton())
    assert expected.termination is ON_FACE
    assert expected.diagnosis.zeros_beyond_targets.size
    result = project_stored(stored(table, tmp_path, chunk), constraints, part_profiles=part)
    assert_as_in_memory(result, expected)
    assert result.certified
    assert result.notes[1] == next(note for note in expected.notes if "force zeros" in note)
    assert result.diagnosis.verdict is Verdict.BOUNDARY
    assert zeros_of(result.table.to_table()) == set(by_profile(result.diagnosis.implied_zeros.to_table()).index)
    assert result.trace["dual"].values[-1] == pytest.approx(result.divergence, abs=1e-8)
    verification = pt.verify(result)
    assert verification.failures == ()
    assert verification.residual == pytest.approx(result.residual, rel=1e-4, abs=1e-15)
    assert sum(float(piece.sum()) for piece in result.chunks()) == pytest.approx(float(table.sum()), rel=0.9)


@pytest.mark.parametrize("name", ["and_gate", "haberman_boundary"])
@pytest.mark.parametrize("solver", [pt.Newton(), pt.IPF()], ids=["Newton", "IPF"])
def test_project__classical_boundaries(tmp_path, monkeypatch, name, solver):
    monkeypatch.setattr(run_state, "PATIENCE", 25)
    problem = pt.problems.load(name)
    expected = pt.project(problem.reference, problem.constraints, solver=pt.Newton())
    place = stored(pt.to_sparse(problem.reference), tmp_path)
    result = pt.project(place, problem.constraints, solver=solver)
    assert result.termination is ON_FACE
    assert result.certified
    assert pt.verify(result).passed
    mine = by_profile(result.table.to_table())
    its = by_profile(expected.table).reindex(mine.index)
    assert np.abs(mine - its).max() <= (1e-12 if isinstance(solver, pt.Newton) else 1e-9) * its.sum()
    assert zeros_of(result.table.to_table()) == set(its.index[its == 0])


def test_project__sweeps_find_the_face_when_they_are_slow(tmp_path, monkeypatch):
    monkeypatch.setattr(run_state, "PATIENCE", 20)
    table, constraints = forced_case(2)
    expected = pt.project(table, constraints, solver=pt.IPF(), tolerance=1e-13)
    result = pt.project(stored(table, tmp_path), constraints, solver=pt.IPF(), tolerance=1e-13)
    assert result.termination is expected.termination is ON_FACE
    assert np.abs(by_profile(result.table.to_table()) - by_profile(expected.table)).max() <= 1e-12 * table.sum()
    assert "after 20 iterations" in result.notes[1]


def test_project__zeros_of_targets_and_forced_ones(tmp_path):
    table, constraints = forced_case(10)
    goal = by_profile(pt.project(table, constraints).table)
    lost = table.copy(data=np.where(table["x"].values == 3, 0.0, goal.reindex(table.indexes["profile"]).values))
    constraints = pt.marginals_of(lost, SETS["PUR"])
    bare = pt.Newton(warm_up=0)  # in memory the profiles that zeros of targets empty weigh in the first sweep
    expected = pt.project(table, constraints, solver=bare, tolerance=1e-12)
    result = pt.project(stored(table, tmp_path), constraints, solver=bare, tolerance=1e-12)
    assert expected.termination is ON_FACE
    assert_as_in_memory(result, expected)
    assert pt.verify(result).passed


@pytest.mark.parametrize(
    "options", [{"tolerance": 1e-2}, *({"max_iterations": most} for most in (4, 6, 7, 9))], ids=str
)
def test_project__a_tolerance_or_limit_that_comes_first_is_as_in_memory(tmp_path, options):
    table, constraints = forced_case(10)
    expected = pt.project(table, constraints, solver=pt.Newton(), on_failure="return", **options)
    result = pt.project(stored(table, tmp_path), constraints, on_failure="return", **options)
    assert_as_in_memory(result, expected)
    assert (result.diagnosis is None) == (expected.diagnosis is None)


def test_project__interior_problems_are_never_asked_about(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "diagnose_slabs", lambda *_: pytest.fail("nobody doubts"))
    problem = pt.problems.load("a")
    result = pt.project(stored(pt.to_sparse(problem.reference), tmp_path), problem.constraints)
    assert result.termination is pt.results.Termination.CONVERGED
    assert result.diagnosis is None


def test_project__a_face_that_only_memory_finds(tmp_path, monkeypatch):
    monkeypatch.setattr(diagnose, "search_parts", lambda *_: None)
    monkeypatch.setattr(diagnose, "coarse_contradiction", lambda *_: None)
    table, constraints = forced_case(TWO_PROOFS)
    result = pt.project(stored(table, tmp_path), constraints)
    assert result.diagnosis.evidence.settled is not None
    assert_as_in_memory(result, pt.project(table, constraints, solver=pt.Newton()))
    assert pt.verify(result).passed


def test_project__without_the_face_it_would_not_end(tmp_path, monkeypatch):
    monkeypatch.setattr(FaceVerdict, "is_hopeless", lambda _: False)
    table, constraints = forced_case(10)
    result = pt.project(stored(table, tmp_path), constraints, max_iterations=40, on_failure="return")
    assert not result.certified


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_project__threads_and_processes_have_the_same_bits_on_a_face(tmp_path, kind, pools):  # noqa: F811
    table, constraints = forced_case(TWO_PROOFS)
    alone = project_stored(stored(table, tmp_path), constraints, part_profiles=30)
    (tmp_path / "again").mkdir()
    with dask.config.set(**pools[kind]):
        again = project_stored(stored(table, tmp_path / "again"), constraints, part_profiles=30)
    assert again.termination is ON_FACE
    assert_same_bits(again, alone)


MORE_SETS = {
    "two outside": ("ysx", (3, 3, 9), SETS["two outside"]),
    "three inside": ("ysx", (3, 3, 9), SETS["three inside"]),
    "four attributes": ("abcd", (4, 3, 3, 3), [("a", "b"), ("a", "c"), ("b", "c"), ("a", "d")]),
}


@pytest.mark.parametrize(("names", "sizes", "scopes"), MORE_SETS.values(), ids=MORE_SETS)
def test_project__other_constraints_that_force_zeros(tmp_path, names, sizes, scopes):
    table, goal = thinned(0, names, sizes, scopes)
    constraints = pt.marginals_of(goal, scopes)
    expected = pt.project(table, constraints, solver=pt.Newton(), certificate=False)
    assert expected.termination is ON_FACE
    place = stored(table, tmp_path)
    assert_as_in_memory(project_stored(place, constraints, part_profiles=12, certificate=False), expected)
    proved = project_stored(place, constraints, part_profiles=12, stop_on="tv_bound", tolerance=1e-9)
    assert proved.termination is ON_FACE
    assert proved.tv_bound <= 1e-9
    assert pt.verify(proved).passed
