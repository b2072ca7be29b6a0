"""How a table lies in a Zarr store: values, codes and labels, read only after what the store says of them is checked.

A store may come from anyone. Nothing in it is unpickled, its links are not followed, and what it says of itself is
compared with what was written; see `store_table` for the writing.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidTableError, PurtensorError, StoreError
from purtensor.tables.domain import check_attribute
from purtensor.tables.grouping import smallest_unsigned
from purtensor.tables.io.hashes import content_hash
from purtensor.tables.io.path_checks import what_to_give
from purtensor.tables.labels import decode_labels
from purtensor.tables.masses import as_masses
from purtensor.tables.memory import require_memory

_FORMAT = "purtensor stored table 1"
_CODECS = {"bytes", "crc32c", "zstd", "gzip", "blosc", "vlen-utf8"}
"""What a store may be encoded with: these decode numbers and text, and run no code of the store's own."""

_LONGEST = 1 << 26
"""The largest accepted size of a zarr.json in bytes."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a store says of its table.

    Attributes
    ----------
    attributes, sizes, kinds, labels
        For each attribute its name, its number of categories, and the kind and the hash of their labels.
    profiles, chunk
        How many profiles there are, and how many make a chunk.
    total
        The mass of the table.
    """

    attributes: tuple[str, ...]
    sizes: tuple[int, ...]
    kinds: tuple[str, ...]
    labels: tuple[str, ...]
    profiles: int
    chunk: int
    total: float

    def as_json(self) -> dict[str, Any]:
        """Return the attributes of the store's group, with a hash of them."""
        facts = {"format": _FORMAT, **json.loads(json.dumps(asdict(self)))}
        return {**facts, "content_hash": content_hash(xr.Dataset(attrs=facts))}


def labels_hash(labels: npt.NDArray[Any]) -> str:
    """Return a hash of labels in their stored form."""
    return content_hash(xr.Dataset({"labels": ("label", labels)}))


