"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from purtensor.errors import InvalidOptionError, NotAFileError, StoreError
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


_OPEN: set[str] = set()
"""The folders that this process is writing."""

_NAMED = 40
"""Letters of a folder's name that its partial one begins with: no file system refuses what is added."""

_TRIES = 8
"""How often a folder that others put back at once is taken away."""


def begun_beside(path: Path) -> Path:
    """Return a new name beside a path to write under; what killed writers to that path left there is removed.

    The name contains the machine and the process, so that no writer mistakes the work of another for a leftover.
    """
    for found in _others(path):
        if _is_left(found):
            _remove(found)
    partial = path.with_name(f"{path.name[:_NAMED]}.{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.partial")
    _OPEN.add(partial.name)
    return partial


def move_into(partial: Path, path: Path) -> None:
    """Bring a folder that is whole to its place.

    Raises
    ------
    StoreError
        The path was created by another writer in the meantime; it is not changed.
    """
    # POSIX would let the rename replace an empty folder without a word
    if is_there(path):
        raise _take(path)
    try:
        os.rename(partial, path)
    except OSError as error:
        if is_there(path):
            raise _take(path) from error
        raise
    _OPEN.discard(partial.name)


def move_over(partial: Path, path: Path) -> None:
    """Bring a folder that is whole to its place, instead of what is there.

    Raises
    ------
    StoreError
        Other writers recreate the path as often as it is removed.
    """
    for _ in range(_TRIES):
        # a folder that is not empty cannot be renamed over: it is moved out of the way first
        aside = begun_beside(path)
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, aside)
        try:
            move_into(partial, path)
        except StoreError:
            continue
        finally:
            give_up(aside)
        return
    raise _take(path)


def give_up(partial: Path) -> None:
    """Remove what was written under such a name, if anything is there."""
    _remove(partial)
    _OPEN.discard(partial.name)


def is_there(path: Path) -> bool:
    """Return whether there is something at a path; refused where its name cannot be one."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{str(path)!r} cannot be written: {reason}") from error
    return True


def _take(path: Path) -> StoreError:
    return StoreError(
        f"{path} now exists: another program wrote it in the meantime, and it is kept; give a new folder, or "
        "remove it first"
    )


def _others(path: Path) -> list[Path]:
    """Return the temporary folders that any process wrote beside a path."""
    form = re.compile(re.escape(path.name[:_NAMED]) + r"\.[0-9a-f]{8}-[0-9]{1,9}-[0-9a-f]{8}\.partial")
    try:
        with os.scandir(path.parent) as entries:
            return [path.parent / entry.name for entry in entries if form.fullmatch(entry.name)]
    except OSError:
        return []


def _is_left(partial: Path) -> bool:
    """Return whether the writing process of a folder has ended, which only its own machine can determine."""
    machine, process, _ = partial.name.removesuffix(".partial").rpartition(".")[2].split("-")
    if machine != _machine():
        return False
    return partial.name not in _OPEN if int(process) == os.getpid() else not _is_running(int(process))


def _is_running(process: int) -> bool:
    if os.name != "posix":  # elsewhere a signal of 0 is no question
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # not allowed to signal it: it runs, as another user's
    except OSError:
        return True
    return True


def _machine() -> str:
    # hashed, as a machine's name may have what a file's may not
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _remove(partial: Path) -> None:
    if partial.is_symlink() or partial.is_file():  # what a link points to is of someone else, and stays
        partial.unlink(missing_ok=True)
    shutil.rmtree(partial, ignore_errors=True)
