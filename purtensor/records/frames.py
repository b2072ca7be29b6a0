"""Records of any data frame library, or a dict of arrays, as columns by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from narwhals.exceptions import DuplicateError

from purtensor._typing import FloatArray
from purtensor.errors import InvalidTableError, UnknownAttributeError
from purtensor.tables.masses import as_masses


@dataclass(frozen=True, slots=True)
class Records:
    """Columns that are read on request.

    Attributes
    ----------
    names
        The names of all columns, in order.
    select
        Returns the columns with the given names, each of the same length.
    """

    names: tuple[str, ...]
    select: Callable[[Sequence[str]], dict[str, nw.Series[Any]]]


def read_records(records: Any) -> Records:
    """Return the columns of a data frame (pandas, polars, pyarrow, DuckDB and others) or of a dict of arrays.

    Raises
    ------
    InvalidTableError
        Something else, two columns of the same name, or columns of different lengths.
    """
    if isinstance(records, Mapping):
        _require_one_index(records)
        return Records(
            tuple(records),
            lambda names: _same_length({name: series(records[name], f"column {name!r}") for name in names}),
        )
    try:
        frame = nw.from_native(as_frame(records))
    except TypeError:
        raise InvalidTableError(
            f"records must be a data frame (pandas, polars, pyarrow, DuckDB) or a dict of arrays, got "
            f"{type(records).__module__}.{type(records).__qualname__}"
        ) from None
    except DuplicateError:
        names = getattr(records, "column_names", None)  # pyarrow; its `columns` are the values
        counted = Counter(names if isinstance(names, list) else records.columns)
        twice = counted.most_common(1)[0][0]
        raise InvalidTableError(f"the records have two columns {twice!r}; rename or drop one of them") from None
    if isinstance(frame, nw.LazyFrame):
        return Records(tuple(frame.collect_schema().names()), lambda names: _columns(frame.select(*names).collect()))
    return Records(tuple(frame.columns), lambda names: {name: frame[name] for name in names})


def as_frame(records: Any) -> Any:
    """Return objects with the Arrow stream interface, such as a pyarrow batch, as a table; data frames unchanged."""
    if not hasattr(records, "__arrow_c_stream__") or nw.from_native(records, pass_through=True) is not records:
        return records
    try:
        return pa.table(records)
    except pa.ArrowInvalid:  # a column alone
        return records


def series(values: Any, what: str) -> nw.Series[Any]:
    """Return one-dimensional values of any library or a list as a series; `what` names them in errors."""
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise InvalidTableError(
            f"{what} must be an array or a list with one value per record, got {type(values).__qualname__}"
        )
    if isinstance(values, pa.Array):
        # narwhals takes chunked arrays of Arrow, not single ones
        values = pa.chunked_array([values])
    native = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(native, nw.Series):
        return native
    if isinstance(values, pd.Index | pd.api.extensions.ExtensionArray):
        return nw.from_native(pd.Series(values), series_only=True)
    if not hasattr(values, "__array__"):
        # as objects, so that integers with gaps do not turn into floats
        filled = np.empty(len(values := list(values)), dtype=object)
        filled[:] = values
        return _of_pandas(filled, what)
    array = np.ma.asarray(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    # an array of numpy; records with one value per row have one dimension
    if array.ndim != 1:
        raise InvalidTableError(f"{what} has {array.ndim} dimensions; give one value per record")
    if not array.dtype.isnative:  # pandas cannot sort the bytes of another machine
        array = array.astype(array.dtype.newbyteorder("="))
    return _of_pandas(array, what)


def column_of(records: Any, values: Any, what: str) -> nw.Series[Any]:
    """Return a column of records by its name, or values beside them; `what` names these in errors.

    Raises
    ------
    UnknownAttributeError
        No such column.
    InvalidTableError
        Values that are no column, or a Series with another index than the records.
    """
    if isinstance(values, str):
        source = read_records(records)
        if values not in source.names:
            raise UnknownAttributeError.among(values, source.names, "this set of records")
        return source.select([values])[values]
    require_aligned(records, values)
    return series(values, what)


def require_aligned(records: Any, weights: Any) -> None:
    """Refuse weights in a Series whose index is another than that of the records: by place they would go to others.

    Raises
    ------
    InvalidTableError
        The indexes differ.
    """
    if isinstance(records, Mapping):
        records = next((column for column in records.values() if isinstance(column, pd.Series)), None)
    if isinstance(weights, pd.Series) and isinstance(records, pd.DataFrame | pd.Series):
        _require_same_index(records, weights, "the records", "the weights")


def in_flavour(records: Any, values: FloatArray, name: str) -> Any:
    """Return one number per record in the library of the records, with their index."""
    if isinstance(records, dict):
        first = next((column for column in records.values() if isinstance(column, pd.Series)), None)
        return values if first is None else pd.Series(values, index=first.index, name=name)
    frame = nw.from_native(records, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return values
    # pandas aligns by index, so that the result can be assigned as a column
    native = frame.to_native()
    if isinstance(native, pd.DataFrame):
        return pd.Series(values, index=native.index, name=name)
    made = nw.new_series(name, values, backend=frame.implementation)
    return made if isinstance(records, nw.DataFrame) else made.to_native()


_ARROW = (nw.Implementation.PYARROW, nw.Implementation.DUCKDB)


def frame_like(made: pd.DataFrame, like: Any) -> Any:
    """Return a frame of pandas in the library of `like`, polars or pyarrow (also for DuckDB); else as it is.

    Categoricals of text keep their categories in order.
    """
    native = nw.from_native(as_frame(like), pass_through=True)
    backend = getattr(native, "implementation", nw.Implementation.PANDAS)
    if not isinstance(native, nw.DataFrame | nw.LazyFrame) or not (backend.is_polars() or backend in _ARROW):
        return made
    labels = {str(name): kind.categories for name, kind in made.dtypes.items() if isinstance(kind, pd.CategoricalDtype)}
    plain = made.copy(deep=False)
    for name in made.columns.difference(pd.Index(labels)):
        plain[name] = made[name].astype(object).where(made[name].notna(), None)
    if backend in _ARROW:
        # without the metadata by which pandas would know its own table again
        found = nw.from_native(pa.Table.from_pandas(plain, preserve_index=False).replace_schema_metadata(None))
    else:
        found = nw.from_dict({str(name): plain[name].tolist() for name in plain}, backend=native.implementation)
        of_text = [name for name, known in labels.items() if all(isinstance(label, str) for label in known)]
        found = found.with_columns(nw.col(name).cast(nw.Enum(labels[name])) for name in of_text)
    return found if isinstance(like, nw.DataFrame | nw.LazyFrame) else found.to_native()


def _require_one_index(columns: Mapping[Any, Any]) -> None:
    series_of = {name: column for name, column in columns.items() if isinstance(column, pd.Series)}
    first = next(iter(series_of), None)
    for name, column in series_of.items():
        _require_same_index(series_of[first], column, f"column {first!r}", f"column {name!r}")


def _require_same_index(one: Any, other: pd.Series[Any], what: str, named: str) -> None:
    if len(one) == len(other) and not one.index.equals(other.index):
        raise InvalidTableError(
            f"{what} and {named} have different indexes, so their rows may not correspond; reindex one like "
            "the other, or pass to_numpy() of both to pair them by position"
        )


def _of_pandas(values: Any, what: str) -> nw.Series[Any]:
    if values.dtype.kind == "V":
        raise InvalidTableError(f"{what} holds {values.dtype}; give one value per record")
    try:
        return nw.from_native(pd.Series(values), series_only=True)
    except UnicodeEncodeError as error:
        raise InvalidTableError(f"{what} has text with an unpaired surrogate: {error.object!r:.60}") from None
    except OverflowError:  # of pandas 2, of whole numbers that it tries as dates
        return nw.from_native(pd.Series(values, dtype=object), series_only=True)


def _columns(frame: nw.DataFrame[Any]) -> dict[str, nw.Series[Any]]:
    return {name: frame[name] for name in frame.columns}


def _same_length(columns: dict[str, nw.Series[Any]]) -> dict[str, nw.Series[Any]]:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InvalidTableError(f"the columns of the records have different lengths: {told}")
    return columns


def masses_of(weights: nw.Series[Any], rows: int) -> FloatArray:
    """Return the weights of so many records as masses.

    Raises
    ------
    InvalidTableError
        Not one weight per record, or one that is missing, is no number, is negative or is not finite.
    """
    if len(weights) != rows:
        raise InvalidTableError(f"there are {len(weights)} weights for {rows} records")
    absent = np.flatnonzero(weights.is_null().to_numpy())
    if len(absent):
        raise InvalidTableError(f"the weight of row {absent[0]} (counted from 0) is missing")

    def fail(row: int, what: str) -> NoReturn:
        raise InvalidTableError(f"the weight of row {row} (counted from 0) {what}", code="bad-weight")

    values = np.asarray(weights.to_numpy())
    if isinstance(weights.dtype, nw.Categorical | nw.Enum):
        raise InvalidTableError("weights must be numbers, one per record, got a categorical")
    # numpy's kinds of objects and text, T since numpy 2
    if values.dtype.kind in "OUST":
        values = _as_numbers(values, fail)
    return as_masses(values, fail)


def _as_numbers(values: npt.NDArray[Any], fail: Callable[[int, str], NoReturn]) -> npt.NDArray[Any]:
    """Return Python numbers as float64; raise an error for text and for integers that float64 cannot represent."""
    numbers = values.tolist()
    if any(isinstance(value, str | bytes) for value in numbers):
        raise InvalidTableError("weights must be numbers, one per record, got text")
    try:
        found = np.array([float(value) for value in numbers])
    except (TypeError, ValueError, OverflowError):
        raise InvalidTableError("weights must be numbers that float64 can hold, one per record") from None
    for row, value in enumerate(numbers):
        # Python compares its integers, Decimals and Fractions exactly
        if _is_whole(value) and int(found[row]) != value:
            fail(row, f"has {value}, an integer that float64 cannot represent exactly")
    return found


def _is_whole(value: Any) -> bool:
    """Return whether a number is whole in its own digits: an integer, or such a Decimal or Fraction."""
    exact = isinstance(value, Fraction) or (isinstance(value, Decimal) and value.is_finite())
    return isinstance(value, int) or (exact and value == int(value))