def code_dtype(size: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the type of the codes of an attribute with so many categories: its largest number is not a code."""
    return smallest_unsigned(size + 1)


def read_facts(folder: Path) -> Facts:
    """Return what a store says of its table.

    Raises
    ------
    StoreError
        There is no such store, it may not be read, another program wrote it, or it is damaged.
    """
    details = _metadata(folder, folder / "zarr.json").get("attributes")
    if not isinstance(details, dict) or details.get("format") != _FORMAT:
        raise StoreError(f"{folder} is a Zarr store, but was not written by purtensor")
    try:
        attributes, sizes, kinds, labels = (tuple(details[name]) for name in ("attributes", "sizes", "kinds", "labels"))
        facts = Facts(attributes, sizes, kinds, labels, details["profiles"], details["chunk"], details["total"])
        damaged = not _is_sound(facts) or any(details.get(name) != value for name, value in facts.as_json().items())
    except (KeyError, TypeError, ValueError, RecursionError):
        damaged = True
    if damaged:
        raise StoreError(f"{folder} is damaged: the description of the table in its zarr.json was changed")
    return facts


def _is_sound(facts: Facts) -> bool:
    count = len(facts.attributes)
    texts = (*facts.attributes, *facts.kinds, *facts.labels)
    return (
        count == len(set(facts.attributes)) == len(facts.sizes) == len(facts.kinds) == len(facts.labels) > 0
        and all(isinstance(text, str) for text in texts)
        # not isinstance: JSON's true would pass for 1; a chunk has at least one profile
        and all(type(number) is int and number >= 0 for number in (*facts.sizes, facts.profiles, facts.chunk - 1))
        and isinstance(facts.total, float)
        and 0.0 <= facts.total < float("inf")
    )


def read_labels(folder: Path, facts: Facts) -> tuple[pd.Index[Any], ...]:
    """Return the categories of each attribute of a store.

    Raises
    ------
    StoreError
        They are missing or damaged, or one occurs twice.
    """
    found = []
    for k, (name, size, kind) in enumerate(zip(facts.attributes, facts.sizes, facts.kinds, strict=True)):
        # the types in which encode_labels lays down each kind
        data_type = "int64" if kind.startswith("timedelta64") else "string"
        if kind.startswith(("int", "uint", "float")) and not kind.startswith("interval"):
            data_type = kind
        # 64 bytes: about a short Python string and the pointer to it
        require_memory(size * 64, f"reading the {size} categories of {name!r} in {folder}")
        labels = _read(folder, f"categories_{k}", (0, size), (size, max(1, size), data_type))
        try:
            damaged = labels_hash(labels) != facts.labels[k]
            categories = decode_labels(labels, kind)
            check_attribute(name, categories)
        except (ValueError, TypeError, OverflowError, RecursionError, AttributeError, KeyError) as error:
            raise StoreError(f"{folder}: the categories of {name!r} are invalid: {error}") from error
        if damaged:
            raise StoreError(f"{folder} is damaged: the categories of {name!r} were changed")
        found.append(categories)
    return tuple(found)


def read_profiles(path: Path, begin: int, end: int) -> tuple[tuple[IntArray, ...], FloatArray]:
    """Return codes and values of the profiles begin .. end - 1 of a store, without its labels.

    Raises
    ------
    StoreError
        A chunk is missing or damaged, or an array is not what it should be.
    InvalidTableError
        A value that is not a mass.
    """
    facts = read_facts(path)
    require_memory((end - begin) * 8 * (len(facts.sizes) + 2), f"reading {end - begin} profiles of {path}")
    shape = facts.profiles, facts.chunk
    raw = _read(path, "values", (begin, end), (*shape, "float64"))
    codes = []
    for k, (name, size) in enumerate(zip(facts.attributes, facts.sizes, strict=True)):
        code = _read(path, f"codes_{k}", (begin, end), (*shape, str(code_dtype(size))))
        if len(code) and int(code.max()) >= size:
            raise StoreError(
                f"{path} is damaged: profile number {begin + int(np.argmax(code))} has category number {code.max()} of "
                f"{name!r}, which has {size} categories"
            )
        codes.append(code)

    def fail(position: int, what: str) -> NoReturn:
        raise InvalidTableError(f"{path}: profile number {begin + position} {what}")

    return tuple(codes), as_masses(raw, fail)


def _read(folder: Path, name: str, bounds: tuple[int, int], form: tuple[int, int, str]) -> npt.NDArray[Any]:
    """Return entries of an array of a store that has this length, chunk and type."""
    length, chunk, data_type = form
    _check_metadata(folder, name, length, chunk, data_type)
    begin, end = bounds
    if end <= begin:
        return np.empty(0, dtype=object if data_type == "string" else data_type)
    # zarr would fill in a missing chunk and say nothing
    for number in range(begin // chunk, -(-end // chunk)):
        _require_plain(folder, folder / name / "c" / str(number), f"chunk {number} of array {name}")
    import zarr  # optional, and slow to import

    try:
        found = np.asarray(zarr.open_array(folder / name, mode="r", zarr_format=3)[begin:end])
        return found if data_type == "string" else found.astype(data_type, copy=False)
    except PurtensorError:
        raise
    except Exception as error:  # zarr and its codecs raise anything on damaged chunks
        message = " ".join(str(error).split()) or type(error).__name__
        raise StoreError(f"{folder} is damaged in array {name}, entries {begin} to {end}: {message}") from error


def _check_metadata(folder: Path, name: str, length: int, chunk: int, data_type: str) -> None:
    """Compare what an array says of itself with what it is to be, before a library believes it."""
    for part in (name, f"{name}/c"):
        if (folder / part).is_symlink():
            raise StoreError(f"{folder}: {part} is a link; links in a store are not followed")
    facts = _metadata(folder, folder / name / "zarr.json")
    wanted = {
        "node_type": "array",
        "zarr_format": 3,
        "shape": [length],
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [chunk]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    }
    for key, value in wanted.items():
        if facts.get(key) != value:
            raise StoreError(
                f"{folder}: array {name} has the {key} {facts.get(key)!r} but {value!r} was written; another program "
                "changed it, or it is damaged"
            )
    codecs = facts.get("codecs")
    names = [one.get("name") if isinstance(one, dict) else one for one in codecs] if isinstance(codecs, list) else []
    unknown = [str(one) for one in names if not isinstance(one, str) or one not in _CODECS]
    if unknown or not names or facts.get("storage_transformers"):
        what = ", ".join(unknown) or "nothing that is named"
        raise StoreError(f"{folder}: array {name} is encoded with {what}, which is not supported")


def _metadata(folder: Path, path: Path) -> dict[str, Any]:
    """Return what a zarr.json says, a JSON object."""
    where = str(path.relative_to(folder))
    _require_plain(folder, path, where)
    try:
        with path.open("rb") as file:
            # one byte more than is allowed shows that there is more
            content = file.read(_LONGEST + 1)
        facts = json.loads(content) if len(content) <= _LONGEST else None
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {where}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{folder} is damaged: {where} is not valid JSON: {error}") from error
    if not isinstance(facts, dict):
        raise StoreError(f"{folder} is damaged: {where} is not a JSON object")
    return facts


def _require_plain(folder: Path, path: Path, what: str) -> None:
    """Refuse what is not there, and what is not a plain file of the store: a link may point anywhere."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        is_other = path.parent == folder
        message = f"is not a stored table: it has no {what}" if is_other else f"has no {what}: it is incomplete"
        message += what_to_give(folder) if is_other else ""
        raise StoreError(f"{folder} {message}") from error
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {what}: {error.strerror or error}") from error
    if not stat.S_ISREG(mode):
        raise StoreError(f"{folder}: {what} is a link or a folder; links in a store are not followed")
