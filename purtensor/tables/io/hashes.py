"""Hashes that show damage: of the content of a dataset, and of the bytes of a file, at its end.

The HDF5 library can crash the process on a damaged file, which no error handling survives: the bytes are checked before
it sees them. Bytes behind its end it ignores, so a sealed file is plain NetCDF for other programs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from purtensor.errors import FileFormatError


def content_hash(dataset: xr.Dataset, ignored: tuple[str, ...] = ()) -> str:
    """Return the SHA-256 of the names, dimensions, types, values and attributes of a dataset, in hexadecimal.

    Parameters
    ----------
    ignored
        Attributes of the dataset that are left out, such as the one that holds the hash.
    """
    digest = hashlib.sha256()
    attributes = {name: value for name, value in dataset.attrs.items() if name not in ignored}
    digest.update(_as_text(attributes))
    # sorted: a file may return its variables in another order
    for name in sorted(map(str, dataset.variables)):
        variable = dataset.variables[name]
        values = np.asarray(variable.values)
        kind, content = _as_bytes(values)
        digest.update(_as_text([name, variable.dims, values.shape, kind, dict(variable.attrs)]))
        digest.update(content)
    return digest.hexdigest()


def _as_bytes(values: npt.NDArray[Any]) -> tuple[str, bytes]:
    if values.dtype.kind in "OUT":  # strings come back from a file in another of these types
        return "text", _as_text([str(value) for value in values.ravel().tolist()])
    # one byte order, so that the hash is the same on every machine
    ordered = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return ordered.dtype.str, ordered.tobytes()


def _as_text(value: Any) -> bytes:
    # scalars and arrays of numpy, which attributes come back as, are hashed as Python's numbers and lists
    return json.dumps(value, sort_keys=True, default=lambda numbers: numbers.tolist()).encode() + b"\n"


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
