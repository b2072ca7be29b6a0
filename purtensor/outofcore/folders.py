"""Folders that are made once, by whichever process is the first, and never changed while a result reads them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from purtensor.errors import StoreError
from purtensor.outofcore.array_file import read_own, write_packed
from purtensor.tables.store.atomic_folder import begun_beside, given_up, moved_into, moved_over

_MADE = "made"
"""The file that describes the content of a folder, written last."""


@contextmanager
def removed_on_error(folder: Path) -> Iterator[None]:
    """Remove a folder before the block, where something broke off before, and where the block ends with an error."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def make_once(folder: Path, make: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Return the description of a folder, which `make` writes and fills if it does not exist yet.

    It is filled beside its place and moved there whole: of two processes that begin at once, one makes it in vain.

    Raises
    ------
    StoreError
        It cannot be written, or its description is damaged.
    """
    if not (folder / _MADE).exists():
        partial = begun_beside(folder)
        try:
            write_packed(partial / _MADE, {}, make(partial))
            _move(partial, folder)
        finally:
            given_up(partial)
    return read_own(folder / _MADE).facts


def _move(partial: Path, folder: Path) -> None:
    """Bring a folder to its place, unless another process was first; what is not whole gives way."""
    try:
        moved_into(partial, folder)
    except StoreError:
        # without the description, which is written last, it is what a crash has left
        if not (folder / _MADE).exists():
            moved_over(partial, folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror or error}") from error
