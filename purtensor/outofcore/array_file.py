"""Arrays packed into one file: written whole or not at all, and checked when they are read."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from purtensor._typing import IntArray
from purtensor.errors import StoreError
from purtensor.kernels.checksum import checksum
from purtensor.tables.io.atomic import replace_file

_MAGIC = b"purtensor packed arrays 1\n"
# a cache line: arrays can be used where they lie in the file's buffer
_ALIGNED = 64
_WORD = 8


class Held(dict[str, Any]):
    """What a file holds, by name; what it does not hold is an error of the file."""

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self._path = path

    def __missing__(self, name: str) -> NoReturn:
        raise StoreError(f"{self._path} has no entry {name!r}: it is not the expected file")

    def __reduce__(self) -> tuple[Any, ...]:
        return Held, (self._path, dict(self))


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """The content of a packed file: arrays, facts as JSON has them, and the name that it was written to."""

    arrays: Held
    facts: Held
    name: str


def make_folder(folder: Path) -> None:
    """Make a folder in which files are written, where it is not there yet.

    Raises
    ------
    StoreError
        The disk is full, or there is no permission.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        advice = "; free the disk, then resume" if error.errno == errno.ENOSPC else ""
        raise StoreError(f"{folder} cannot be created: {error.strerror or error}{advice}") from error


def write_packed(path: Path, arrays: Mapping[str, IntArray], facts: Mapping[str, Any] = MappingProxyType({})) -> int:
    """Write arrays and facts to a file, whole or not at all, and return its checksum; its folder is made if needed.

    Raises
    ------
    StoreError
        The disk is full, or cannot be written; what was at `path` is still there.
    """
    return write_joined(path, [(arrays, facts)])[0][2]


def write_joined(
    path: Path, pieces: Iterable[tuple[Mapping[str, IntArray], Mapping[str, Any]]]
) -> list[tuple[int, int, int]]:
    """Write several sets of arrays and facts to one file; return where each begins, its length, and its checksum.

    Raises
    ------
    StoreError
        As for `write_packed`.
    """
    written, at = [], 0
    make_folder(path.parent)
    try:
        with replace_file(path) as temporary, temporary.open("wb") as file:
            for arrays, facts in pieces:
                content = _content(arrays, facts, path.name)
                # of the header too, so that a changed shape or name shows
                proof = checksum(content.view(np.uint64)) & (2**64 - 1)
                file.write(content.data)
                file.write(proof.to_bytes(_WORD, "little"))
                written.append((at, content.nbytes + _WORD, proof))
                at += content.nbytes + _WORD
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}; free the disk, then resume") from error
    return written


def _content(arrays: Mapping[str, IntArray], facts: Mapping[str, Any], name: str) -> IntArray:
    """Return all bytes but the checksum, a whole number of words."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    at, table = 0, dict[str, Any]()
    for which, array in plain.items():
        table[which] = [array.dtype.str, list(array.shape), at]
        at += _pad(array.nbytes)
    header = json.dumps({"arrays": table, "facts": dict(facts), "name": name}).encode()
    begin = _pad(len(_MAGIC) + _WORD + len(header))
    # zeros between the arrays: equal content has equal bytes, and equal checksums
    content = np.zeros(begin + at, dtype=np.uint8)
    head = _MAGIC + len(header).to_bytes(_WORD, "little") + header
    content[: len(head)] = np.frombuffer(head, dtype=np.uint8)
    for which, array in plain.items():
        start = begin + int(table[which][2])
        content[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
    return content


def read_packed(path: Path, piece: tuple[int, int] | None = None) -> Packed:
    """Return what `write_packed` wrote, after its checksum was compared; the arrays may be changed.

    Parameters
    ----------
    piece
        Where the piece begins in a file of several, and its length.

    Raises
    ------
    StoreError
        The file is missing, cut off, damaged, or of another program.
    """
    try:
        begin, size = (0, os.stat(path).st_size) if piece is None else piece
        # at least a word, so that the slice of the checksum is never empty
        content: Any = np.empty(max(size, _WORD), dtype=np.uint8)
        with path.open("rb", buffering=0) as file:
            file.seek(begin)
            got = 0
            # one read returns at most 2 GiB on Linux
            while got < size and (more := file.readinto(memoryview(content)[got:])):
                got += more
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    if got != size or size % _WORD or not content[: len(_MAGIC)].tobytes() == _MAGIC:
        raise StoreError(f"{path} is truncated, or was written by another program")
    words = content[:-_WORD].view(np.uint64)
    proof = int.from_bytes(content[-_WORD:].tobytes(), "little")
    if checksum(words) & (2**64 - 1) != proof:
        raise StoreError(f"{path} is damaged: its checksum does not match its content")
    try:
        return _unpack(path, content)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path} is complete, but was written by another program or version: {error}") from error


def read_own(path: Path) -> Packed:
    """Return what was written to this very file, and not to one of another name.

    Raises
    ------
    StoreError
        As for `read_packed`, or a file was put in the place of another.
    """
    packed = read_packed(path)
    if packed.name != path.name:
        raise StoreError(f"{path} is not the expected file: it was written as {packed.name!r}")
    return packed


def _unpack(path: Path, content: IntArray) -> Packed:
    at = len(_MAGIC)
    length = int.from_bytes(content[at : at + _WORD].tobytes(), "little")
    at += _WORD
    header = json.loads(content[at : at + length].tobytes())
    begin = _pad(at + length)
    arrays = dict[str, Any]()
    for name, (kind, shape, offset) in header["arrays"].items():
        dtype = np.dtype(kind)
        # Python's integers: a damaged shape could overflow
        count = int(np.prod(shape, dtype=object))
        start = begin + offset
        arrays[name] = content[start : start + count * dtype.itemsize].view(dtype).reshape(shape)
    return Packed(Held(path, arrays), Held(path, header["facts"]), header["name"])


def _pad(count: int) -> int:
    return -(-count // _ALIGNED) * _ALIGNED
