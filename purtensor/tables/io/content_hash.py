"""A hash of the content of a dataset, independent of the file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr


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
    return json.dumps(_plain(value), sort_keys=True).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
