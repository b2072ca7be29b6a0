from __future__ import annotations

import os
import secrets
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.tables.domain import Domain
from purtensor.tables.io import atomic as stored_partial
from purtensor.tables.io.atomic import begun_beside, give_up, move_into, move_over, replace_file
from purtensor.tables.store.write import TableWriter


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_replaced_file__leaves_the_old_file_after_an_error(tmp_path, error):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def write():
        with replace_file(path) as temporary:
            temporary.write_text("half of the n")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_replaced_file__is_in_place_only_at_the_end(tmp_path):
    path = tmp_path / "table.csv"
    with replace_file(str(path)) as temporary:
        temporary.write_text("new")
        assert temporary.parent == path.parent
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_replaced_file__that_was_never_written(tmp_path):
    with pytest.raises(FileNotFoundError), replace_file(tmp_path / "table.csv"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")
def test_replaced_file__follows_links_and_the_umask(tmp_path):
    (tmp_path / "data").mkdir()
    real, link = tmp_path / "data" / "real.csv", tmp_path / "link.csv"
    link.symlink_to(real)
    with replace_file(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    before = os.umask(0o022)
    os.umask(before)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~before


@pytest.mark.skipif(os.name != "posix", reason="only POSIX systems have modes of files")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_replaced_file__keeps_the_mode_of_what_it_replaces(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "own"
    path.write_text("before")
    path.chmod(mode)
    with replace_file(path) as temporary:
        temporary.write_text("after")
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == mode


pytest.importorskip("zarr")

COUNTS = pt.tabulate({"age": [30, 55, 71], "sex": ["f", "m", "m"]}, weights=[1, 2, 4])
AGES = Domain(("age",), (pd.Index([30, 55, 71]),))


def begun(path, values):
    """A writer that has written one chunk."""
    writer = TableWriter(path, AGES, chunk=1)
    writer.append([np.array([0, 1])], np.array(values))
    return writer


def test_table_writer__two_at_one_path_do_not_meet(tmp_path):
    first, second = begun(tmp_path / "t.zarr", [1.0, 2.0]), begun(tmp_path / "t.zarr", [3.0, 4.0])
    stored = first.close()
    with pytest.raises(pt.errors.StoreError, match=r"t\.zarr now exists: another program wrote it"):
        second.close()
    second.abandon()
    assert stored.to_table().values.tolist() == [1.0, 2.0]
    assert [one.name for one in tmp_path.iterdir()] == ["t.zarr"]


def test_table_writer__one_that_gives_up_leaves_the_other_alone(tmp_path):
    first = begun(tmp_path / "t.zarr", [1.0, 2.0])
    begun(tmp_path / "t.zarr", [3.0, 4.0]).abandon()
    first.append([np.array([2])], np.array([5.0]))
    assert first.close().to_table().values.tolist() == [1.0, 2.0, 5.0]


def test_store_table__the_second_of_two_is_told(tmp_path):
    def pieces():
        yield COUNTS[:1]
        pt.store_table(COUNTS, tmp_path / "t.zarr")
        yield COUNTS[1:]

    with pytest.raises(pt.errors.StoreError, match="now exists"):
        pt.store_table(pieces(), tmp_path / "t.zarr", chunk=1)
    assert [one.name for one in tmp_path.iterdir()] == ["t.zarr"]
    assert pt.results.open_table(tmp_path / "t.zarr").to_table().equals(COUNTS)


def test_table_writer__replaces_what_is_there_only_when_all_is_written(tmp_path):
    pt.store_table(COUNTS, tmp_path / "t.zarr")
    writer = TableWriter(tmp_path / "t.zarr", AGES, replaces=True)
    writer.append([np.array([1])], np.array([7.0]))
    assert pt.results.open_table(tmp_path / "t.zarr").to_table().equals(COUNTS)
    assert writer.close().to_table().values.tolist() == [7.0]
    assert [one.name for one in tmp_path.iterdir()] == ["t.zarr"]


DRIVER = """
import sys, time
import numpy as np, pandas as pd
from purtensor.tables.domain import Domain
from purtensor.tables.store.write import TableWriter

writer = TableWriter(sys.argv[1], Domain(("age",), (pd.Index([30, 55, 71]),)), chunk=1)
writer.append([np.array([0, 1])], np.ones(2))
print("written", flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_table_writer__killed_and_living_ones_of_other_processes(tmp_path):
    place = tmp_path / "t.zarr"
    with subprocess.Popen([sys.executable, "-c", DRIVER, str(place)], stdout=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdout.readline().strip() == "written"
            assert len(list(tmp_path.glob("*.partial"))) == 1
            assert pt.store_table(COUNTS, tmp_path / "t.zarr").to_table().equals(COUNTS)
            assert len(list(tmp_path.glob("*.partial"))) == 1  # it is at work still
        finally:
            os.kill(driver.pid, signal.SIGKILL)
            assert driver.wait() == -signal.SIGKILL
    begun(tmp_path / "other.zarr", [1.0, 2.0]).close()
    assert len(list(tmp_path.glob("*.partial"))) == 1  # of another path
    TableWriter(place, AGES, replaces=True).abandon()
    assert not list(tmp_path.glob("*.partial"))


def named(name, machine=None, process=None):
    return f"{name}.{machine or stored_partial._machine()}-{process or os.getpid()}-{secrets.token_hex(4)}.partial"


LEFT = {
    "of an earlier process with this number": (named("t.zarr"), True),
    "of another machine": (named("t.zarr", machine="0" * 8), False),
    "of the first process, which is there": (named("t.zarr", process=1), False),
    "of another path": (named("s.zarr"), False),
    "of a path that ends alike": (named("not.zarr"), False),
    "a table whose name ends so": ("t.zarr.partial", False),
}


@pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX")
@pytest.mark.parametrize(("name", "is_left"), LEFT.values(), ids=LEFT)
def test_begun_beside__removes_what_nobody_writes_any_more(tmp_path, name, is_left):
    (tmp_path / name).mkdir()
    (tmp_path / name / "chunk").write_text("mine")
    begun_beside(tmp_path / "t.zarr")
    assert (tmp_path / name / "chunk").exists() is not is_left


def test_begun_beside__what_lies_behind_a_link_stays(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "mine").write_text("mine")
    (tmp_path / named("t.zarr")).symlink_to(tmp_path / "precious")
    begun_beside(tmp_path / "t.zarr")
    assert [one.name for one in tmp_path.iterdir()] == ["precious"]
    assert (tmp_path / "precious" / "mine").exists()


def test_begun_beside__long_names(tmp_path):
    long = tmp_path / ("ä" * 100 + ".zarr")
    assert pt.store_table(COUNTS, long).to_table().equals(COUNTS)
    (tmp_path / named("ä" * 40)).mkdir()
    begun_beside(long)
    assert not list(tmp_path.glob("*.partial"))


def folder(path, text):
    path.mkdir()
    (path / "text").write_text(text)
    return path


def test_moved_into__an_empty_folder_or_a_file_there_is_not_lost(tmp_path):
    partial = folder(begun_beside(tmp_path / "t"), "new")
    (tmp_path / "t").mkdir()
    with pytest.raises(pt.errors.StoreError, match="now exists"):
        move_into(partial, tmp_path / "t")
    (tmp_path / "t").rmdir()
    (tmp_path / "t").write_text("old")
    with pytest.raises(pt.errors.StoreError, match="now exists"):
        move_into(partial, tmp_path / "t")
    assert (tmp_path / "t").read_text() == "old"


def test_moved_into__another_is_quicker_than_the_question(tmp_path, monkeypatch):
    partial, there = folder(begun_beside(tmp_path / "t"), "new"), stored_partial.is_there
    answers = iter([False])
    monkeypatch.setattr(stored_partial, "is_there", lambda path: next(answers, there(path)))
    folder(tmp_path / "t", "old")
    with pytest.raises(pt.errors.StoreError, match="now exists"):
        move_into(partial, tmp_path / "t")
    assert (tmp_path / "t" / "text").read_text() == "old"
    give_up(partial)
    answers = iter([False])
    with pytest.raises(FileNotFoundError):
        move_into(partial, tmp_path / "away")


def test_moved_over__others_put_theirs_there(tmp_path, monkeypatch):
    partial, move = folder(begun_beside(tmp_path / "t"), "new"), stored_partial.move_into
    others = ["one", "two"]

    def late(partial, path):
        if others:
            folder(path, others.pop())
        move(partial, path)

    folder(tmp_path / "t", "old")
    monkeypatch.setattr(stored_partial, "move_into", late)
    move_over(partial, tmp_path / "t")
    assert (tmp_path / "t" / "text").read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["t"]
    others[:] = ["again"] * 100
    with pytest.raises(pt.errors.StoreError, match="now exists"):
        move_over(folder(begun_beside(tmp_path / "t"), "newer"), tmp_path / "t")


def test_is_running__a_process_of_another_user_is(monkeypatch):
    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.kill", refused)
    assert stored_partial._is_running(77)
