"""Projections on disk on a face: what they give, kept, resumed wherever they broke off, and verified."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import purtensor as pt
from purtensor.outofcore import diagnose
from purtensor.outofcore import face as on_face
from purtensor.outofcore import project as running
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.part import read_part
from purtensor.solving.solvers import newton
from tests.outofcore.test_boundary import (
    ON_FACE,
    TWO_PROOFS,
    assert_as_in_memory,
    forced_case,
    forced_goal,
    small_parts,  # noqa: F401
    stored,
)
from tests.outofcore.test_diagnose import drawn_case
from tests.outofcore.test_kills import assert_same_bits
from tests.outofcore.test_project import SETS, by_profile

pytestmark = pytest.mark.slow

pytest.importorskip("zarr")


def rows_of(result):
    """The potentials of every row by label, of all pieces."""
    found = [{} for _ in result.evidence.store.scopes]
    for tables in result.potential_chunks():
        for own, table in zip(found, tables, strict=True):
            own.update(table.to_series().to_dict())
    return found


def test_result__potentials_say_the_table_where_it_has_mass(tmp_path):
    table, constraints = forced_case(10)
    result = pt.project(stored(table, tmp_path), constraints)
    parity, utility, realism = rows_of(result)
    found, before = by_profile(result.table.to_table()), by_profile(table)
    assert (found == 0).any()
    for (y, s, x), mass in found.items():
        if mass:
            exponent = parity[y, s] + utility[y, x] + realism[s, x]
            assert np.log(mass / before[y, s, x]) == pytest.approx(exponent, abs=1e-9)


def test_result__saved_loaded_resumed_and_started_from(tmp_path):
    table, constraints = forced_case(TWO_PROOFS)
    place = stored(table, tmp_path)
    result = pt.project(place, constraints)
    bits = by_profile(result.table.to_table()).values
    loaded = pt.load(result.path)
    assert loaded.termination is ON_FACE
    assert loaded.notes == result.notes
    assert pt.verify(loaded).passed
    pt.save(result, tmp_path / "kept")
    pt.project(place, constraints, solver=pt.IPF(), max_iterations=3, on_failure="return")
    kept = pt.load(tmp_path / "kept")
    assert np.array_equal(by_profile(kept.table.to_table()).values, bits)
    assert pt.verify(kept).passed
    assert_same_bits(pt.resume(tmp_path / "kept"), kept)
    again = pt.project(place, constraints, start=kept)
    assert again.termination is ON_FACE
    assert np.abs(by_profile(again.table.to_table()).values - bits).max() <= 1e-12 * table.sum()


def test_result__predicts_as_in_memory(tmp_path):
    table, constraints = forced_case(10)
    result = pt.project(stored(table, tmp_path), constraints)
    expected = pt.project(table, constraints, solver=pt.Newton())
    wanted = by_profile(pt.predict(expected.table, table, response="y"))
    found = by_profile(pt.predict(result.table, table, response="y"))
    assert len(found) < table.size  # what is forced to zero is not predicted
    assert found.index.equals(wanted.index)
    assert np.abs(found - wanted).max() <= 1e-12 * wanted.sum()


def test_save__of_a_result_whose_folder_has_gone_on_says_so(tmp_path):
    table, constraints = forced_case(10)
    place = stored(table, tmp_path)
    result = pt.project(place, constraints)
    pt.project(place, constraints, start=[constraint.target * 0.0 for constraint in constraints])
    with pytest.raises(pt.errors.StoreError, match="now has another run"):
        pt.save(result, tmp_path / "late")


class StopError(Exception):
    """What ends a run as abruptly as a kill: nothing is written after it."""


def stop(*_):
    raise StopError


def stopping_at(number):
    """A callback that stops the run at its call of this number."""
    calls = []

    def told(_):
        calls.append(0)
        if len(calls) == number:
            raise StopError

    return told


@pytest.mark.parametrize("calls", [(2,), (5,), (9,), (6, 2, 1)], ids=str)
def test_resume__has_the_same_bits_wherever_the_run_broke_off(tmp_path, calls):
    table, constraints = forced_case(TWO_PROOFS)
    (tmp_path / "whole").mkdir()
    unbroken = pt.project(stored(table, tmp_path / "whole"), constraints)
    assert unbroken.termination is ON_FACE
    place = stored(table, tmp_path)
    with pytest.raises(StopError):
        pt.project(place, constraints, callback=stopping_at(calls[0]))
    for number in calls[1:]:
        with pytest.raises(StopError):
            pt.resume(place.workspace, callback=stopping_at(number))
    result = pt.resume(place.workspace)
    assert result.termination is ON_FACE
    assert_same_bits(result, unbroken)
    assert result.notes == unbroken.notes
    assert pt.verify(result).passed


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (running, "diagnose_slabs"),
        (diagnose, "restrict_to_face"),
        (on_face, "begin_at_reference"),
        (on_face, "keep"),
    ],
)
def test_resume__on_the_way_to_the_face(tmp_path, monkeypatch, where, name):
    table, constraints = forced_case(TWO_PROOFS)
    (tmp_path / "whole").mkdir()
    unbroken = pt.project(stored(table, tmp_path / "whole"), constraints)
    place = stored(table, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(where, name, stop)
        with pytest.raises(StopError):
            pt.project(place, constraints)
    assert_same_bits(pt.resume(place.workspace), unbroken)


DRIVER = textwrap.dedent(
    """
    import dask, sys, time
    import purtensor as pt

    calls = []

    def told(stage):
        calls.append(0)
        print(len(calls), flush=True)
        if len(calls) == int(sys.argv[2]):
            time.sleep(60)

    with dask.config.set({"scheduler": "synchronous", "purtensor.part-profiles": 30}):
        stored = pt.results.open_table(sys.argv[1])
        data = pt.results.open_table(sys.argv[1].replace("t.zarr", "data.zarr"))
        pt.project(stored, pt.marginals_of(data, [("y", "s"), ("y", "x"), ("s", "x")]), callback=told)
    """
)


def test_resume__after_the_driver_was_killed_on_the_face(tmp_path):
    table, goal = forced_goal(TWO_PROOFS)
    expected = []
    for folder in (tmp_path / "whole", tmp_path):
        folder.mkdir(exist_ok=True)
        data = pt.store_table(goal, folder / "data.zarr", chunk=20)
        place = stored(table, folder)
        if not expected:
            expected.append(pt.project(place, pt.marginals_of(data, SETS["PUR"])))
    assert expected[0].termination is ON_FACE
    command = [sys.executable, "-c", DRIVER, str(place.path), "10"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        for line in driver.stdout:
            if int(line) == 10:
                time.sleep(0.1)
                os.kill(driver.pid, signal.SIGKILL)
                break
        driver.stdout.read()
        assert driver.wait() == -signal.SIGKILL
    assert list(place.workspace.glob("*/faces/*/checkpoint"))
    assert_same_bits(pt.resume(place.workspace), expected[0])


def proofs_of(result):
    return sorted((result.evidence.store.folder / "proof").iterdir())


def test_verify__zeros_without_their_proof_are_not_confirmed(tmp_path):
    table, constraints = forced_case(TWO_PROOFS)
    result = pt.project(stored(table, tmp_path), constraints)
    assert len(read_packed(proofs_of(result)[0]).arrays["weights"]) == 2
    assert pt.verify(result).passed
    kept = {path: read_packed(path).arrays["weights"] for path in proofs_of(result)}
    for path, weights in kept.items():
        write_packed(path, {"weights": weights[:1]}, {})
    found = pt.verify(result)
    assert not found.support
    assert any("not proved to be implied zeros" in failure for failure in found.failures)
    for path, weights in kept.items():
        write_packed(path, {"weights": weights + (weights.cumsum(axis=1) > 0)}, {})
    assert not pt.verify(result).support


def test_verify__a_profile_that_was_emptied_without_reason(tmp_path):
    """Weights of 1 on one row would empty its profiles, but for b.t, which is that row's target."""
    table, constraints = forced_case(10)
    result = pt.project(stored(table, tmp_path), constraints)
    path = next(one for one in proofs_of(result) if (read_packed(one).arrays["weights"] != 0).any())
    weights = read_packed(path).arrays["weights"]
    weights[0, -1] += 1
    write_packed(path, {"weights": weights}, {})
    assert not pt.verify(result).passed


