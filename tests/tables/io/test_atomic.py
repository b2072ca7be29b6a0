from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from purtensor.tables.io.atomic import replace_file


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
