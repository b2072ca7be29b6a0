"""What a compiled kernel is made of: its own file, and all beside or above it that it imports from, directly or not."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_COMPILES = Path(__file__).with_name("_jit.py")
"""What compiles kernels is no part of them: that it changes, or what it imports, does not change their code."""

_IMPORT = re.compile(rb"^from ([\w.]+) import ", re.MULTILINE)


class Fingerprint(NamedTuple):
    """The contents of some files.

    Attributes
    ----------
    digest
        SHA-256 of all of them, in hexadecimal.
    written
        When the last one was written, in nanoseconds since the epoch.
    """

    digest: str
    written: int


class _Source(NamedTuple):
    """One file: the SHA-256 of its content, and the files that it imports from."""

    digest: bytes
    imported: tuple[Path, ...]


def fingerprint(source: Path) -> Fingerprint:
    """Return the fingerprint of a file and of all of its package that it imports from, directly or not.

    Raises
    ------
    OSError
        A file cannot be read.
    """
    reached: dict[Path, bytes] = {}
    written = 0
    waiting = [source]
    while waiting:
        file = waiting.pop()
        if file not in reached:
            changed = file.stat().st_mtime_ns
            written = max(written, changed)
            found = _read(file, changed)
            # in the order in which they are reached, which the sorted imports fix
            reached[file] = found.digest
            waiting += (other for other in found.imported if other != _COMPILES)
    return Fingerprint(hashlib.sha256(b"".join(reached.values())).hexdigest(), written)


@cache
def _read(file: Path, written: int) -> _Source:
    """Return what a file says, by the time at which it was written; it imports by a `from` where a line begins."""
    content = file.read_bytes()
    names = sorted({name.decode() for name in _IMPORT.findall(content)})
    return _Source(
        hashlib.sha256(content).digest(), tuple(found for name in names if (found := _source_of(name, file)))
    )


def _source_of(module: str, importer: Path) -> Path | None:
    """Return the file of a module, looked for from the importer's folder upwards, so only within its own package."""
    parts = module.strip(".").split(".")
    for folder in importer.parents:
        found = folder.joinpath(*parts).with_suffix(".py")
        if found.is_file():
            return found
        if not (folder / "__init__.py").is_file():
            break
    beside = importer.with_name(f"{parts[-1]}.py")
    return beside if beside.is_file() else None