def test_verify__parts_that_weigh_a_row_that_couples_them_differently(tmp_path):
    """The row has no profile in the part where its weight is changed: it empties none, but the proofs are two."""
    table, constraints = forced_case(10)
    result = pt.project(stored(table, tmp_path), constraints)
    number = result.evidence.store.parts[-1]
    part = read_part(result.evidence.store, number)
    unused = set(part.outer_rows()) - {row for k in part.outside for row in part.index[k]}
    path = result.evidence.store.folder / "proof" / f"{number:06d}"
    weights = read_packed(path).arrays["weights"]
    weights[0, min(unused)] += 1
    write_packed(path, {"weights": weights}, {})
    assert not pt.verify(result).support


def test_resume__a_face_that_is_gone_or_named_wrongly(tmp_path):
    table, constraints = forced_case(10)
    result = pt.project(stored(table, tmp_path), constraints)
    place = result.path / "checkpoint"
    packed = read_packed(place)
    for name in ("../" + result.evidence.store.folder.name, ".", 3, "0" * 16):
        options = {**packed.facts["options"], "face": {"folder": name, "iterations": 1, "seconds": 0.0}}
        write_packed(place, packed.arrays, {**packed.facts, "options": options})
        with pytest.raises(pt.errors.StoreError):
            pt.resume(result.path)


