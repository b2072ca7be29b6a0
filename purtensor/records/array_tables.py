"""Arrays as tables: dense, of scipy.sparse and of pydata/sparse, with names and labels for their axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.tables.coded import dense_table, sparse_table
from purtensor.tables.domain import Domain, as_attributes, check_attribute
from purtensor.tables.factorize import plain_index
from purtensor.tables.grouping import first_repeated, group_profiles
from purtensor.tables.masses import as_float64
from purtensor.tables.memory import require_memory


def is_pydata(data: Any) -> bool:
    """Return whether an array is one of pydata/sparse, without importing it."""
    return hasattr(data, "fill_value") and hasattr(data, "nnz") and not hasattr(data, "getformat")


def of_coordinates(coordinates: Sequence[Any], values: Any, shape: Sequence[int], attributes: Any) -> Table:
    """Return the sparse table of the cells at these coordinates."""
    domain = _domain(attributes, shape)
    codes = tuple(np.asarray(axis, dtype=np.int64) for axis in coordinates)
    numbers = numbers_given(np.asarray(values))
    if first_repeated(codes, domain.sizes) is not None:  # entries of one cell are summed, as scipy does
        group, codes = group_profiles(codes, domain.sizes)
        numbers = np.bincount(group, numbers).astype(np.float64)
    return sparse_table(domain, codes, numbers, name="count")


def of_pydata(data: Any, attributes: Any) -> Table:
    """Return the sparse table of an array of pydata/sparse."""
    listed = data if hasattr(data, "coords") else data.tocoo()
    # cells that are not listed would have this value, and sparse tables have none
    if listed.fill_value != 0:
        raise InvalidTableError(f"the fill value of a sparse array must be 0, got {listed.fill_value}")
    return of_coordinates(tuple(listed.coords), listed.data, listed.shape, attributes)


def of_array(values: Any, attributes: Any) -> Table:
    """Return the dense table of an array."""
    if values.ndim == 0:
        raise InvalidTableError("a table must have one dimension per attribute, got a single number")
    require_memory(values.size * 8, f"a table of {values.size} cells")
    return dense_table(
        _domain(attributes, values.shape), numbers_given(values.reshape(-1)).reshape(values.shape), name="count"
    )


def _domain(attributes: Any, shape: Sequence[int]) -> Domain:
    names = names_given(attributes, len(shape))
    labels = (
        {name: list(found) for name, found in attributes.items()}
        if isinstance(attributes, Mapping)
        else {name: list(range(size)) for name, size in zip(names, shape, strict=True)}
    )
    for name, size in zip(names, shape, strict=True):
        if len(labels[name]) != size:
            raise InvalidOptionError(f"attribute {name!r} has {len(labels[name])} labels for {size} cells")
        check_attribute(name, plain_index(labels[name]))
    return Domain(names, tuple(plain_index(labels[name]) for name in names))


def names_given(attributes: Any, count: int) -> tuple[str, ...]:
    """Return so many names of attributes, or raise InvalidOptionError where they are missing or others."""
    if attributes is None:
        raise InvalidOptionError(f"the labels need attribute names: give attributes, {count} names")
    names = as_attributes(tuple(attributes) if isinstance(attributes, Mapping) else attributes)
    if len(names) != count:
        raise InvalidOptionError(f"there are {count} attributes, but {len(names)} names: {', '.join(names)}")
    for name in names:
        check_attribute(name, pd.Index([]))
    return names


def numbers_given(values: Any) -> FloatArray:
    """Return numbers as finite float64, or raise InvalidTableError."""
    if values.dtype.kind == "O":
        try:
            values = np.array([float(value) for value in values])
        except (TypeError, ValueError):
            raise InvalidTableError("the counts of a table must be numbers") from None

    def fail(place: int, what: str) -> NoReturn:
        raise InvalidTableError(f"number {place} (counted from 0) {what}")

    found = as_float64(values, fail)
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        fail(int(wrong[0]), f"is {found[wrong[0]]}: give 0, or remove the profile")
    return found
