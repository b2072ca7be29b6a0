"""The two layouts of a table, and the way from each to the other."""

from __future__ import annotations

import numpy as np

from purtensor._options import check_flag, is_number
from purtensor._typing import FloatArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.tables.coded import (
    dense_table,
    domain_of,
    is_sparse,
    profile_refusal,
    read_codes,
    sparse_table,
)
from purtensor.tables.domain import PROFILE, join_some
from purtensor.tables.masses import as_float64
from purtensor.tables.memory import require_memory


def to_dense(table: Table, fill_value: float = 0.0) -> Table:
    """Return the table in the dense layout: one dimension an attribute, `fill_value` where nothing is stored.

    A dense table is returned unchanged, in float64.

    Raises
    ------
    TooLargeError
        The full table is beyond the memory that is available; nothing was allocated.
    InvalidTableError
        More attributes than an array has dimensions, a missing label, a profile that is stored twice, or values that
        are not numbers or that float64 does not hold.
    InvalidOptionError
        A `fill_value` that is not a number.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.to_dense(counts).values
    array([[1., 0.],
           [1., 1.]])
    """
    if not (is_number(fill_value) or (isinstance(fill_value, float) and np.isnan(fill_value))):
        raise InvalidOptionError(f"fill_value must be a number, or NaN, got {fill_value!r}")
    domain = domain_of(table)
    if not is_sparse(table):
        return _in_float64(table, _numbers(table))
    require_memory(
        8 * domain.size,
        f"a dense table over {describe_table(table)}, {domain.size} profiles,",
        "use the sparse layout, or a marginal",
    )
    codes = read_codes(table, domain)
    given = _numbers(table)
    try:
        values = np.full(domain.sizes, fill_value, dtype=np.float64)
    except ValueError:
        raise InvalidTableError(
            f"a dense table has one dimension per attribute, and {len(domain.sizes)} exceed the limit of numpy"
        ) from None
    values[codes] = given
    return dense_table(domain, values, name=table.name, attrs=dict(table.attrs))


def to_sparse(table: Table, keep_zeros: bool = False) -> Table:
    """Return the table in the sparse layout, without its zeros unless `keep_zeros`.

    Categories that lose their last profile stay in the domain, so that `to_dense` restores the table exactly.

    Raises
    ------
    TooLargeError
        The labels of all the profiles that stay are beyond the memory that is available; nothing was allocated.
    InvalidTableError
        A missing label, a profile that is stored twice, or values that are not numbers or that float64 does not hold.
    InvalidOptionError
        `keep_zeros` is neither True nor False.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.to_sparse(pt.to_dense(counts)).equals(counts)
    True
    """
    check_flag("keep_zeros", keep_zeros)
    domain = domain_of(table)
    if is_sparse(table):
        read_codes(table, domain)  # refuses missing labels, and profiles that are stored twice
        table = _in_float64(table, _numbers(table))
        return table if keep_zeros or np.all(table.values) else table.isel({PROFILE: np.flatnonzero(table.values)})
    values = _numbers(table)
    stored = len(values) if keep_zeros else int(np.count_nonzero(values))
    # values, positions and codes, of 8 bytes each while they are made
    require_memory(
        8 * stored * (2 + len(domain.sizes)), f"a sparse table of {stored} profiles over {describe_table(table)}"
    )
    positions = np.arange(stored) if keep_zeros else np.flatnonzero(values)
    codes = np.unravel_index(positions, domain.sizes)
    return sparse_table(domain, codes, values[positions], name=table.name, attrs=dict(table.attrs))


def _in_float64(table: Table, values: FloatArray) -> Table:
    """Return the table itself where it holds float64, else a copy that does."""
    return table if table.dtype == np.float64 else table.copy(data=values.reshape(table.shape))


def _numbers(table: Table) -> FloatArray:
    """Return the values of a table as float64, of any sign, NaN too; refused where float64 does not hold one."""
    return as_float64(np.asarray(table.values).reshape(-1), profile_refusal(table))


def describe_table(table: Table, most: int = 5) -> str:
    """Return one line about a table for messages: its attributes and sizes."""
    domain = domain_of(table)
    return join_some((f"{n} ({k})" for n, k in zip(domain.attributes, domain.sizes, strict=True)), most)