def test_save__where_another_run_has_begun_there_is_nothing_to_resume(tmp_path):
    table, constraints = forced_case(10)
    place = stored(table, tmp_path)
    result = pt.project(place, constraints)
    bits = by_profile(result.table.to_table()).values
    pt.project(place, constraints, max_iterations=2, on_failure="return")  # it does not come to the face
    (tmp_path / "faces").mkdir()
    pt.save(result, tmp_path / "faces" / "kept")  # a name that folders of faces have
    kept = pt.load(tmp_path / "faces" / "kept")
    assert np.array_equal(by_profile(kept.table.to_table()).values, bits)
    assert pt.verify(kept).passed
    with pytest.raises(pt.errors.StoreError, match="has no checkpoint"):
        pt.resume(kept.path)


def test_save__in_a_folder_of_the_name_that_those_of_faces_have(tmp_path):
    problem = pt.problems.load("a")
    result = pt.project(stored(pt.to_sparse(problem.reference), tmp_path), problem.constraints)
    (tmp_path / "faces").mkdir()
    pt.save(result, tmp_path / "faces" / "kept")
    assert pt.verify(pt.load(tmp_path / "faces" / "kept")).passed
    assert pt.resume(tmp_path / "faces" / "kept").converged


def test_project__zeros_of_targets_alone_leave_the_problem_as_it_is(tmp_path, monkeypatch):
    for module in (newton,):
        monkeypatch.setattr(module, "SLOW", 0.0)  # every step is slow
    for module in (newton,):
        monkeypatch.setattr(module, "SLOW_STEPS", 2)
    table, constraints = drawn_case(7)
    expected = pt.project(table, constraints, solver=pt.Newton(warm_up=0), tolerance=1e-13)
    place = stored(table, tmp_path)
    with pytest.raises(StopError):
        pt.project(place, constraints, solver=pt.Newton(warm_up=0), tolerance=1e-13, callback=stopping_at(1))
    result = pt.resume(place.workspace)
    assert result.evidence.store.folder == result.path
    assert_as_in_memory(result, expected)
    assert result.termination is ON_FACE
    assert "after 2 iterations" in result.notes[1]
    loaded = pt.load(result.path)
    assert loaded.termination is ON_FACE
    assert pt.verify(loaded).passed
