"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from purtensor.errors import NotAFileError
from purtensor.tables.io.path_checks import missing_folder


@contextlib.contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; when the block ends well, it takes the place of `path`.

    The bytes are on the disk before the move. After an error or an interruption, `path` is as it was.

    Raises
    ------
    MissingFileError
        The folder is not there.
    NotAFileError
        There is a folder at `path`.
    """
    target = Path(os.path.realpath(path))  # a link stays a link: what it points to is replaced
    if not target.parent.is_dir():
        raise missing_folder(target.parent, target.name)
    if target.is_dir():
        raise NotAFileError(f"{target} is a folder, and no file can take its place: give the name of a file")
    temporary = target.with_name(f".purtensor-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
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
