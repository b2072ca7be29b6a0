"""A hash at the end of a file over all bytes before it, checked before a library sees them.

The HDF5 library can crash the process on a damaged file, which no error handling survives. Bytes behind its end it
ignores, so a sealed file is plain NetCDF for other programs.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from purtensor.errors import FileFormatError

# 17 bytes before the hash, 64 of it, and the line end
_LENGTH = 82
_CHUNK = 1 << 20
_PATTERN = re.compile(rb"purtensor sha256 ([0-9a-f]{64})\n")


def append_seal(path: Path) -> None:
    """Write the hash of the bytes of a file at its end."""
    digest = _digest(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(b"purtensor sha256 " + digest.encode() + b"\n")


def check_seal(path: str | os.PathLike[str]) -> None:
    """Refuse a file without a seal, or with other bytes than those that were sealed.

    Raises
    ------
    FileFormatError
        The file is damaged, cut off, or was written by another program.
    """
    name, size = os.fspath(path), os.stat(path).st_size
    with open(path, "rb") as file:
        file.seek(max(size - _LENGTH, 0))
        seal = _PATTERN.fullmatch(file.read())
    if seal is None:
        raise FileFormatError(f"{name} has no hash at its end: it is truncated, or was written by another program")
    if _digest(Path(path), size - _LENGTH) != seal[1].decode():
        raise FileFormatError(f"{name} is damaged: its content does not match its hash")


def _digest(path: Path, length: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while length > 0 and (part := file.read(min(length, _CHUNK))):
            digest.update(part)
            length -= len(part)
    return digest.hexdigest()
