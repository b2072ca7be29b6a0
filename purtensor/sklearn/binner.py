"""Numbers into ordered categories with readable labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from purtensor._options import check_choice
from purtensor._typing import IntArray
from purtensor.errors import InvalidOptionError, InvalidTableError, UnknownAttributeError
from purtensor.records.bins import check_edges, quantile_edges
from purtensor.sklearn.columns import (
    Column,
    check_bins,
    check_weights,
    has_fractions,
    is_numeric,
    label_bins,
    numbers,
    open_columns,
)
from purtensor.tables.labels import MISSING_CATEGORY


class Binner(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Bins numeric columns into ordered categories such as '<30', '30-55', '>=55'; other columns stay as they are.

    A data frame gives a data frame of ordered categories (the flavour that came in, or that of `set_output`); an
    array, which cannot hold them, gives their codes 0, 1, 2 and so on.

    Parameters
    ----------
    bins
        How many bins of near-equal weight a column is cut into; fewer where values repeat.
    edges
        Instead, for the columns that it names (by name or position): the increasing numbers at which a bin begins.
        An edge belongs to the bin above it.
    columns
        "fractional": bins the columns with a number that is not whole, and those with `edges`; "numeric": bins all
        columns of numbers.
    missing
        "raise", or "category": missing values become the last category, labelled "missing". Infinite values are
        refused.

    Attributes
    ----------
    edges_
        The edges of each binned column, by its name.
    categories_
        The labels of each binned column, by its name.

    Examples
    --------
    >>> import pandas as pd
    >>> import purtensor as pt
    >>> people = pd.DataFrame({"age": [22, 35, 41, 67], "sex": ["f", "m", "f", "m"]})
    >>> pt.sklearn.Binner(edges={"age": [30, 55]}).fit_transform(people)["age"].tolist()
    ['<30', '30-55', '30-55', '>=55']
    """

    def __init__(
        self,
        bins: int = 5,
        *,
        edges: Mapping[Any, Any] | None = None,
        columns: str = "fractional",
        missing: str = "raise",
    ) -> None:
        self.bins = bins
        self.edges = edges
        self.columns = columns
        self.missing = missing

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the edges of each column that is binned.

        Raises
        ------
        InvalidOptionError
            An option with a value that it cannot have.
        UnknownAttributeError
            `edges` names a column that X does not have.
        InvalidTableError
            Missing values under "raise", infinite ones, or edges for a column that has no numbers.
        """
        self._check_options()
        names, columns = self._read_columns(X, reset=True)
        weights = check_weights(sample_weight, len(columns[0]))
        given = self._check_edges(names)
        self.edges_ = {}
        for name, column in zip(names, columns, strict=True):
            if name in given:
                if not is_numeric(column):
                    raise InvalidTableError(
                        f"column {name!r} has edges, but its values are not numeric: {column.dtype}"
                    )
                self.edges_[name] = given[name]
            elif is_numeric(column):
                values = numbers(column)
                used = ~np.isnan(values) & (weights > 0)
                if self.columns == "numeric" or has_fractions(values[used]):
                    self.edges_[name] = quantile_edges(values[used], weights[used], self.bins) if used.any() else ()
        self.categories_ = {name: self._labels(edges) for name, edges in self.edges_.items()}
        return self

    def transform(self, X: Any) -> Any:
        """Return X with its binned columns as ordered categories."""
        check_is_fitted(self)
        names, columns = self._read_columns(X, reset=False)
        container = _get_output_config("transform", self)["dense"]
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if container == "default" and not isinstance(frame, nw.DataFrame):
            parts = [
                self._codes(name, column) if name in self.edges_ else column.to_numpy()
                for name, column in zip(names, columns, strict=True)
            ]
            # what is no number makes all of them objects
            return np.column_stack([part if part.dtype.kind in "iufb" else part.astype(object) for part in parts])
        if container == "pandas" or (container == "default" and frame.implementation.is_pandas_like()):
            return self._as_pandas(X, names, columns)
        return self._as_frame(names, columns, "polars" if container == "polars" else frame.implementation)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "category"
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []  # codes are integers
        return tags

    def _read_columns(self, X: Any, *, reset: bool) -> tuple[list[str], list[nw.Series[Any]]]:
        names, columns = open_columns(self, X, reset=reset, allow_missing=self.missing == "category")
        for name, column in zip(names, columns, strict=True):
            if not is_numeric(column):
                continue
            values = numbers(column)
            if np.isinf(values).any():
                raise InvalidTableError(f"Input X contains infinity: column {name!r}; all numbers must be finite")
            if np.isnan(values).any() and self.missing == "raise":
                raise InvalidTableError(
                    f"Input X contains NaN: column {name!r}; missing='category' makes missing values a category"
                )
        return names, columns

    def _codes(self, name: str, column: nw.Series[Any]) -> IntArray:
        return Column(name, pd.Index(self.categories_[name]), self.edges_[name]).codes(column)

    def _labels(self, edges: tuple[float, ...]) -> list[str]:
        return [*label_bins(edges), *([MISSING_CATEGORY] if self.missing == "category" else [])]

    def _as_pandas(self, X: Any, names: list[str], columns: list[nw.Series[Any]]) -> pd.DataFrame:
        fields = {}
        for name, column in zip(names, columns, strict=True):
            if name in self.edges_:
                categories = pd.Index(self.categories_[name])
                fields[name] = pd.Categorical.from_codes(self._codes(name, column), categories=categories, ordered=True)
            else:
                fields[name] = column.to_pandas().array
        return pd.DataFrame(fields, index=X.index if isinstance(X, pd.DataFrame) else None)

    def _as_frame(self, names: list[str], columns: list[nw.Series[Any]], backend: Any) -> Any:
        fields = []
        for name, column in zip(names, columns, strict=True):
            if name in self.edges_:
                labels = np.array(self.categories_[name], dtype=object)[self._codes(name, column)].tolist()
                # other libraries get the labels as text
                enum = nw.Enum(self.categories_[name]) if "polars" in str(backend).lower() else nw.String()
                fields.append(nw.new_series(name, labels, enum, backend=backend))
            else:
                same = column.implementation == backend or (backend == "polars" and column.implementation.is_polars())
                kept = column if same else nw.new_series(name, column.to_numpy(), backend=backend)
                fields.append(kept.alias(name))
        return nw.concat([field.to_frame() for field in fields], how="horizontal").to_native()

    def _check_options(self) -> None:
        check_bins(self.bins)
        check_choice("columns", self.columns, ("fractional", "numeric"))
        check_choice("missing", self.missing, ("raise", "category"))
        if self.edges is not None and not isinstance(self.edges, Mapping):
            raise InvalidOptionError(f"edges must be a mapping from columns to increasing numbers, got {self.edges!r}")

    def _check_edges(self, names: list[str]) -> dict[str, tuple[float, ...]]:
        positions = find_columns(list(self.edges or ()), names, "edges")
        return {
            name: check_edges(edges, f"edges[{name!r}]")
            for name, edges in zip(positions, (self.edges or {}).values(), strict=True)
        }


def find_columns(wanted: Iterable[Any], names: list[str], what: str) -> list[str]:
    """Return the names of columns that are given by name or position, in the order asked.

    Raises
    ------
    UnknownAttributeError
        A column that X does not have.
    """
    found = []
    for column in wanted:
        if isinstance(column, str) and column in names:
            found.append(column)
        elif isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < len(names):
            found.append(names[int(column)])
        else:
            raise UnknownAttributeError.among(column, names, f"{what} must name columns of X, which")
    return found
