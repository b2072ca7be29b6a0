"""Several processes with one question on one stored table: each gets the answer, and none disturbs another."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import purtensor as pt
from purtensor.errors import StoreError
from purtensor.outofcore.workspace import lock_question

pytestmark = pytest.mark.slow

pytest.importorskip("zarr")

PROGRAM = """
import sys
import purtensor as pt
stored = pt.results.open_table(sys.argv[1])
made = pt.load(sys.argv[2])
constraints = pt.pur(made, response="y", protected="s")
while not __import__("pathlib").Path(sys.argv[3]).exists():
    pass
result = pt.project(stored, constraints)
print(result.termination.name, result.iterations, result.table.to_table().values.tobytes().hex()[:400])
print(pt.diagnose(stored, constraints).verdict.name)
"""


def test_project__processes_with_one_question_all_get_its_answer(tmp_path: Path) -> None:
    counts = pt.tabulate(
        {"y": [0, 1, 0, 1, 0, 1], "s": [0, 0, 1, 1, 1, 0], "x": [0, 0, 0, 1, 1, 1]}, weights=range(1, 7)
    )
    f = pt.regularize(counts, response="y", strength=1.0)
    pt.store_table(f, tmp_path / "f.zarr")
    pt.save(f, tmp_path / "f.nc")
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "f.zarr"), str(tmp_path / "f.nc"), str(tmp_path / "go")]
    processes = [
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
        for _ in range(3)
    ]
    (tmp_path / "go").touch()
    answers = [process.communicate(timeout=300) for process in processes]
    assert [error for _, error in answers] == ["", "", ""]
    assert len({said for said, _ in answers}) == 1
    assert answers[0][0].startswith("CONVERGED ")
    assert answers[0][0].endswith("INTERIOR\n")


def test_locked__a_second_one_waits_and_is_told_so(tmp_path: Path) -> None:
    counts = pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=[1, 2, 3, 5])
    stored, constraints = pt.store_table(counts, tmp_path / "t.zarr"), pt.marginals_of(counts, ["a", "b"])
    told: list[bool] = []

    def hold() -> None:
        with lock_question(stored, constraints) as waited:
            told.append(waited)

    with lock_question(stored, constraints) as waited:
        second = threading.Thread(target=hold)
        second.start()
        time.sleep(0.2)
        assert told == []
        with lock_question(stored, constraints[:1]) as other:  # another question is free
            assert not other
    second.join(timeout=30)
    assert (waited, told) == (False, [True])


def test_locked__a_workspace_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    counts = pt.tabulate({"a": [0, 1]})
    pt.store_table(counts, tmp_path / "t.zarr")
    (tmp_path / "file").write_text("")
    stored = pt.results.open_table(tmp_path / "t.zarr", workspace=tmp_path / "file" / "inside")
    with pytest.raises(StoreError, match="cannot be created"), lock_question(stored, pt.marginals_of(counts, ["a"])):
        pass
