"""Proofs of several steps on disk, what rounding may hide of them, and what is left behind in a workspace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import purtensor as pt
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore import diagnose
from purtensor.outofcore import proof_steps as combining
from purtensor.outofcore.diagnose import diagnose_stored
from purtensor.outofcore.diagnosis import problem_codes
from purtensor.solving.solvers import newton
from tests.outofcore.test_boundary import TWO_PROOFS, forced_case, forced_goal, small_parts, stored  # noqa: F401
from tests.outofcore.test_diagnose import drawn_case, profiles_of, refuted
from tests.outofcore.test_project import SETS, people, targets

pytest.importorskip("zarr")


@pytest.fixture
def slabs_alone(monkeypatch):
    monkeypatch.setattr(diagnose, "coarse_contradiction", lambda *_: None)


def emptied_then_refuted():
    """A boundary of two steps, of which a profile that should have mass was taken away."""
    table, goal = forced_goal(11)
    rng = np.random.default_rng(11)
    dropped = rng.choice(np.flatnonzero(goal.values > 0), size=int(rng.integers(1, 3)), replace=False)
    kept = ~np.isin(np.arange(table.size), dropped)
    return table[kept], pt.marginals_of(goal, SETS["PUR"])


def steps_of(monkeypatch):
    """The list to which every search adds how many steps it took."""
    found, real = [], diagnose._search

    def told(*arguments):
        search = real(*arguments)
        found.append((len(search.steps), type(search.end).__name__))
        return search

    monkeypatch.setattr(diagnose, "_search", told)
    return found


def test_diagnose__steps_are_summed_to_one_proof_on_all_profiles(tmp_path, monkeypatch, slabs_alone):
    seen = steps_of(monkeypatch)
    table, constraints = emptied_then_refuted()
    found = diagnose_stored(stored(table, tmp_path), constraints, in_memory=0)
    assert seen == [(2, "Proven")]
    assert found.verdict is pt.diagnose(table, constraints).verdict is Verdict.INFEASIBLE
    (step,) = found.evidence.steps
    assert sum(len(codes[0]) for codes in problem_codes(step.store)) == table.size
    assert found.verify()
    assert refuted(found, table, constraints)


def test_diagnose__a_sum_that_is_too_large_leaves_the_question_open(tmp_path, monkeypatch, slabs_alone):
    table, constraints = emptied_then_bare(1e-13)
    monkeypatch.setattr(combining, "LARGEST", 1.5)
    assert diagnose_stored(stored(table, tmp_path), constraints, in_memory=0).verdict is Verdict.OPEN


def emptied_then_bare(target):
    """In three slabs (y=1, s=0) is forced to zero; one of these profiles is all that z=1 has, with a small target."""
    records = {name: [] for name in "yszx"}
    for x in range(6):
        for y, s in ((0, 0), (1, 1), (1, 0)) if x < 3 else ((0, 0), (1, 1), (1, 0), (0, 1)):
            for name, code in zip("yszx", (y, s, int((y, s, x) == (1, 0, 0)), x), strict=True):
                records[name].append(code)
    table = pt.tabulate(records)
    forced = (table["y"].values == 1) & (table["s"].values == 0) & (table["x"].values < 3)
    goal = table.copy(data=np.where(forced, 0.0, 1.0))
    few = pt.tabulate({"z": [0, 1]}, weights=[float(goal.sum()) - target, target])
    return table, [pt.Marginal(few), *pt.marginals_of(goal, [("y", "x"), ("s", "x")])]


def test_diagnose__a_row_that_steps_leave_without_profiles(tmp_path, monkeypatch, slabs_alone):
    seen = steps_of(monkeypatch)
    table, constraints = emptied_then_bare(1e-13)
    found = diagnose_stored(stored(table, tmp_path), constraints, in_memory=0)
    assert seen == [(1, "BareRowError")]
    assert found.verdict is Verdict.INFEASIBLE
    assert found.verify()
    assert "z=1 has a positive target" in str(found)
    weights = {row: value for (row,), value in found.certificate[0].to_series().items() if value}
    assert weights == {1: -1}


def test_diagnose__what_rounding_may_have_emptied_is_no_contradiction(tmp_path, monkeypatch, slabs_alone):
    seen = steps_of(monkeypatch)
    table, constraints = emptied_then_bare(1e-14)
    found = diagnose_stored(stored(table, tmp_path), constraints)
    assert seen == [(1, "BareRowError")]
    assert found.verdict is Verdict.OPEN


def test_diagnose__a_row_whose_profiles_other_targets_empty_is_verified(tmp_path):
    table = people(12, (2, 2, 9))
    y, s, x = (table[name].values for name in "ysx")
    goal = table.copy(data=np.where((s == 0) & (x == 3), 0.0, table.values))
    place = stored(table[~((y == 1) & (s == 1) & (x == 3))], tmp_path)
    (tmp_path / "goal").mkdir()
    on_disk = stored(goal, tmp_path / "goal")
    for source in (goal, on_disk):
        found = pt.diagnose(place, pt.marginals_of(source, [("y", "x"), ("s", "x")]))
        assert found.verdict is Verdict.INFEASIBLE
        assert "y=1, x=3 has a positive target" in str(found)
        assert found.verify()
        whole = pt.store_table(table, tmp_path / f"{found.certificate[0].size}_{source is goal}.zarr")
        assert not replace(found, reference=whole).verify()


def test_diagnose__two_of_one_table_keep_their_own_zeros(tmp_path, monkeypatch, slabs_alone):
    monkeypatch.setattr(diagnose, "search_parts", lambda *_: None)  # all is settled in memory
    table, goal = forced_goal(10)
    place = stored(table, tmp_path)
    first = pt.diagnose(place, pt.marginals_of(goal, SETS["PUR"]))
    zeros, solution = profiles_of(first.implied_zeros.to_table()), profiles_of(first.solution.to_table())
    second = pt.diagnose(place, pt.marginals_of(goal, SETS["PU"]))
    assert second.verdict is not first.verdict
    assert second.solution.profiles == table.size
    assert profiles_of(first.implied_zeros.to_table()) == zeros
    assert profiles_of(pt.results.open_table(first.solution.path).to_table()) == solution
    assert first.verify()


def with_steps(diagnosis, steps):
    return replace(diagnosis, evidence=replace(diagnosis.evidence, steps=steps))


def test_verify__steps_that_do_not_follow_each_other_are_no_proof(tmp_path):
    table, constraints = forced_case(TWO_PROOFS)
    found = pt.diagnose(stored(table, tmp_path), constraints)
    assert len(found.evidence.steps) == 2
    assert found.verify()
    assert not with_steps(found, found.evidence.steps[:1]).verify()
    assert not with_steps(found, found.evidence.steps[::-1]).verify()


def test_verify__other_zeros_than_those_proved(tmp_path):
    table, constraints = forced_case(10)
    found = pt.diagnose(stored(table, tmp_path), constraints)
    zeros = found.implied_zeros.to_table()
    others = table[~table.indexes["profile"].isin(zeros.indexes["profile"])][: zeros.size]
    assert found.verify()
    worse = replace(found, implied_zeros=pt.store_table(others, tmp_path / "others.zarr"))
    assert not worse.verify()


def test_diagnose__leaves_no_states_but_those_of_the_solution(tmp_path):
    table, constraints = forced_case(10)
    place = stored(table, tmp_path)
    found = pt.diagnose(place, constraints)
    (whole,) = place.workspace.glob("[!.]*")
    assert [one.name for one in (whole / "verdict").iterdir()] == ["proof"]
    (face,) = (whole / "faces").iterdir()
    kept = found.evidence.found
    assert {one.name for one in (face / "verdict").iterdir()} == {kept.stand.token, kept.change.token}
    assert not any(face.glob("states/*"))


def test_diagnose__a_problem_that_cannot_be_cut_leaves_nothing(tmp_path):
    table = people(12, (2, 2, 9))
    constraints = pt.marginals_of(table, [("y", "x"), ("s", "x")])
    place = stored(table[table["x"].values != 3], tmp_path)
    assert pt.diagnose(place, constraints).verdict is Verdict.INFEASIBLE
    assert not any(place.workspace.glob("[!.]*"))


def test_project__a_start_that_is_refused_leaves_nothing(tmp_path):
    table = people(13, (2, 2, 9))
    constraints = targets(table, SETS["PUR"])
    place = stored(table, tmp_path)
    endless = [pt.marginal(table, scope) for scope in SETS["PUR"]]
    with pytest.raises(pt.InvalidOptionError, match="total mass"):
        pt.project(place, constraints, start=[one.copy(data=np.full(one.shape, 1e4)) for one in endless])
    (run,) = place.workspace.glob("[!.]*")
    assert not any((run / "states").iterdir())
    assert not (run / "start").exists()


def test_project__open_questions_do_not_end_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(newton, "SLOW_STEPS", 1)
    monkeypatch.setattr(diagnose, "search_parts", lambda *_: None)
    monkeypatch.setattr(diagnose, "coarse_contradiction", lambda *_: None)
    monkeypatch.setattr(diagnose, "IN_MEMORY", 0)
    monkeypatch.setattr(diagnose.diagnose_slabs, "__kwdefaults__", {"in_memory": 0})
    table, constraints = drawn_case(0)
    result = pt.project(stored(table, tmp_path), constraints)
    assert result.termination is pt.results.Termination.CONVERGED
    assert result.diagnosis.verdict is Verdict.OPEN
