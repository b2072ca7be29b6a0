"""What several questions about one table keep in its workspace: none touches what the result of another reads."""

from __future__ import annotations

import shutil

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.errors import StoreError
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore import prepare, restrict
from purtensor.tables.store.write import write_pieces
from tests.outofcore.test_boundary import forced_case
from tests.outofcore.test_project import SETS, assert_equal, by_profile, people, targets
from tests.outofcore.test_rows_face import SOLVING, doubting, no_slabs, small_parts  # noqa: F401  # fixtures

pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def two_questions():
    """A table, and two sets of targets over the same scopes; the second empties profiles."""
    table = people(121, (2, 2, 15))
    goal = table * np.exp(np.random.default_rng(3).normal(size=table.shape))
    goal[table["x"].values % 5 == 2] = 0.0
    return table, targets(table, SETS["PUR"]), pt.marginals_of(goal, SETS["PUR"])


def by_rows(stored, constraints):
    return pt.project(stored, constraints, solver=pt.LBFGS(), tolerance=1e-11)


@pytest.mark.parametrize("on_disk", [False, True], ids=["targets in memory", "targets on disk"])
def test_lbfgs__another_question_leaves_the_first_answer_alone(tmp_path, on_disk):
    table, *questions = two_questions()
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=17)
    asked = list(questions)
    if on_disk:
        goals = [pt.project(table, question).table for question in questions]
        asked = [
            pt.marginals_of(pt.store_table(goal, tmp_path / f"{k}.zarr"), SETS["PUR"]) for k, goal in enumerate(goals)
        ]
    found = [by_rows(stored, question) for question in asked]
    for result, question in zip(found, questions, strict=True):
        assert_equal(result, pt.project(table, question, solver=pt.LBFGS(), tolerance=1e-11), 1e-9)
        pieces = np.concatenate([piece.values for piece in result.chunks()])
        assert np.array_equal(pieces, result.table.to_table().values)
        assert pt.verify(result).passed
    assert found[0].path != found[1].path


def test_lbfgs__the_same_question_again_reads_what_is_there(tmp_path, monkeypatch):
    table, constraints, _ = two_questions()
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=17)
    first = by_rows(stored, constraints)
    monkeypatch.setattr(prepare, "gather_part", lambda *_: pytest.fail("what a result reads is written anew"))
    again = by_rows(stored, constraints)
    assert first.path == again.path
    assert np.array_equal(first.table.to_table().values, again.table.to_table().values)
    for name in ("residual", "divergence", "iterations"):
        assert getattr(first, name) == getattr(again, name)


def test_lbfgs__the_same_face_again_reads_what_is_there(tmp_path, monkeypatch, doubting):  # noqa: F811
    table, constraints = forced_case(10)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=13)
    first = pt.project(stored, constraints, **SOLVING)
    assert first.evidence.store.folder.parent.parent == first.path
    monkeypatch.setattr(restrict, "restrict_part", lambda *_: pytest.fail("what a result reads is written anew"))
    again = pt.project(stored, constraints, **SOLVING)
    assert np.array_equal(first.table.to_table().values, again.table.to_table().values)
    assert first.divergence == again.divergence


def test_lbfgs__a_run_that_breaks_off_while_it_writes_leaves_nothing(tmp_path, monkeypatch):
    table, constraints, _ = two_questions()
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=17)
    make = prepare.gather_part

    def full(number, *rest):
        if number == 2:
            raise StoreError("the disk is full")
        return make(number, *rest)

    monkeypatch.setattr(prepare, "gather_part", full)
    with dask.config.set({"purtensor.part-profiles": 17}), pytest.raises(StoreError, match="the disk is full"):
        by_rows(stored, constraints)
    assert not any(stored.workspace.glob("[!.]*"))
    monkeypatch.undo()
    assert by_rows(stored, constraints).converged


def test_lbfgs__a_table_that_was_written_anew_is_another(tmp_path):
    table, constraints, _ = two_questions()
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=17)
    first = by_rows(stored, constraints)
    twice = table.copy(data=table.values * np.linspace(1.0, 2.0, table.size))
    shutil.rmtree(stored.path)
    anew = by_rows(pt.store_table(twice, stored.path, chunk=17), constraints)
    # a run has all that its answer is made of: what took the place of its reference changes nothing
    for result, given in ((first, table), (anew, twice)):
        assert_equal(result, pt.project(given, constraints, solver=pt.LBFGS(), tolerance=1e-11), 1e-9)
    assert "other profiles or masses than those of the reference" in " ".join(pt.verify(first).failures)
    assert pt.verify(anew).passed


def gate(odd):
    """All eight profiles, and the marginals of two attributes each of a gate that leaves four of them empty."""
    codes = np.stack(np.meshgrid(*[np.arange(2)] * 3, indexing="ij"), -1).reshape(-1, 3)
    table = pt.tabulate({name: codes[:, k] for k, name in enumerate("abc")})
    a, b, c = (table[name].values for name in "abc")
    out = (a & b) if odd else (a | b)
    return table, pt.marginals_of(table.copy(data=(c == out).astype(float)), [("a", "b"), ("b", "c"), ("a", "c")])


def test_diagnose__another_question_without_slabs_leaves_the_first_answer_alone(tmp_path, no_slabs):  # noqa: F811
    table, both = gate(True)
    _, either = gate(False)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=3)
    found = [pt.diagnose(stored, question) for question in (both, either)]
    for diagnosis, question in zip(found, (both, either), strict=True):
        expected = pt.diagnose(table, question)
        assert diagnosis.verdict is expected.verdict is Verdict.BOUNDARY
        wanted = by_profile(expected.implied_zeros)
        assert set(by_profile(diagnosis.implied_zeros.to_table()).index) == set(wanted.index)
        assert diagnosis.verify()
    zeros = [set(by_profile(one.implied_zeros.to_table()).index) for one in found]
    assert zeros[0] != zeros[1]


def test_diagnose__the_same_question_without_slabs_again(tmp_path, no_slabs):  # noqa: F811
    table, both = gate(True)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=3)
    first, again = pt.diagnose(stored, both), pt.diagnose(stored, both)
    assert first.implied_zeros.path == again.implied_zeros.path
    assert first.implied_zeros.to_table().equals(again.implied_zeros.to_table())
    assert len(list(stored.workspace.glob("[!.]*"))) == 1


def test_write_pieces__what_is_there_is_read_until_all_is_written(tmp_path):
    table = people(122, (2, 2, 5))
    first = pt.store_table(table, tmp_path / "t.zarr")

    def pieces():
        assert first.to_table().equals(table)
        yield [np.zeros(1, dtype=np.int64)] * 3, np.ones(1)

    assert write_pieces(first.path, first.domain, pieces()).profiles == 1
