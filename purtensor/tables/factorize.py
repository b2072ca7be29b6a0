"""One column of records as category codes: order kept where the data has one, sorted where it has none."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from purtensor._typing import IntArray
from purtensor.errors import InvalidTableError
from purtensor.tables.domain import join_some
from purtensor.tables.masses import LARGEST_EXACT_INTEGER
from purtensor.tables.suspects import is_named_like_count

_KEPT = {"string", "integer", "boolean", "interval", "datetime64", "datetime", "date", "timedelta64", "timedelta"}
_NUMBERS = {"floating", "mixed-integer-float", "decimal"}


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A column as codes into its categories; -1 where the value is missing."""

    codes: IntArray
    categories: pd.Index[Any]

    def missing_rows(self) -> IntArray:
        """Return the rows without a value, counted from 0."""
        return np.flatnonzero(self.codes < 0)


def factorize(column: nw.Series[Any], attribute: str, numbers: IntArray | None = None) -> Factor:
    """Return a column as codes and categories; `numbers` are those of its rows, for messages, where it is a part.

    Categoricals keep the order of their categories, also of those that do not occur (pandas categoricals, polars
    Enum, dictionaries of Arrow, ENUM of DuckDB). A polars Categorical has no order of its own: its labels are
    sorted, as are strings, integers, booleans, intervals and dates. Whole numbers that are stored as floats, which
    is what pandas makes of integers with gaps, become integers. NaN, None, NaT and null are missing.

    Raises
    ------
    InvalidTableError
        Fractional numbers, or labels that are of several types or of none that can name a category.
    """
    if column.implementation.is_pandas_like():
        values = column.to_pandas()
        if isinstance(column.dtype, nw.Categorical) and not isinstance(values.dtype, pd.CategoricalDtype):
            values = pd.Series(values.array.__arrow_array__().to_pandas())  # a dictionary of Arrow in pandas
        if isinstance(values.dtype, pd.CategoricalDtype):
            # pandas, too, has -1 for a missing value
            codes = np.asarray(values.cat.codes, dtype=np.int64)
            return Factor(codes, _plain(values.cat.categories, attribute))
        return _sort(values, attribute, numbers)
    _refuse_compound(column.dtype, attribute)
    if column.implementation.is_pyarrow() and isinstance(column.dtype, nw.String):
        column = _without_views(column)
    rows = np.flatnonzero(~column.is_null().to_numpy())
    present = column.drop_nulls()
    codes = np.full(len(column), -1, dtype=np.int64)
    if isinstance(column.dtype, nw.String | nw.Categorical | nw.Enum):
        labels = present.unique().to_list()
        categories = _find_categories(column)
        if categories is None:
            categories = sorted(labels)
        elif None in categories:
            raise InvalidTableError(f"attribute {attribute!r} has a missing value among its categories")
        code_of = {label: code for code, label in enumerate(categories)}
        if labels:
            found = present.replace_strict(labels, [code_of[label] for label in labels], return_dtype=nw.Int64)
            codes[rows] = found.to_numpy()
        return Factor(codes, _plain(pd.Index(categories), attribute))
    whole = isinstance(column.dtype, nw.Int128 | nw.UInt128)  # numpy has no such integers
    values = pd.Series(present.to_list() if whole else present.to_numpy())
    factor = _sort(values, attribute, rows if numbers is None else numbers[rows])
    codes[rows] = factor.codes
    return Factor(codes, factor.categories)


def _without_views(column: nw.Series[Any]) -> nw.Series[Any]:
    """Return text of Arrow as text that it can compare: views it cannot, nor turn into text before version 18."""
    views = column.to_native()
    if "view" not in str(views.type):
        return column
    pyarrow = sys.modules["pyarrow"]
    return nw.from_native(pyarrow.chunked_array([views.to_pylist()], type=pyarrow.large_string()), series_only=True)


def _refuse_compound(dtype: Any, attribute: str) -> None:
    """Refuse columns of which a value is not a label: lists, structures, and times with a zone, which numpy forgets."""
    if isinstance(dtype, nw.List | nw.Array | nw.Struct):
        raise InvalidTableError(
            f"attribute {attribute!r} has {dtype} values; the labels of an attribute must all be strings, integers, "
            "booleans, intervals or dates: use one of their parts"
        )
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        raise _zone(attribute)


def _zone(attribute: str) -> InvalidTableError:
    return InvalidTableError(
        f"attribute {attribute!r} has times with a time zone; remove it with "
        "tz_convert('UTC').tz_localize(None), or the equivalent of your library"
    )


def _find_categories(column: nw.Series[Any]) -> list[Any] | None:
    if isinstance(column.dtype, nw.Enum):
        return list(column.dtype.categories)
    # of no rows pyarrow does not know the categories
    if isinstance(column.dtype, nw.Categorical) and not column.implementation.is_polars() and len(column):
        return list(column.cat.get_categories().to_list())
    return None


