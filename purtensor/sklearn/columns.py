"""Rows as scikit-learn gets them, arrays or data frames, as columns of category codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.exceptions import DuplicateError
from sklearn.utils.validation import _check_sample_weight, validate_data

from purtensor._options import is_count
from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.records.bins import MOST_BINS, bin_labels, quantile_edges
from purtensor.tables.domain import PROFILE, check_attribute, is_boolean
from purtensor.tables.factorize import factorize
from purtensor.tables.translate import category_map


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """How the values of one column become categories.

    Attributes
    ----------
    name
        The name of the attribute.
    categories
        In order: those that were seen, or the labels of the bins.
    edges
        Where each bin but the first begins; None where the values themselves are the categories.
    """

    name: str
    categories: pd.Index[Any]
    edges: tuple[float, ...] | None = None

    def codes(self, values: nw.Series[Any]) -> IntArray:
        """Return the category code of each value, -1 where it is unknown."""
        if self.edges is not None:
            if not is_numeric(values):
                raise InvalidTableError(
                    f"column {self.name!r} was fitted to numbers, but now has {values.dtype} values"
                )
            found = numbers(values)
            codes = np.searchsorted(np.array(self.edges), found, side="right")
            # missing, where that is a category, is the one after the last bin
            codes[np.isnan(found)] = len(self.edges) + 1
            return np.asarray(codes)
        self._require_kind(values)
        if is_numeric(values) and not values.dtype.is_integer():  # between the known ones: unknown, no error
            exact = values.to_numpy() if isinstance(values.dtype, nw.Decimal) else numbers(values)
            place, distinct = pd.factorize(exact)
            return np.asarray(category_map(pd.Index(distinct), self.categories)[place])
        factor = factorize(values, self.name)
        return np.asarray(category_map(factor.categories, self.categories)[factor.codes])

    def _require_kind(self, values: nw.Series[Any]) -> None:
        """Refuse text where numbers were, and numbers where text was: every row would count as never seen."""
        known = {_kind_of(label) for label in self.categories}
        came = "numbers" if is_numeric(values) else _KINDS.get(type(values.dtype), "")
        if came and known and "" not in known and came not in known:
            raise InvalidTableError(
                f"column {self.name!r} had {' and '.join(sorted(known))} when it was fitted, but now has {came}"
            )


_KINDS = {nw.Boolean: "truth values", nw.String: "text"}


def _kind_of(label: Any) -> str:
    """Return what a category is in words, nothing where it may be compared with others."""
    if isinstance(label, str):
        return "text"
    if is_boolean(label):
        return "truth values"
    return "numbers" if isinstance(label, int | float) else ""


def read_columns(estimator: Any, rows: Any, *, reset: bool) -> tuple[list[str], list[nw.Series[Any]]]:
    """Return the names and the columns of X, checked as scikit-learn does, without missing or infinite values.

    Columns of arrays, and of frames whose names are not text, are called x0, x1 and so on.
    """
    names, columns = open_columns(estimator, rows, reset=reset)
    for name, column in zip(names, columns, strict=True):
        refuse_missing(name, column)
    return names, columns


def open_columns(
    estimator: Any, rows: Any, *, reset: bool, allow_missing: bool = False
) -> tuple[list[str], list[nw.Series[Any]]]:
    """Return the names and the columns of X as they are, the number and the names of the columns checked."""
    try:
        frame = nw.from_native(rows, eager_only=True, pass_through=True)
    except DuplicateError as error:
        raise InvalidTableError(f"X must not have two columns of the same name: {error}") from None
    if isinstance(frame, nw.DataFrame):
        validate_data(estimator, rows, "no_validation", reset=reset, skip_check_array=True)
        if len(frame) == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={frame.shape}) while a minimum of 1 is required")
        if all(isinstance(name, str) for name in frame.columns):
            for name in attribute_names(frame.columns):
                check_attribute(name, pd.Index([]))
            return list(frame.columns), [frame[name] for name in frame.columns]
        # as scikit-learn, which has no feature_names_in_ for such frames
        positions = [f"x{i}" for i in range(len(frame.columns))]
        return positions, [frame[:, i] for i in range(len(frame.columns))]
    finite = "allow-nan" if allow_missing else True
    array = validate_data(estimator, rows, "no_validation", reset=reset, dtype=None, ensure_all_finite=finite)
    fields = [pd.Series(array[:, i]).infer_objects() for i in range(array.shape[1])]
    # of an array the names are those of the frame that was fitted, if it was one
    names = [str(name) for name in getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(len(fields))])]
    return names, [nw.from_native(field, series_only=True) for field in fields]


def attribute_names(columns: Sequence[str]) -> list[str]:
    """Return the attributes that columns become: their names, but for one that sparse tables take for themselves."""
    return [free_name(name, [*columns, PROFILE]) if name == PROFILE else name for name in columns]


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name that is not taken: itself, or with underscores behind it."""
    while name in taken:
        name += "_"
    return name


def fit_column(name: str, values: nw.Series[Any], bins: int | None, weights: FloatArray) -> Column:
    """Return how a column becomes categories: by bins of near-equal weight if it has fractions, else by value."""
    if bins is not None and is_numeric(values) and has_fractions(numbers(values)):
        edges = quantile_edges(numbers(values), weights, bins)
        return Column(name, pd.Index(label_bins(edges)), edges)
    return Column(name, factorize(values, name).categories)


def label_bins(edges: tuple[float, ...]) -> list[str]:
    """Return the labels of bins; of values that were all equal there is one bin."""
    return bin_labels(edges) if edges else ["all"]


def check_bins(bins: object) -> None:
    """Refuse what is no number of bins."""
    if not (is_count(bins) and 1 <= bins <= MOST_BINS):
        raise InvalidOptionError(f"bins must be a whole number from 1 to {MOST_BINS:,}, got {bins!r}")


def check_weights(sample_weight: Any, rows: int) -> FloatArray:
    """Return the weight of each row, checked by scikit-learn; a row of weight 0 is as good as none."""
    # of the rows it needs their number only
    weights: FloatArray = _check_sample_weight(
        sample_weight, np.empty((rows, 1)), dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise InvalidOptionError("sample_weight must be positive in at least one row, got 0 in all")
    return weights


def is_numeric(values: nw.Series[Any]) -> bool:
    """Return whether a column has numbers: not truth values or categoricals."""
    return bool(values.dtype.is_numeric())


def numbers(values: nw.Series[Any]) -> FloatArray:
    """Return a numeric column as float64, NaN where it is missing."""
    return np.asarray(values.cast(nw.Float64).to_numpy(), dtype=np.float64)


def has_fractions(values: FloatArray) -> bool:
    """Return whether some number is not whole."""
    present = values[~np.isnan(values)]
    return bool((present != np.floor(present)).any())


def refuse_missing(name: str, values: nw.Series[Any]) -> None:
    """Refuse a column with missing or infinite values, in scikit-learn's words."""
    # scikit-learn's own check would turn the columns into an array of one type
    bad = values.is_null().to_numpy()
    if is_numeric(values):
        bad = bad | ~np.isfinite(numbers(values))
    where = np.flatnonzero(bad)
    if len(where):
        raise InvalidTableError(
            f"Input X contains NaN or infinity: column {name!r} in row {where[0]} (counted from 0), and {len(where)} "
            "rows in all; remove such rows, or make missing values a category with Binner(missing='category')"
        )


def codes_of(columns: Sequence[Column], values: Sequence[nw.Series[Any]]) -> list[IntArray]:
    """Return the category codes of all columns, -1 where a value is unknown."""
    return [column.codes(series) for column, series in zip(columns, values, strict=True)]
