"""Anything that holds a table, as a table: series, crosstabs, frames with a count column, dicts, arrays."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import xarray as xr
from scipy import sparse

from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.records.array_tables import is_pydata, names_given, numbers_given, of_array, of_coordinates, of_pydata
from purtensor.records.frames import as_frame
from purtensor.tables.coded import dense_table, domain_of, require_distinct, sparse_table
from purtensor.tables.domain import Domain, as_attributes, check_attribute
from purtensor.tables.factorize import factorize, plain_index
from purtensor.tables.store.table import StoredTable

COUNTED = ("count", "counts", "probability", "value", "values", "freq", "frequency", "n", "len", "size", "proportion")
"""What libraries call a column of counts; the first of them that a frame has is taken."""

_TOTALS = ("All", "Total", "total", "Sum")


def as_table(data: Any, attributes: Attributes | Mapping[str, Iterable[Hashable]] | None = None) -> Any:
    """Return as a table what holds one number for each combination of labels.

    Parameters
    ----------
    data
        A Series of pandas over an index of labels (`value_counts`, `groupby(...).size()`); a crosstab, whose index and
        columns are named; a frame of any library with one column of numbers beside columns of labels; a dict of
        totals, nested or with tuples for keys; an array of numpy, scipy.sparse or pydata/sparse; an array of xarray
        with named dimensions, or a stored table, which are returned as they are. What is listed twice is refused;
        what is not listed is not possible, in the sparse layout; cells of arrays and crosstabs are all possible.
    attributes
        The names of the attributes: for a frame its columns of labels (all but the counts unless given), for a dict
        one name a level, for a matrix in a frame that of the rows' labels (its index) and that of the columns', for an
        array one per dimension, best with its labels: {"sex": ["f", "m"], "age": ["y", "o"]};
        without labels they are 0, 1, 2, ... For a Series and a crosstab they are the names of the index unless given.

    Returns
    -------
    DataArray
        Sparse for what lists its profiles, dense for arrays and crosstabs.

    Raises
    ------
    InvalidTableError
        Something else, a label or a number that is missing, a combination that is listed twice, no column of numbers,
        or several.
    InvalidOptionError
        Names that are missing, or that do not fit.

    Examples
    --------
    >>> import pandas as pd
    >>> import purtensor as pt
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.as_table(people.value_counts()).to_series().to_dict()
    {('f', 'old'): 1.0, ('m', 'old'): 1.0, ('m', 'young'): 1.0}
    >>> pt.as_table(pd.crosstab(people["sex"], people["age"])).values
    array([[1., 0.],
           [1., 1.]])
    >>> pt.as_table({"nord": {"Lille": 3}, "sud": {"Nice": 2, "Pau": 1}}, ["region", "town"]).values
    array([3., 2., 1.])
    """
    if isinstance(data, StoredTable):
        return data
    if isinstance(data, xr.DataArray):
        return _of_xarray(data)
    if isinstance(data, pd.Series):
        return _of_series(data, attributes)
    if isinstance(data, Mapping):
        return _of_mapping(data, attributes)
    # before the frames: a crosstab is a frame, whose columns are labels
    if isinstance(data, pd.DataFrame) and (_is_crosstab(data) or _is_matrix(data, attributes)):
        return _of_crosstab(data, attributes)
    frame = nw.from_native(as_frame(data), pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return _of_frame(frame.collect() if isinstance(frame, nw.LazyFrame) else frame, attributes)
    if sparse.issparse(data):
        listed = data.tocoo()
        return of_coordinates((listed.row, listed.col), listed.data, listed.shape, attributes)
    if is_pydata(data):
        return of_pydata(data, attributes)
    if isinstance(data, np.ndarray | list | tuple) or hasattr(data, "__array__"):
        return of_array(np.asarray(data), attributes)
    raise InvalidTableError(
        f"a table must be a Series, a frame with a column of counts, a crosstab, a dict of totals or an array, got "
        f"{type(data).__module__}.{type(data).__qualname__}"
    )


def _of_xarray(data: xr.DataArray) -> Table:
    inner = data.data
    if is_pydata(inner):
        return of_pydata(inner, {str(name): data.indexes[name] for name in data.dims})
    domain_of(data)
    return data


def _of_series(data: pd.Series[Any], attributes: Any) -> Table:
    index = data.index
    found = list(index.names)
    names = names_given(
        found if attributes is None and all(name is not None for name in found) else attributes, len(found)
    )
    columns = [nw.from_native(pd.Series(index.get_level_values(k)), series_only=True) for k in range(len(found))]
    return _make_sparse(names, columns, numbers_given(data.to_numpy()))


def _of_mapping(data: Mapping[Any, Any], attributes: Any) -> Table:
    # nested dicts and tuples for keys come to the same: one tuple of labels per total
    flat = dict(_flatten(data, ()))
    if not flat:
        raise InvalidTableError("the dict must have at least one total, got none")
    depth = {len(key) for key in flat}
    if len(depth) > 1:
        raise InvalidTableError(
            f"the labels of a dict of totals have {' or '.join(map(str, sorted(depth)))} parts; give all the same "
            "number"
        )
    names = names_given(attributes, depth.pop())
    columns = [
        nw.from_native(pd.Series(plain_index(key[k] for key in flat)), series_only=True) for k in range(len(names))
    ]
    return _make_sparse(names, columns, numbers_given(np.array(list(flat.values()))))


def _flatten(data: Mapping[Any, Any], before: tuple[Any, ...]) -> Iterable[tuple[tuple[Any, ...], Any]]:
    for key, value in data.items():
        labels = (*before, *(key if isinstance(key, tuple) else (key,)))
        if isinstance(value, Mapping):
            yield from _flatten(value, labels)
        elif np.ndim(value):
            raise InvalidTableError(
                f"a dict of totals must have one number for each label, got {type(value).__qualname__} at {key!r}; "
                "count a dict of columns with purtensor.tabulate"
            )
        else:
            yield labels, value


def _is_crosstab(data: pd.DataFrame) -> bool:
    """Return whether the columns are the labels of an attribute: then they have its name."""
    return any(name is not None for name in data.columns.names)


def _is_matrix(data: pd.DataFrame, attributes: Any) -> bool:
    """Return whether names are given for the labels of rows and columns alike, of which none is a column."""
    if attributes is None or isinstance(attributes, Mapping | str) or data.columns.nlevels + data.index.nlevels != 2:
        return False
    named = list(attributes)
    numbers = all(pd.api.types.is_numeric_dtype(kind) for kind in data.dtypes)
    return len(named) == 2 and numbers and not set(named) & {*data.columns}


def _of_crosstab(data: pd.DataFrame, attributes: Any) -> Table:
    for axis, what in ((data.index, "row"), (data.columns, "column")):
        if len(axis) > 2 and axis[-1] in _TOTALS and np.allclose(_margin(data, what), 0):
            raise InvalidTableError(
                f"the last {what} of the crosstab, {axis[-1]!r}, has the sums of the others; leave it out: "
                f"drop({'index' if what == 'row' else 'columns'}={axis[-1]!r})"
            )
    if data.isna().to_numpy().any():
        raise InvalidTableError(
            "the crosstab has a cell without a number; set it to 0 if the combination may occur, or give the "
            "Series (before unstack), which lists only combinations that occur"
        )
    levels = [(axis, k) for axis in (data.index, data.columns) for k in range(axis.nlevels)]
    found = [axis.names[k] for axis, k in levels]
    names = names_given(
        found if attributes is None and all(name is not None for name in found) else attributes, len(found)
    )
    if data.index.nlevels == data.columns.nlevels == 1:
        factors = [
            factorize(nw.from_native(pd.Series(axis), series_only=True), name)
            for (axis, _), name in zip(levels, names, strict=True)
        ]
        _require_labels(names, [factor.codes for factor in factors])
        values = np.zeros([len(factor.categories) for factor in factors])
        if values.size != data.size:
            raise InvalidTableError("the crosstab has a repeated label, or declares categories without a row")
        values[np.ix_(factors[0].codes, factors[1].codes)] = numbers_given(data.to_numpy().reshape(-1)).reshape(
            data.shape
        )
        return dense_table(Domain(names, tuple(factor.categories for factor in factors)), values, name="count")
    # with several levels not every combination is possible: they are listed, not laid out
    pairs = [(*_tuple(row), *_tuple(column)) for row in data.index for column in data.columns]
    columns = [
        nw.from_native(pd.Series(plain_index(pair[k] for pair in pairs)), series_only=True) for k in range(len(names))
    ]
    return _make_sparse(names, columns, numbers_given(data.to_numpy().reshape(-1)))


def _margin(data: pd.DataFrame, what: str) -> Any:
    values = data.to_numpy(dtype=np.float64)
    values = values if what == "row" else values.T
    return values[-1] - values[:-1].sum(axis=0)


def _tuple(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _of_frame(frame: nw.DataFrame[Any], attributes: Any) -> Table:
    if isinstance(attributes, Mapping):
        raise InvalidOptionError("the labels of a frame are in its columns: give only their names as attributes")
    known = tuple(frame.columns)
    names = None if attributes is None else as_attributes(attributes)
    for name in names or ():
        if name not in known:
            raise InvalidOptionError(f"no column {name!r}; the frame has {', '.join(known)}")
    rest = [name for name in known if names is None or name not in names]
    numeric = [name for name in rest if frame[name].dtype.is_numeric()]
    called = [name for name in rest if name.lower() in COUNTED]
    # the only column that is left, where all others are named; else one that is called a count
    counts = next(iter(called), None) if names is None or len(rest) > 1 else next(iter(rest), None)
    if counts is None and len(numeric) == 1:
        counts = numeric[0]
    if counts is None:
        raise InvalidTableError(
            f"a frame with a count for each profile must have one column of numbers, or one called {COUNTED[0]!r}, got "
            f"{', '.join(known)}: give the columns of labels as attributes, or count records with purtensor.tabulate"
        )
    names = tuple(name for name in known if name != counts) if names is None else names
    column = frame[counts]
    if column.is_null().any():
        row = int(np.argmax(column.is_null().to_numpy()))
        raise InvalidTableError(f"column {counts!r} has no number in row {row} (counted from 0)")
    return _make_sparse(names, [frame[name] for name in names], numbers_given(np.asarray(column.to_numpy())))


def _make_sparse(names: tuple[str, ...], columns: Sequence[Any], values: FloatArray) -> Table:
    """Return the sparse table of profiles that are listed one by one."""
    factors = [factorize(column, name) for column, name in zip(columns, names, strict=True)]
    codes = tuple(factor.codes for factor in factors)
    _require_labels(names, codes)
    domain = Domain(names, tuple(factor.categories for factor in factors))
    for name, categories in zip(names, domain.categories, strict=True):
        check_attribute(name, categories)
    require_distinct(
        domain,
        codes,
        lambda _, profile: InvalidTableError(
            f"profile ({profile}) is listed twice; sum its numbers, or give the frame to purtensor.tabulate with the "
            "column of counts as weights"
        ),
    )
    _refuse_totals(names, domain, codes, values)
    # lexsort takes the last key first: the first attribute decides
    order = np.lexsort(codes[::-1])
    return sparse_table(domain, [code[order] for code in codes], values[order], name="count")


def _refuse_totals(names: Sequence[str], domain: Domain, codes: Sequence[IntArray], values: FloatArray) -> None:
    """Refuse a label such as 'Total' whose numbers sum to those of all others: it would count everyone twice."""
    for name, categories, code in zip(names, domain.categories, codes, strict=True):
        totals = np.flatnonzero(categories.isin(_TOTALS)).tolist()
        for k in totals if len(categories) > 2 else ():
            own = float(values[code == k].sum())
            # 1e-9: sums of fractions differ in their last digits
            if own > 0.0 and math.isclose(own, float(values[code != k].sum()), rel_tol=1e-9):
                raise InvalidTableError(
                    f"attribute {name!r} has the label {categories[k]!r}, whose numbers sum to those of all others; "
                    "leave such rows out"
                )


def _require_labels(names: Sequence[str], codes: Sequence[IntArray]) -> None:
    for name, code in zip(names, codes, strict=True):
        if (code < 0).any():
            raise InvalidTableError(
                f"attribute {name!r} has no label in row {int(np.argmax(code < 0))} (counted from 0); name it"
            )
