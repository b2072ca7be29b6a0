"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from purtensor.errors import InvalidOptionError, NotAFileError
from purtensor.tables.io.path_checks import STORE_MARK, missing_folder


@dataclass(slots=True)
class WrittenFiles:
    """What happens to files while `keep_files` holds.

    Attributes
    ----------
    kept
        The files and folders that are read, and that nothing may be written over.
    replaced
        The files that were there before and have been replaced, each once.
    own
        The files that have been written: what is written again was not there before.
    """

    kept: tuple[Path, ...]
    replaced: list[Path] = field(default_factory=list)
    own: set[Path] = field(default_factory=set)


_written: WrittenFiles | None = None
"""Of the process, not of a thread or a context: files are written by whichever thread has them."""


@contextlib.contextmanager
def keep_files(kept: Iterable[str | os.PathLike[str]]) -> Iterator[WrittenFiles]:
    """Refuse to write over the files in `kept` while the block runs, and list the files that are replaced."""
    global _written
    before, _written = _written, WrittenFiles(tuple(Path(path) for path in kept))
    try:
        yield _written
    finally:
        _written = before


def require_other_file(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse to write to a path that is one of `inputs`, or lies in one, whichever links and names lead there.

    Raises
    ------
    InvalidOptionError
        It is; the message names both paths.
    """
    target = Path(os.path.realpath(path))
    for source in inputs:
        if not os.path.exists(source):
            continue
        inside = os.path.isdir(source) and Path(os.path.realpath(source)) in target.parents
        is_store = inside and os.path.exists(os.path.join(source, STORE_MARK))
        if (target.exists() and (os.path.samefile(target, source) or (inside and target.is_file()))) or is_store:
            raise InvalidOptionError(
                f"{os.fspath(path)} would overwrite {os.fspath(source)}, which is an input: give another path to "
                "write to"
            )


@contextlib.contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; when the block ends well, it takes the place of `path`.

    The bytes are on the disk before the move. After an error or an interruption, `path` is as it was.

    Raises
    ------
    MissingFileError
        The folder is not there.
    NotAFileError
        There is a folder at `path`.
    InvalidOptionError
        It is a file that `keep_files` keeps.
    """
    target = Path(os.path.realpath(path))  # a link stays a link: what it points to is replaced
    if not target.parent.is_dir():
        raise missing_folder(target.parent, target.name)
    if target.is_dir():
        raise NotAFileError(f"{target} is a folder: give the path of a file")
    if _written is not None:
        require_other_file(path, _written.kept)
    is_new = not target.exists()
    # in the same folder, hence on the same file system: only there a move is atomic
    temporary = target.with_name(f".purtensor-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        if not is_new:  # what others may read stays so, and what they may not
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
        if _written is not None:
            if not is_new and target not in _written.own:
                _written.replaced.append(Path(path))
            _written.own.add(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Bring the move itself to the disk, where the system lets folders be synchronised."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
