"""Counts out of records."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from purtensor._options import check_choice
from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError, UnknownAttributeError
from purtensor.kernels.sums import group_sums
from purtensor.tables.coded import check_attribute, sparse_table
from purtensor.tables.domain import Domain, listed, named_attributes
from purtensor.tables.factorize import Factor, factorize, plain_index
from purtensor.tables.grouping import group_profiles
from purtensor.tables.io.streaming import group_records, is_text, lazy_records, recognised
from purtensor.tables.masses import LARGEST_EXACT_INTEGER, as_masses
from purtensor.tables.records import read_records, require_aligned, series

MISSING_CATEGORY = "missing"
"""The label of missing values under `missing="category"`."""

MISSING_REMEDY = "give missing='drop' to leave such rows out, or missing='category' to count them as a category"


def tabulate(
    records: Any, attributes: Attributes | None = None, *, weights: Any = None, missing: str = "raise"
) -> Table:
    """Return the counts of the profiles that occur in records, as a sparse table in category order.

    Categoricals keep the order of their categories, also of those that do not occur; strings, integers, booleans,
    intervals and dates are sorted. Whole numbers stored as floats count as integers; other floats are refused: bin
    them first.

    Parameters
    ----------
    records
        A data frame of pandas, polars, pyarrow or DuckDB, or a dict of arrays: one row a record. A lazy frame, a
        relation of DuckDB, a path (.parquet, .csv, .csv.gz, with wildcards) or a list of Paths is counted where it
        lies, never held whole; text in a CSV file becomes integers or booleans where every entry is one.
    attributes
        The columns to tabulate, in order; all of them (but the weights) unless given.
    weights
        The name of a column, or an array with one finite, non-negative weight a record. Counts are then sums of
        weights, and records of weight 0 do not count. A Series of pandas has the index of the records.
    missing
        What to do with missing values: "raise"; "drop" the records that have one, with their number in
        `table.attrs["dropped_rows"]`; or make them a "category" of its own, labelled "missing" and last.

    Raises
    ------
    InvalidTableError
        No record, missing values under "raise", labels that name no category, or weights that are no masses.
    UnknownAttributeError
        A column that the records do not have.
    InvalidOptionError
        Another word for `missing`, or no attribute.
    UnreadableFileError
        A file of records that is not there, is a folder, or may not be opened.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "old"]})
    >>> counts.to_series().to_dict()
    {('f', 'old'): 1.0, ('m', 'old'): 2.0}
    """
    check_choice("missing", missing, ("raise", "drop", "category"))
    lazy = lazy_records(records)
    if lazy is not None:
        return _streamed(lazy, attributes, weights, missing, from_text=is_text(records))
    source = read_records(records)
    require_aligned(records, weights)
    weight_column = weights if isinstance(weights, str) else None
    names = _attribute_names(source.names, attributes, weight_column)
    columns = source.select([*names, weight_column] if weight_column else names)
    factors = [factorize(columns[name], name) for name in names]
    rows = len(factors[0].codes)
    if rows == 0:
        raise InvalidTableError("the records are empty: there is nothing to count")
    masses = None
    if weights is not None:
        masses = _masses(columns[weight_column] if weight_column else series(weights, "weights"), rows)
    attrs: dict[str, Any] = {}
    if missing == "raise":
        _refuse_missing(names, factors)
    elif missing == "category":
        factors = [_missing_as_category(factor, name) for name, factor in zip(names, factors, strict=True)]
    else:
        complete = np.logical_and.reduce([factor.codes >= 0 for factor in factors])
        factors = [Factor(factor.codes[complete], factor.categories) for factor in factors]
        masses = masses if masses is None else masses[complete]
        attrs["dropped_rows"] = rows - int(complete.sum())
        if attrs["dropped_rows"] == rows:
            raise InvalidTableError(f"each of the {rows} records has a missing value: dropping them leaves nothing")
    return _counted(names, factors, masses, attrs)


def _streamed(
    lazy: nw.LazyFrame[Any], attributes: Attributes | None, weights: Any, missing: str, *, from_text: bool
) -> Table:
    """Return the counts of records that their engine groups."""
    if weights is not None and not isinstance(weights, str):
        raise InvalidOptionError("weights of records that are not in memory are one of their columns: give its name")
    names = _attribute_names(tuple(lazy.collect_schema().names()), attributes, weights)
    grouped = group_records(lazy, names, weights)
    if not len(grouped.counts):
        raise InvalidTableError("the records are empty: there is nothing to count")
    columns = {name: recognised(column) if from_text else column for name, column in grouped.columns.items()}
    factors = [factorize(columns[name], name) for name in names]
    masses = grouped.counts if grouped.masses is None else grouped.masses
    complete = np.logical_and.reduce([factor.codes >= 0 for factor in factors])
    attrs: dict[str, Any] = {}
    if missing == "category":
        factors = [_missing_as_category(factor, name) for name, factor in zip(names, factors, strict=True)]
    elif missing == "drop":
        attrs["dropped_rows"] = int(grouped.counts[~complete].sum())
        if not complete.any():
            raise InvalidTableError("each record has a missing value: dropping them leaves nothing")
        factors = [Factor(factor.codes[complete], factor.categories) for factor in factors]
        masses = masses[complete]
    elif not complete.all():
        told = [
            f"attribute {name!r} is missing in {int(grouped.counts[factor.codes < 0].sum())} records"
            for name, factor in zip(names, factors, strict=True)
            if (factor.codes < 0).any()
        ]
        raise InvalidTableError(f"{listed(told, 5)}; {MISSING_REMEDY}")
    return _counted(names, factors, masses, attrs)


def _counted(names: tuple[str, ...], factors: list[Factor], masses: FloatArray | None, attrs: dict[str, Any]) -> Table:
    domain = Domain(names, tuple(factor.categories for factor in factors))
    for name, categories in zip(names, domain.categories, strict=True):
        check_attribute(name, categories)
    group, codes = group_profiles([factor.codes for factor in factors], domain.sizes)
    if masses is None:
        return sparse_table(domain, codes, np.bincount(group).astype(np.float64), name="count", attrs=attrs)
    counts = group_sums(masses, group, len(codes[0]))
    if not np.isfinite(counts).all():
        raise InvalidTableError("the weights of a profile sum to more than float64 can hold; divide them by a constant")
    _refuse_rounded_sums(masses, group, counts)
    positive = counts > 0
    if not positive.any():
        raise InvalidTableError("all weights are 0: there is nothing to count")
    if not positive.all():
        codes, counts = tuple(code[positive] for code in codes), counts[positive]
    return sparse_table(domain, codes, counts, name="count", attrs=attrs)


def _refuse_rounded_sums(masses: FloatArray, group: IntArray, counts: FloatArray) -> None:
    """Refuse whole weights whose sum float64 cannot hold: a count that is one off is no count."""
    for profile in np.flatnonzero(counts >= LARGEST_EXACT_INTEGER):
        own = masses[group == profile]
        if np.array_equal(own, np.floor(own)):
            exact = sum(map(int, own))
            if int(counts[profile]) != exact:
                raise InvalidTableError(
                    f"the weights of one profile sum to {exact}, an integer that float64 cannot hold exactly; "
                    "divide the weights by a constant"
                )


def _attribute_names(known: tuple[str, ...], attributes: Attributes | None, weight: str | None) -> tuple[str, ...]:
    names = named_attributes(known if attributes is None else attributes)
    if attributes is None:
        names = tuple(name for name in names if name != weight)
    for name in names if weight is None else (*names, weight):
        if name not in known:
            raise UnknownAttributeError.among(name, known, "this set of records")
        check_attribute(name, pd.Index([]))
    if weight is not None and weight in names:
        raise InvalidOptionError(f"column {weight!r} is named as an attribute and as the weights")
    if not names:
        raise InvalidOptionError("there is no attribute to tabulate")
    return names


def _masses(weights: nw.Series[Any], rows: int) -> FloatArray:
    if len(weights) != rows:
        raise InvalidTableError(f"there are {len(weights)} weights for {rows} records")
    absent = np.flatnonzero(weights.is_null().to_numpy())
    if len(absent):
        raise InvalidTableError(f"the weight of row {absent[0]} (counted from 0) is missing")

    def fail(row: int, what: str) -> NoReturn:
        raise InvalidTableError(f"the weight of row {row} (counted from 0) {what}")

    values = np.asarray(weights.to_numpy())
    if isinstance(weights.dtype, nw.Categorical | nw.Enum):
        raise InvalidTableError("weights are numbers, one a record; these are a categorical")
    if values.dtype.kind in "OUST":
        values = _as_numbers(values, fail)
    return as_masses(values, fail)


def _as_numbers(values: npt.NDArray[Any], fail: Callable[[int, str], NoReturn]) -> npt.NDArray[Any]:
    """Return numbers of Python as float64; text is none, and a whole number that float64 does not hold is refused."""
    numbers = values.tolist()
    if any(isinstance(value, str | bytes) for value in numbers):
        raise InvalidTableError("weights are numbers, one a record; these have text")
    try:
        found = np.array([float(value) for value in numbers])
    except (TypeError, ValueError, OverflowError):
        raise InvalidTableError("weights are numbers that float64 holds, one a record; these are not") from None
    for row, value in enumerate(numbers):
        if _is_whole(value) and int(found[row]) != value:
            fail(row, f"has {value}, an integer that float64 cannot hold exactly")
    return found


def _is_whole(value: Any) -> bool:
    """Tell whether a number is whole in its own digits: an integer, or such a Decimal or Fraction."""
    exact = isinstance(value, Fraction) or (isinstance(value, Decimal) and value.is_finite())
    return isinstance(value, int) or (exact and value == int(value))


def _refuse_missing(names: tuple[str, ...], factors: list[Factor]) -> None:
    rows = {name: factor.missing_rows() for name, factor in zip(names, factors, strict=True)}
    told = [
        f"attribute {name!r} is missing in {len(where)} of {len(factors[0].codes)} rows ({listed(where, 5)})"
        for name, where in rows.items()
        if len(where)
    ]
    if told:
        raise InvalidTableError(f"{listed(told, 5)}; rows are counted from 0; {MISSING_REMEDY}")


def _missing_as_category(factor: Factor, attribute: str) -> Factor:
    rows = factor.missing_rows()
    if len(rows) == 0:
        return factor
    labels = factor.categories.tolist()
    if MISSING_CATEGORY in [label for label in labels if isinstance(label, str)]:
        raise InvalidTableError(
            f"attribute {attribute!r} has a category {MISSING_CATEGORY!r} beside missing values; rename it first"
        )
    codes = factor.codes.copy()
    codes[rows] = len(labels)
    return Factor(codes, plain_index([*labels, MISSING_CATEGORY]))
