"""Folders that are whole or not there: written beside their place under a name of their own, then moved into it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import shutil
from pathlib import Path

from purtensor.errors import StoreError

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
