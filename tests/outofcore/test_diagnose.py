from __future__ import annotations

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.feasibility import check_witness as checking
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore import diagnose as diagnosing
from purtensor.outofcore.diagnose import diagnose_stored
from purtensor.outofcore.project import project_stored
from tests.outofcore.test_project import SETS, people, targets

pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def small_parts():
    with dask.config.set({"scheduler": "synchronous", "purtensor.part-profiles": 15}):
        yield


@pytest.fixture
def slabs_alone(monkeypatch):
    """No coarser question is asked, and none in memory: the slabs decide."""
    monkeypatch.setattr(diagnosing, "coarse_contradiction", lambda *_: None)


def drawn_case(seed):
    """Counts on a random support with PUR of themselves, with targets of a part of it, or regularised."""
    rng = np.random.default_rng(seed)
    sizes = (int(rng.integers(2, 4)), int(rng.integers(2, 4)), int(rng.integers(3, 12)))
    profiles = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, 3)
    profiles = profiles[rng.random(len(profiles)) < rng.choice([0.4, 0.6, 0.8, 1.0])]
    counts = rng.integers(1, 30, len(profiles)).astype(float)
    table = pt.tabulate({name: profiles[:, k] for k, name in enumerate("ysx")}, weights=counts)
    kind = rng.integers(3)
    if kind == 1:
        kept = rng.random(table.size) < 0.5
        kept[0] = True
        goal = table.copy(data=np.where(kept, table.values, 0.0))
        return table, pt.marginals_of(goal, SETS["PUR"])
    if kind == 2:
        table = pt.regularize(table, response="y", strength=float(rng.choice([1e-4, 1.0])))
    return table, pt.pur(table, response="y", protected="s")


def profiles_of(table):
    return set() if table is None else {profile for profile, _ in checking.entries(table)}


def stored(table, tmp_path):
    return pt.store_table(table, tmp_path / "t.zarr", chunk=13)


SEEDS = (0, 1, 2, 3, 5, 17, 24, 35)


@pytest.mark.parametrize("seed", SEEDS)
def test_diagnose__verdict_and_zeros_are_those_in_memory(tmp_path, seed):
    table, constraints = drawn_case(seed)
    expected = pt.diagnose(table, constraints)
    found = diagnose_stored(stored(table, tmp_path), constraints, in_memory=0)
    assert found.verdict is expected.verdict
    zeros = found.implied_zeros.to_table() if found.implied_zeros.profiles else None
    assert profiles_of(zeros) == profiles_of(expected.implied_zeros)
    assert found.verify()
    if zeros is not None:
        values = dict(checking.entries(table))
        assert all(values[profile] == value for profile, value in checking.entries(zeros))


def test_diagnose__seeds_show_every_verdict():
    verdicts = {pt.diagnose(*drawn_case(seed)).verdict for seed in SEEDS}
    assert verdicts == {Verdict.INTERIOR, Verdict.BOUNDARY, Verdict.INFEASIBLE}


def test_diagnose__an_interior_has_a_solution(tmp_path):
    table = people(71, (3, 3, 12))
    constraints = targets(table, SETS["PUR"])
    found = pt.diagnose(stored(table, tmp_path), constraints)
    assert found.verdict is Verdict.INTERIOR
    assert found.certificate == ()
    assert found.implied_zeros.profiles == 0
    solution = found.solution.to_table()
    assert profiles_of(solution) == profiles_of(table)
    for constraint in constraints:
        reached = pt.marginal(solution, constraint.scope).to_series()
        wanted = constraint.target.to_series()
        assert (reached - wanted).abs().max() <= 1e-13 * wanted.sum()


def refuted(found, table, constraints):
    """Check the weights label by label: C^T t >= 0 on the support, b.t < 0."""
    support = checking.support_of(table)
    weights = [{} for _ in constraints]
    for tables in found.certificate_chunks():
        for own, part in zip(weights, tables, strict=True):
            for row, value in checking.entries(part):
                assert own.setdefault(row, int(value)) == int(value)
    attributes = checking.attributes_of(table)
    costs = dict.fromkeys(support, 0)
    value = 0.0
    for own, constraint, part in zip(weights, constraints, tables, strict=True):
        row = checking.onto(attributes, checking.attributes_of(part))
        for profile in support:
            costs[profile] += own[row(profile)]
        coarse = pt.marginal(constraint.target, checking.attributes_of(part))
        value += sum(own[label] * mass for label, mass in checking.entries(coarse) if mass)
    return min(costs.values()) >= 0 and value < -1e-9


