"""L-BFGS on disk where there may be nothing to converge to: it asks for the verdict, as in memory."""

from __future__ import annotations

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore import diagnose
from purtensor.outofcore import rows_project as running
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.diagnose import diagnose_stored
from purtensor.solving import run_state
from tests.outofcore.test_boundary import ON_FACE, TWO_PROOFS, forced_case, stored, thinned, zeros_of
from tests.outofcore.test_project import SETS, by_profile, people, targets

pytest.importorskip("zarr")

NO_SLABS = r"no attributes divide these constraints into slabs"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(run_state, "PATIENCE", 40)
    with dask.config.set({"scheduler": "synchronous", "purtensor.part-profiles": 30}):
        yield


@pytest.fixture
def doubting(monkeypatch):
    """Every run of so many iterations raises doubts: those of so small tables are over before they are slow."""
    monkeypatch.setattr(run_state, "LITTLE", 0.0)


@pytest.fixture
def no_slabs(monkeypatch):
    monkeypatch.setattr("purtensor.outofcore.prepare.LARGEST_DENSE", 2)


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(diagnose.diagnose_stored, "__kwdefaults__", {"in_memory": 0})


def assert_on_the_face(result, table, constraints):
    """Compare with Newton's method in memory: the ending, the zeros, the masses, and what is told of them."""
    expected = pt.project(table, constraints, solver=pt.Newton())
    assert (result.termination, expected.termination) == (ON_FACE, ON_FACE)
    mine, its = by_profile(result.table.to_table()), by_profile(expected.table)
    assert mine.index.equals(its.index)
    assert np.abs(mine.values - its.values).max() <= 1e-10 * its.sum()
    assert zeros_of(result.table.to_table()) == zeros_of(expected.table)
    assert result.divergence == pytest.approx(expected.divergence, abs=1e-10)
    assert result.diagnosis.verdict is Verdict.BOUNDARY
    assert any("the constraints force zeros" in note for note in result.notes)
    verification = pt.verify(result)
    assert verification.failures == ()


SOLVING = {"solver": pt.LBFGS(), "tolerance": 1e-12, "on_failure": "return"}


@pytest.mark.parametrize("seed", [10, TWO_PROOFS])
def test_lbfgs__where_zeros_are_forced_ends_on_the_face(tmp_path, seed, doubting):
    table, constraints = forced_case(seed)
    result = pt.project(stored(table, tmp_path), constraints, **SOLVING)
    assert_on_the_face(result, table, constraints)
    assert result.evidence.store.proofs == len(result.diagnosis.evidence.steps) > 0
    began = int(next(note for note in result.notes if "force zeros" in note).split("after ")[1].split()[0])
    assert result.iterations > began
    assert began % run_state.PATIENCE == 0


def test_lbfgs__zeros_of_targets_and_zeros_forced_by_them(tmp_path, doubting):
    table, constraints = forced_case(TWO_PROOFS)
    goal = constraints[1].target.copy()
    result = pt.project(stored(table, tmp_path), constraints, **SOLVING)
    y, x = (result.table.to_table()[name].values for name in "yx")
    lost = (y == goal["y"].values[0]) & (x == goal["x"].values[0])
    own = result.table.to_table()
    emptied = pt.marginals_of(own.copy(data=np.where(lost, 0.0, own.values)), SETS["PUR"])
    again = pt.project(pt.store_table(table, tmp_path / "again.zarr", chunk=13), emptied, **SOLVING)
    assert again.converged
    assert zeros_of(result.table.to_table()) < zeros_of(again.table.to_table())
    assert pt.verify(again).passed


def test_verify__zeros_need_proofs_that_hold(tmp_path, doubting):
    table, constraints = forced_case(10)
    result = pt.project(stored(table, tmp_path), constraints, **SOLVING)
    store = result.evidence.store
    kept = {place: read_packed(place).arrays for place in (store.folder / "proof").iterdir()}
    assert len(kept) == len(store.parts) > 1
    for change in (lambda weights: weights[:0], lambda weights: -weights, lambda weights: weights + 1):
        for place, arrays in kept.items():
            write_packed(place, {**arrays, "weights": change(arrays["weights"])})
        verification = pt.verify(result)
        assert not verification.passed
        assert "profiles that are not proved to be implied zeros" in " ".join(verification.failures)


def test_lbfgs__nothing_meets_the_constraints(tmp_path):
    problem = pt.problems.load("proxy")
    place = stored(problem.reference, tmp_path, 2)
    with pytest.raises(pt.InfeasibleError) as told:
        pt.project(place, problem.constraints, solver=pt.LBFGS())
    found = told.value.diagnosis
    assert found.verdict is Verdict.INFEASIBLE
    assert found.verify()
    assert str(told.value).startswith(str(found.explanation))
    result = pt.project(place, problem.constraints, solver=pt.LBFGS(), on_failure="return")
    assert result.termination is pt.results.Termination.INFEASIBLE
    assert result.iterations == run_state.PATIENCE


