"""Whether a path is a file that can be read, and where it is not, what is there instead."""

from __future__ import annotations

import difflib
import errno
import os
import stat
from itertools import islice
from pathlib import Path

from purtensor.errors import (
    ForbiddenFileError,
    InvalidOptionError,
    MissingFileError,
    MissingStoreError,
    NotAFileError,
    UnreadableFileError,
)

_NAMES = 10_000
"""So many entries of a folder are compared with a name."""

_TOLD = 3
# difflib's own cutoff
_ALIKE = 0.6
STORE_MARK = "zarr.json"
"""What a folder has in it where it is a Zarr store."""


def require_file(path: str | os.PathLike[str], what: str = "a table") -> None:
    """Raise an error if a path is not a regular file or may not be opened.

    Parameters
    ----------
    what
        What was searched for, as a noun with its article.

    Raises
    ------
    MissingFileError
        The path does not exist; the message has the folder that was searched, and similar names.
    NotAFileError
        It is a folder.
    ForbiddenFileError
        It may not be opened.
    UnreadableFileError
        It is a pipe or a device, or the system refuses it in another way.
    """
    name = path_text(path)
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISREG(mode):
            with open(name, "rb"):
                return
    except (OSError, ValueError) as error:
        raise unreadable(error, name, what) from None
    if stat.S_ISDIR(mode):
        raise _about(NotAFileError(f"{name} is a folder, but {what} was expected{what_to_give(Path(name))}"), name)
    raise _about(
        UnreadableFileError(
            f"{name} is a pipe or a device, but {what} was expected: copy its content into a file, and give that"
        ),
        name,
    )


def require_store(path: str | os.PathLike[str], what: str = "a stored table") -> None:
    """Refuse a path at which there is nothing, or a file, where the folder of `what` is wanted.

    Raises
    ------
    MissingStoreError
        Nothing is there.
    """
    name = path_text(path)
    try:
        os.lstat(name)
    except (FileNotFoundError, NotADirectoryError):
        there = False
    except (OSError, ValueError) as error:
        raise unreadable(error, name, what) from None
    else:
        there = True
    if not there:
        message = f"there is no {what.partition(' ')[2]} {name}{_where(Path(name), what)}"
        raise _about(MissingStoreError(message), name)


def unreadable(error: OSError | ValueError, path: str | os.PathLike[str], what: str = "a table") -> UnreadableFileError:
    """Return what the system said of a path as an error of ours, with what to do."""
    name = os.fspath(path)
    number = error.errno if isinstance(error, OSError) else errno.EINVAL
    if isinstance(error, PermissionError):
        message = f"{name} may not be opened, but {what} was expected: get permission to read it, or a copy"
        return _about(ForbiddenFileError(message), name, number)
    if isinstance(error, IsADirectoryError):
        message = f"{name} is a folder, but {what} was expected{what_to_give(Path(name))}"
        return _about(NotAFileError(message), name, number)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return _about(MissingFileError(f"{name} does not exist{_where(Path(name), what)}"), name, errno.ENOENT)
    if isinstance(error, ValueError):
        message = f"{name!r} is not a valid path: {error}; {what} was expected"
        return _about(MissingFileError(message), name, number)
    message = f"{name} cannot be opened: {error.strerror or error}; {what} was expected"
    return _about(UnreadableFileError(message), name, number)


def missing_folder(folder: Path, what: str) -> MissingFileError:
    """Return the refusal to write `what` into a folder that is not there."""
    message = f"{folder} is not a folder, so {what} cannot be written there: create it first, or give another"
    error = MissingFileError(message)
    error.filename, error.errno = str(folder), errno.ENOENT
    return error


def what_to_give(folder: Path) -> str:
    """Return advice for a folder, or for a path that is not a store, as the end of a sentence."""
    if folder.is_file():
        return ": it is a file, which can be read by purtensor.load or purtensor.tabulate"
    if (folder / STORE_MARK).is_file():
        return ": it is a Zarr store, which can be opened by purtensor.results.open_table"
    files = [name for name in _entries(folder) if not name.endswith("/")]
    return f": give one of its files, {_some(files)}" if files else ": there is no file in it"


def path_text(path: object) -> str:
    """Return a path as text.

    Raises
    ------
    InvalidOptionError
        It is neither text nor a path.
    """
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str) or not name:
        raise InvalidOptionError(f"a path must be text, or a pathlib.Path, and not empty, got {path!r}")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise InvalidOptionError(
            f"the path {name!r} has an unpaired surrogate, which is not allowed in names"
        ) from None
    return name


def _about(error: UnreadableFileError, name: str, number: int | None = None) -> UnreadableFileError:
    error.filename = name
    error.errno = number
    return error


def _where(path: Path, what: str) -> str:
    """Return what was expected where, and what exists instead, as the end of a sentence."""
    if ":/" in str(path):
        return f": {what} was expected, and nothing is read from a network: download it first"
    if path.is_symlink():
        return f": it is a link to {os.readlink(path)}, but {what} was expected; correct the link, or give a file"
    folder, missing = path.parent, path
    while not folder.is_dir() and folder != folder.parent:
        folder, missing = folder.parent, folder
    message = f": searched for {what} in {os.path.abspath(path.parent)}"
    if missing is not path:
        message += f", but {missing} is a file" if os.path.lexists(missing) else f", but there is no folder {missing}"
    return f"{message}; {_instead(missing.name, folder)}"


def _instead(name: str, folder: Path) -> str:
    """Return what a folder has that may be meant: names like it, else files with the same ending."""
    stem, ending = _parts(name)
    entries = _entries(folder)
    by_stem: dict[str, list[str]] = {}
    for entry in entries:
        by_stem.setdefault(_parts(entry)[0], []).append(entry)
    near = [entry for one in difflib.get_close_matches(stem, by_stem, _TOLD, _ALIKE) for entry in by_stem[one]]
    if near:
        return f"similar names are {', '.join(near[:_TOLD])}"
    same = sorted((e for e in entries if ending and _parts(e)[1] == ending), key=lambda entry: entry.endswith("/"))
    return f"there are {_some(same)}" if same else "no name there is similar"


def _parts(name: str) -> tuple[str, str]:
    """Return the parts before and after the first dot, in lower case."""
    stem, _, ending = name.rstrip("/").lower().partition(".")
    return stem, ending


def _some(names: list[str]) -> str:
    return ", ".join(names[:_TOLD]) + (", ..." if len(names) > _TOLD else "")


def _entries(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as found:
            names = [e.name + "/" * e.is_dir() for e in islice(found, _NAMES) if not e.name.startswith(".")]
    except OSError:  # a folder that may not be read shows nothing
        return []
    return sorted(names)