@pytest.mark.parametrize("name", ["proxy", "cut_3x3"])
def test_diagnose__slabs_alone_refute(tmp_path, name, slabs_alone):
    problem = pt.problems.load(name)
    found = diagnose_stored(stored(problem.reference, tmp_path), problem.constraints, in_memory=0)
    assert found.verdict is Verdict.INFEASIBLE
    assert found.verify()
    assert found.solution is None
    if found.evidence.steps:
        assert len(found.evidence.steps) == 1
        assert refuted(found, problem.reference, problem.constraints)


def far_from_parity(slabs, seed=0):
    """Who is hired follows the group in all slabs but one: parity is out of reach, by all slabs together."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([[0], np.repeat(np.arange(slabs), 3)])
    y, s = (np.concatenate([first, np.tile(rest, slabs)]) for first, rest in (([0], [0, 1, 1]), ([1], [0, 0, 1])))
    return pt.tabulate({"y": y, "s": s, "x": x}, weights=rng.integers(1, 30, len(x)).astype(float))


def test_diagnose__weights_on_disk_refute_by_label(tmp_path, slabs_alone):
    table = far_from_parity(30)
    constraints = pt.pur(table, response="y", protected="s")
    assert pt.diagnose(table, constraints).verdict is Verdict.INFEASIBLE
    found = diagnose_stored(stored(table, tmp_path), constraints, in_memory=0)
    assert found.verdict is Verdict.INFEASIBLE
    assert len(found.evidence.steps[0].store.parts) > 3
    assert refuted(found, table, constraints)
    assert found.verify()
    assert found.certificate[0].sizes["profile"] == 4
    assert "has no place" in str(found)


def test_diagnose__a_coarser_question_tells_why(tmp_path):
    table = far_from_parity(30).to_series().reset_index(name="count")
    table["z"] = table["x"] % 3
    counts = pt.tabulate(table[["y", "s", "x", "z"]].to_dict("list"), weights=table["count"].to_numpy())
    constraints = pt.pur(counts, response="y", protected="s")
    found = diagnose_stored(stored(counts, tmp_path), constraints)
    assert found.verdict is Verdict.INFEASIBLE
    assert found.evidence.settled is not None
    assert "x" not in found.evidence.settled.reference.indexes["profile"].names or counts.sizes["profile"] < 100
    assert refuted(found, counts, constraints)
    assert found.verify()
    assert "It can only lie in" in str(found)


@pytest.mark.parametrize("scopes", [[("y", "x"), ("s", "x")], [("y", "s"), ("s", "x"), ("y", "x")]])
def test_diagnose__a_row_without_profiles(tmp_path, scopes):
    table = people(12, (2, 2, 9))
    short = table[~((table["y"] == 1) & ((table["x"] == 3) if "x" in scopes[0] else (table["s"] == 1))).values]
    constraints = pt.marginals_of(table, scopes)
    found = pt.diagnose(stored(short, tmp_path), constraints)
    assert found.verdict is Verdict.INFEASIBLE
    assert found.verify()
    assert sum(int((part != 0).sum()) for part in found.certificate) == 1
    assert "the support has no profile there" in str(found)
    with pytest.raises(pt.InfeasibleError) as raised:
        pt.project(found.reference, constraints)
    assert raised.value.diagnosis.verdict is Verdict.INFEASIBLE


def test_diagnose__a_relation_of_rows_that_targets_break(tmp_path, slabs_alone):
    # y is s on this support, so the rows over (s, x) imply those over y
    rng = np.random.default_rng(4)
    x = np.repeat(np.arange(20), 2)
    y = np.tile([0, 1], 20)
    table = pt.tabulate({"y": y, "s": y, "x": x}, weights=rng.integers(1, 9, 40).astype(float))
    other = pt.tabulate({"y": [0, 1], "s": [0, 1]}, weights=[1.0, 2.0])
    other = other * float(table.sum()) / float(other.sum())
    constraints = [pt.Marginal(other), *pt.marginals_of(table, [("s", "x")])]
    with pytest.raises(pt.InconsistentTargetsError):
        pt.diagnose(stored(table, tmp_path), constraints)
    loose = [pt.Marginal(pt.marginal(other, "y")), *pt.marginals_of(table, [("s", "x")])]
    assert pt.diagnose(table, loose).verdict is Verdict.INFEASIBLE
    found = diagnose_stored(pt.results.open_table(tmp_path / "t.zarr"), loose, in_memory=0)
    assert found.verdict is Verdict.INFEASIBLE
    assert found.evidence.steps[0].proven.store.kept.all()  # all rows are weighed, also those that others imply
    assert found.verify()
    assert refuted(found, table, loose)


def test_diagnose__what_the_slabs_leave_open(tmp_path, monkeypatch, slabs_alone):
    table, constraints = drawn_case(0)
    monkeypatch.setattr(diagnosing, "search_parts", lambda *_: None)
    place = stored(table, tmp_path)
    found = diagnose_stored(place, constraints, in_memory=0)
    assert found.verdict is Verdict.OPEN
    assert found.exact == "nothing"
    assert not found.verify()
    assert found.solution is None
    expected = pt.diagnose(table, constraints)
    whole = diagnose_stored(place, constraints)
    assert whole.verdict is expected.verdict
    assert whole.verify()
    solution = None if whole.solution is None else whole.solution.to_table()
    assert profiles_of(solution) == profiles_of(expected.solution)


def test_diagnose__leaves_a_run_its_states(tmp_path):
    table = people(73, (3, 3, 12))
    constraints = targets(table, SETS["PUR"])
    place = stored(table, tmp_path)
    unbroken = project_stored(place, constraints)
    stopped = project_stored(place, constraints, max_iterations=2, on_failure="return")
    assert pt.diagnose(place, constraints).verdict is Verdict.INTERIOR
    resumed = pt.resume(stopped.path, max_iterations=100)
    assert np.array_equal(resumed.table.to_table().values, unbroken.table.to_table().values)


def test_diagnose__damage_is_no_proof(tmp_path, slabs_alone):
    table = far_from_parity(30)
    found = diagnose_stored(stored(table, tmp_path), pt.pur(table, response="y", protected="s"), in_memory=0)
    (step,) = found.evidence.steps
    worse = type(step)(
        step.domain,
        step.folder,
        type(step.proven)(
            step.proven.store,
            step.proven.guess,
            -step.proven.outer,
            step.proven.value,
            step.proven.absolute,
            step.proven.largest,
            step.proven.positive,
        ),
    )
    assert step.holds()
    assert not worse.holds()


def test_diagnose__targets_that_disagree_on_more_than_is_compared_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("purtensor.outofcore.targets._MOST_SHARED", 3)
    table = people(74, (2, 3, 12))
    tilted = table * np.where(table["x"].values == 5, 1.25, 1.0)
    moved = tilted * float(table.sum()) / float(tilted.sum())
    one = pt.store_table(table, tmp_path / "one.zarr", chunk=10)
    other = pt.store_table(moved, tmp_path / "other.zarr", chunk=10)
    constraints = [*pt.marginals_of(one, [("y", "x")]), *pt.marginals_of(other, [("s", "x")])]
    with pytest.raises(pt.InconsistentTargetsError, match=r"'x=5' is .* in \(y, x\) but .* in \(s, x\)"):
        pt.diagnose(one, constraints)
    again = [*pt.marginals_of(one, [("y", "x")]), *pt.marginals_of(one, [("s", "x")])]
    assert pt.diagnose(one, again).verdict is Verdict.INTERIOR


def test_project__of_what_cannot_be_met_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("purtensor.solving.run_state.PATIENCE", 20)
    table = far_from_parity(30)
    place = stored(table, tmp_path)
    constraints = pt.pur(table, response="y", protected="s")
    with pytest.raises(pt.InfeasibleError, match="has no place") as raised:
        pt.project(place, constraints)
    assert raised.value.diagnosis.verdict is Verdict.INFEASIBLE
    result = pt.project(place, constraints, solver=pt.IPF(), on_failure="return")
    assert result.termination is pt.results.Termination.INFEASIBLE
    assert result.iterations == 20
    assert result.diagnosis.verify()