def test_lbfgs__interior_problems_are_never_asked_about(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "diagnose_stored", lambda *_: pytest.fail("nobody doubts"))
    table = people(106, share=0.8)
    assert pt.project(stored(table, tmp_path, 100), targets(table, SETS["PUR"]), solver=pt.LBFGS()).converged


def test_lbfgs__what_stands_still_is_asked_about(tmp_path):
    table = people(107, (2, 2, 9))
    result = pt.project(
        stored(table, tmp_path, 10), targets(table, SETS["PUR"]), solver=pt.LBFGS(), tolerance=0.0, on_failure="return"
    )
    assert result.termination is pt.results.Termination.STALLED
    assert result.diagnosis.verdict is Verdict.INTERIOR
    assert result.diagnosis.verify()


def test_lbfgs__is_interrupted_while_it_asks(tmp_path, monkeypatch, doubting):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "diagnose_stored", interrupted)
    table, constraints = forced_case(10)
    result = pt.project(stored(table, tmp_path), constraints, **SOLVING)
    assert result.termination is pt.results.Termination.INTERRUPTED
    assert result.iterations == run_state.PATIENCE


def test_lbfgs__a_row_without_profiles_has_a_diagnosis(tmp_path):
    table = people(105, (2, 2, 9))
    short = table[~((table["y"] == 1) & (table["x"] == 3)).values]
    with pytest.raises(pt.InfeasibleError, match="y=1, x=3 has a positive target") as told:
        pt.project(stored(short, tmp_path), targets(table, SETS["PUR"]), solver=pt.LBFGS())
    assert told.value.diagnosis.verify()


CUBE = [("a", "b"), ("b", "c"), ("a", "c")]


def cube_case():
    table, goal = thinned(1, "abc", (4, 4, 4), CUBE)
    return table, pt.marginals_of(goal, CUBE)


def test_lbfgs__a_small_table_without_slabs_is_asked_about_in_memory(tmp_path, no_slabs, doubting):
    table, constraints = cube_case()
    place = stored(table, tmp_path)
    with pytest.raises(pt.errors.NoSlabsError):
        pt.project(place, constraints)
    result = pt.project(place, constraints, **SOLVING)
    assert_on_the_face(result, table, constraints)
    zeros = by_profile(result.diagnosis.implied_zeros.to_table())
    assert set(zeros.index) == zeros_of(result.table.to_table())


def test_lbfgs__a_large_table_without_slabs_leaves_the_question_open_and_says_so(
    tmp_path, doubting, no_slabs, little_memory
):
    table, constraints = cube_case()
    result = pt.project(stored(table, tmp_path), constraints, **SOLVING, max_iterations=80)
    assert result.termination in (pt.results.Termination.ITERATION_LIMIT, pt.results.Termination.STALLED)
    assert result.diagnosis.verdict is Verdict.OPEN
    assert result.notes[-1].startswith("Neither a solution nor a proof that there is none was found.")
    assert "No attributes divide these constraints into slabs, 24 profiles are more than" in result.notes[-1]
    with pytest.raises(pt.NotConvergedError):
        pt.project(
            stored(table, tmp_path / "again"), constraints, solver=pt.LBFGS(), tolerance=1e-12, max_iterations=80
        )


def test_diagnose__without_slabs(tmp_path, no_slabs):
    table, constraints = cube_case()
    place = stored(table, tmp_path)
    found, expected = pt.diagnose(place, constraints), pt.diagnose(table, constraints)
    assert found.verdict is expected.verdict is Verdict.BOUNDARY
    assert found.verify()
    with pytest.raises(pt.errors.NoSlabsError, match=NO_SLABS):
        diagnose_stored(place, constraints, in_memory=0)


def test_diagnose__without_slabs_a_coarser_question_may_refute(tmp_path, no_slabs):
    """With x summed out, parity is beyond what the proxy's pairs leave room for."""
    problem = pt.problems.load("proxy")
    place = stored(problem.reference, tmp_path, 2)
    found = diagnose_stored(place, problem.constraints, in_memory=0)
    assert found.verdict is Verdict.INFEASIBLE
    assert found.verify()


@pytest.mark.parametrize("name", ["and_gate", "haberman_boundary", "staircase"])
def test_project__by_rows_leaves_no_mass_on_forced_zeros(tmp_path, name):
    """It meets the tolerance before its progress raises doubts."""
    problem = pt.problems.load(name)
    stored = pt.store_table(problem.reference, tmp_path / "f.zarr")
    result = pt.project(stored, problem.constraints, solver=pt.LBFGS())
    expected = pt.project(problem.reference, problem.constraints)
    assert result.termination is expected.termination is pt.results.Termination.CONVERGED_ON_FACE
    assert pt.total_variation(result.table.to_table(), expected.table) < 1e-8
    assert result.diagnosis.verdict == "boundary"
    found = pt.to_dense(result.table.to_table(), fill_value=0.0)
    assert ((np.asarray(found) > 0) == (np.asarray(pt.to_dense(expected.table)) > 0)).all()