def _sort(values: pd.Series[Any], attribute: str, rows: IntArray | None = None) -> Factor:
    """Return the codes of values that carry no order; `rows` are their numbers in the records."""
    if isinstance(values.dtype, np.dtype) and not values.dtype.isnative:  # pandas factorizes only native bytes
        values = values.astype(values.dtype.newbyteorder("="))
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in _NUMBERS:
        values = _whole_numbers(values, attribute, rows)
    elif kind == "date":
        values = pd.to_datetime(values)
    elif kind == "empty":
        return Factor(np.full(len(values), -1, dtype=np.int64), pd.Index([], dtype=object))
    elif kind not in _KEPT:
        # a part of a long column is enough for examples
        examples = {type(value).__name__: value for value in values.dropna().head(100_000)}
        types = sorted(examples)
        parts = [f"{examples[name]!r} ({name})" for name in types]
        raise InvalidTableError(
            f"attribute {attribute!r} has labels of type {join_some(types)}, such as {join_some(parts)}; the labels "
            "of one "
            "attribute must all be strings, integers, booleans, intervals or dates: convert them to one of these",
            code="mixed-labels",
            where=attribute,
            got=types,
        )
    codes, categories = pd.factorize(values, sort=True)
    return Factor(np.asarray(codes, dtype=np.int64), _plain(pd.Index(categories), attribute))


def _whole_numbers(values: pd.Series[Any], attribute: str, rows: IntArray | None) -> pd.Series[Any]:
    if pd.api.types.is_float_dtype(values.dtype):
        plain = isinstance(values.dtype, np.dtype)
        numbers = values.to_numpy() if plain else values.to_numpy(dtype=np.float64, na_value=np.nan)
        numbers = numbers.astype(np.promote_types(numbers.dtype, np.float64), copy=False)  # float16 lacks the bound
        known = ~np.isnan(numbers)
        numbers = numbers[known]
        whole = (numbers == np.floor(numbers)) & (np.abs(numbers) <= LARGEST_EXACT_INTEGER)
    else:
        known = values.notna().to_numpy(dtype=bool)
        numbers = values.to_numpy(dtype=object)[known]
        whole = np.array([_is_exact_integer(number) for number in numbers], dtype=bool)
    if not whole.all():
        bad = int(np.argmin(whole))
        row = int(np.flatnonzero(known)[bad])
        raise fraction_error(attribute, str(numbers[bad]), int(row if rows is None else rows[row]))
    integers = np.zeros(len(values), dtype=np.int64)
    integers[known] = numbers.astype(np.int64)
    return pd.Series(pd.arrays.IntegerArray(integers, ~known))


def fraction_error(attribute: str, number: str, row: int) -> InvalidTableError:
    """Return the refusal of a number that names no category."""
    counted = f"give weights={attribute!r} if it is the number of individuals per row, or " * is_named_like_count(
        attribute
    )
    hint = (
        f"{counted}bin such an attribute with bins={{{attribute!r}: [30, 45]}} or "
        f"bins={{{attribute!r}: 'quantiles:4'}}, or convert it to text or a categorical"
    )
    return InvalidTableError(
        f"attribute {attribute!r} has the number {number} in row {row} (counted from 0), which is not a category; "
        f"{hint}",
        code="number-to-bin",
        where=attribute,
        got=number,
        hint=hint,
    )


def _is_exact_integer(number: Any) -> bool:
    """Return whether a Python number is whole and of 64 bits; floats beyond 2^53 stand for several whole numbers."""
    if isinstance(number, int | np.integer):
        return bool(-(2**63) <= number < 2**63)
    if isinstance(number, Decimal):
        return number.is_finite() and -(2**63) <= number < 2**63 and number == int(number)
    return bool(abs(number) <= LARGEST_EXACT_INTEGER and number == int(number))


def _plain(categories: pd.Index[Any], attribute: str) -> pd.Index[Any]:
    """Return labels in the plainest index that holds them, so that the same data from any library is the same."""
    if getattr(categories, "tz", None) is not None:
        raise _zone(attribute)
    if isinstance(categories, pd.PeriodIndex):
        raise InvalidTableError(
            f"attribute {attribute!r} has periods; convert them to dates with to_timestamp(), or to text"
        )
    if isinstance(categories, pd.IntervalIndex | pd.DatetimeIndex | pd.TimedeltaIndex):
        return categories.rename(None)
    labels = categories.tolist()
    try:  # pandas 3 asks as much before
        "".join(label for label in labels if isinstance(label, str)).encode()
    except UnicodeEncodeError as error:
        culprit = error.object[error.start]
        raise InvalidTableError(f"attribute {attribute!r} has text with an unpaired surrogate, {culprit!r}") from None
    return plain_index(labels)


def plain_index(labels: Iterable[Any]) -> pd.Index[Any]:
    """Return an index over labels, whose type pandas finds: strings, integers, booleans, intervals, or a mixture."""
    listed_labels = [str(label) if isinstance(label, str) else label for label in labels]
    if all(isinstance(label, datetime.date) and not isinstance(label, datetime.datetime) for label in listed_labels):
        return pd.DatetimeIndex(listed_labels) if listed_labels else pd.Index([], dtype=object)
    return pd.Index(listed_labels)
