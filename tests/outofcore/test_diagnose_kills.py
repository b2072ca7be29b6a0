"""Diagnoses on disk whose process is killed: they go on from the last step of the search, to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.feasibility import search as searching
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore.array_file import read_packed
from purtensor.outofcore.parts_space import PartsSpace
from purtensor.solving.solvers import newton
from tests.outofcore.test_boundary import TWO_PROOFS, forced_case, forced_goal, stored
from tests.outofcore.test_kills import assert_same_bits
from tests.outofcore.test_project import SETS, by_profile

pytestmark = pytest.mark.slow

pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def small_parts():
    with dask.config.set({"scheduler": "synchronous", "purtensor.part-profiles": 30}):
        yield


DRIVER = textwrap.dedent(
    """
    import dask, sys, time
    import purtensor as pt
    from purtensor.outofcore.parts_space import PartsSpace

    path, rest_at = sys.argv[1:]
    keep = PartsSpace.keep

    def told(space, state):
        keep(space, state)
        step = f"{space.store.proofs}.{state.iterations}"
        print(step, flush=True)
        if step == rest_at:
            time.sleep(60)

    PartsSpace.keep = told
    with dask.config.set({"scheduler": "synchronous", "purtensor.part-profiles": 30}):
        stored = pt.results.open_table(path)
        goal = pt.results.open_table(path.replace("t.zarr", "goal.zarr"))
        pt.diagnose(stored, pt.marginals_of(goal, [("y", "s"), ("y", "x"), ("s", "x")]))
    """
)


def killed_at(stored, step):
    """Run a diagnosis in a process of its own and kill it at rest after a step; return the steps that it made."""
    command = [sys.executable, "-c", DRIVER, str(stored.path), step]
    made = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        for line in driver.stdout:
            made.append(line.strip())
            if made[-1] == step:
                os.kill(driver.pid, signal.SIGKILL)
                break
        driver.stdout.read()
        assert driver.wait() == -signal.SIGKILL
    return made


def case(folder):
    folder.mkdir()
    table, goal = forced_goal(TWO_PROOFS)
    place = stored(table, folder)
    pt.store_table(goal, folder / "goal.zarr", chunk=13)
    return place, pt.marginals_of(pt.results.open_table(folder / "goal.zarr"), SETS["PUR"])


@pytest.fixture
def steps_made(monkeypatch):
    """The steps of searches in this process, by how many proofs came before."""
    made = []
    keep = PartsSpace.keep

    def told(space, state):
        keep(space, state)
        if space.store.states.name == "verdict":  # of a search, not of the run that asked for it
            made.append(f"{space.store.proofs}.{state.iterations}")

    monkeypatch.setattr(PartsSpace, "keep", told)
    return made


def weights_of(found):
    return [[part[2] for part in step.parts()] for step in found.evidence.steps]


def assert_same(found, expected):
    assert found.verdict is expected.verdict is Verdict.BOUNDARY
    assert str(found) == str(expected)
    assert len(found.evidence.steps) == len(expected.evidence.steps)
    for mine, its in zip(weights_of(found), weights_of(expected), strict=True):
        assert all(np.array_equal(one, other) for one, other in zip(mine, its, strict=True))
    for name in ("implied_zeros", "solution"):
        mine, its = (by_profile(getattr(one, name).to_table()) for one in (found, expected))
        assert mine.equals(its)
    assert found.verify()


def test_diagnose__after_its_process_was_killed_has_the_same_bits(tmp_path, steps_made):
    expected = pt.diagnose(*case(tmp_path / "whole"))
    whole = list(steps_made)
    steps_made.clear()
    place, constraints = case(tmp_path / "killed")
    stops = (whole[1], whole[-1])
    assert stops[0].startswith("0.")
    assert not stops[1].startswith("0.")  # on a face
    first = killed_at(place, stops[0])
    second = killed_at(place, stops[1])
    found = pt.diagnose(place, constraints)
    assert first + second + steps_made == whole  # none is made twice
    assert_same(found, expected)
    assert not list(place.workspace.glob("**/checkpoint"))


def interrupting(after):
    """The step of a search, which Ctrl-C ends after so many."""
    step, calls = searching.search, iter(range(after))

    def interrupted(*arguments):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return step(*arguments)

    return interrupted


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_diagnose__what_is_not_whole_is_begun_anew(tmp_path, steps_made, monkeypatch):
    expected = pt.diagnose(*case(tmp_path / "whole"))
    whole = list(steps_made)

    def broken_off(folder):
        steps_made.clear()
        place, constraints = case(tmp_path / folder)
        with monkeypatch.context() as patched:
            patched.setattr(searching, "search", interrupting(2))
            with pytest.raises(KeyboardInterrupt):
                pt.diagnose(place, constraints)
        assert steps_made == whole[:2]
        steps_made.clear()
        (verdict,) = place.workspace.glob("*/verdict")
        return place, constraints, verdict

    place, constraints, verdict = broken_off("checkpoint")
    damage(verdict / "checkpoint")
    assert_same(pt.diagnose(place, constraints), expected)
    assert steps_made == whole

    place, constraints, verdict = broken_off("state")
    token = read_packed(verdict / "checkpoint").facts["token"]
    damage(sorted((verdict / token).iterdir())[-1])
    assert_same(pt.diagnose(place, constraints), expected)
    assert steps_made == whole

    place, constraints, verdict = broken_off("whole again")
    assert_same(pt.diagnose(place, constraints), expected)
    assert steps_made == whole[2:]


def test_project__goes_on_with_the_diagnosis_that_it_broke_off(tmp_path, steps_made, monkeypatch):
    monkeypatch.setattr(newton, "SLOW_STEPS", 3)
    table, constraints = forced_case(TWO_PROOFS)
    (tmp_path / "whole").mkdir()
    expected = pt.project(stored(table, tmp_path / "whole"), constraints)
    whole = list(steps_made)
    steps_made.clear()
    place = stored(table, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(searching, "search", interrupting(2))
        stopped = pt.project(place, constraints, on_failure="return")
    assert stopped.termination is pt.results.Termination.INTERRUPTED
    assert steps_made == whole[:2]
    assert_same_bits(pt.resume(stopped.path), expected)
    assert steps_made == whole
