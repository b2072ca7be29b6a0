"""From a result back to the records: which profile each record has, and what weight the result gives it."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from purtensor._options import check_choice
from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidTableError, UnknownAttributeError, UnknownCategoryError
from purtensor.kernels.reductions import group_sums
from purtensor.records.bins import bins_labelled, numbers_to_bin
from purtensor.records.files import RecordFiles, open_records, paths_in
from purtensor.records.frames import as_frame, column_of, in_flavour, masses_of, read_records
from purtensor.records.groups import lazy_frame
from purtensor.tables.coded import CodedTable, encode
from purtensor.tables.factorize import Factor, factorize
from purtensor.tables.labels import MISSING_CATEGORY
from purtensor.tables.translate import category_map, find_profiles


def weights(
    records: Any,
    result: Any,
    *,
    weights: Any = None,
    kind: str = "weight",
    total: str = "records",
    missing: str = "raise",
) -> Any:
    """Return weights with which the records have the distribution of a result.

    A record of profile x gets d p(x) / f(x), where d is its design weight, p the result and f the distribution of the
    records themselves; attributes and categories are matched by name and label, in any order. Mass of the result on
    profiles without records is not assigned, so the weights sum to less by this mass: see `unreached_mass`.

    Parameters
    ----------
    records
        The records that the result was made of, or others with its attributes: a frame, a dict of arrays, or files.
        Columns that are not attributes are ignored. Numbers are binned like the attribute of the result.
    result
        A Projection, a Relaxation, or a table.
    weights
        The design weights, as in `tabulate`; 1 each when None.
    kind
        "weight", or "factor" for the ratio to the design weights, which is about 1 on average.
    total
        The sum of the weights: that of the "records", or that of the "result".
    missing
        As in `tabulate`; under "drop" a record with a missing value gets the weight 0.

    Returns
    -------
    Series or array
        One number per record, in their order, index and library: pandas for files, pyarrow for DuckDB, a numpy array
        for a dict of arrays.

    Raises
    ------
    UnknownAttributeError
        The records lack an attribute of the result.
    UnknownCategoryError
        A record has a category that the result does not know.
    InvalidTableError
        Not a result, a missing value under "raise", or weights that are negative or not finite.
    InvalidOptionError
        An invalid `kind`, `total` or `missing`.

    Examples
    --------
    >>> import purtensor as pt
    >>> people = {"hired": ["no", "no", "yes", "no", "yes"], "sex": ["f", "f", "f", "m", "m"]}
    >>> fair = pt.project(pt.tabulate(people), pt.pur(pt.tabulate(people), response="hired", protected="sex"))
    >>> pt.weights(people, fair).round(2).tolist()
    [0.9, 0.9, 1.2, 1.2, 0.8]
    """
    check_choice("kind", kind, ("weight", "factor"))
    check_choice("total", total, ("records", "result"))
    coded, records = encode_result(result), in_memory(records)
    rows = profile_rows(records, coded, missing=missing)
    design = design_weights(records, weights, len(rows))
    ratio, sums = _ratios(coded, rows, design)
    if kind == "weight":
        # a ratio is of shares to shares, so that the weights sum to what the design weights do
        ratio = ratio * design * (coded.total / sums if total == "result" else 1.0)
    return in_flavour(records, ratio, kind)


def unreached_mass(records: Any, result: Any, *, missing: str = "raise") -> float:
    """Return the share of a result's mass on profiles that no record has.

    Raises
    ------
    PurtensorError
        As `weights`.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.records.weights import unreached_mass
    >>> people = {"sex": ["f", "f"]}
    >>> unreached_mass(people, pt.tabulate({"sex": ["f", "m"]}, weights=[3, 1]))
    0.25
    """
    coded = encode_result(result)
    rows = profile_rows(in_memory(records), coded, missing=missing)
    reached = np.unique(rows[rows >= 0])
    return float(1 - coded.values[reached].sum() / coded.total)


def encode_result(result: Any) -> CodedTable:
    """Return the distribution of a result, or a table, on its support."""
    return encode(getattr(result, "table", result))


def in_memory(records: Any) -> Any:
    """Return records as a frame: those of files are read, lazy ones collected (a relation of DuckDB as pyarrow)."""
    if paths_in(records):
        records = open_records(records)
    if isinstance(records, RecordFiles):
        return records.to_pandas()
    records = as_frame(records)
    lazy = lazy_frame(records)
    return records if lazy is None else lazy.collect().to_native()


def profile_rows(records: Any, coded: CodedTable, *, missing: str = "raise") -> IntArray:
    """Return the row of a result's support that each record has; -1 where it has no mass there, or a gap was dropped.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError, InvalidTableError, InvalidOptionError
        As `weights`.
    """
    check_choice("missing", missing, ("raise", "drop", "category"))
    names = coded.domain.attributes
    source = read_records(records)
    for name in names:
        if name not in source.names:
            raise UnknownAttributeError.among(name, source.names, "this set of records")
    columns = source.select(list(names))
    codes, gaps = [], None
    for name, categories in zip(names, coded.domain.categories, strict=True):
        column = columns[name]
        # records with numbers are put into the bins that the labels of the result stand for
        bins = bins_labelled(categories) if _may_be_numbers(column) else None
        factor = factorize(column, name) if bins is None else bins.factor(numbers_to_bin(column, name))
        absent = factor.codes < 0
        if absent.any() and missing == "raise":
            raise InvalidTableError(
                f"attribute {name!r} is missing in row {int(np.argmax(absent))} (counted from 0); give missing='drop' "
                "or missing='category'",
                code="missing-values",
                where=name,
            )
        # code -1, a missing value, reads the -1 at the end
        onto = np.append(category_map(factor.categories, categories), -1)
        own = onto[factor.codes]
        if missing == "category" and absent.any():
            own[absent] = category_map(pd.Index([MISSING_CATEGORY], dtype=object), categories)[0]
        _require_known(name, own, factor, absent, missing, categories)
        gaps = absent if gaps is None else gaps | absent
        codes.append(own)
    found = find_profiles(coded.codes, codes)
    return np.where(gaps, -1, found) if missing == "drop" and gaps is not None else found


def _may_be_numbers(column: Any) -> bool:
    return column.dtype.is_numeric() or isinstance(column.dtype, nw.Object)  # numbers of a list are objects


def _require_known(
    name: str, own: IntArray, factor: Factor, absent: Any, missing: str, categories: pd.Index[Any]
) -> None:
    unknown = np.flatnonzero((own < 0) & ~(absent if missing == "drop" else np.zeros(len(own), dtype=bool)))
    if len(unknown):
        row = int(unknown[0])
        label = MISSING_CATEGORY if absent[row] else factor.categories[factor.codes[row]]
        raise UnknownCategoryError.among(
            label, name, categories, f"which row {row} of the records (counted from 0) has"
        )


def design_weights(records: Any, values: Any, rows: int) -> FloatArray:
    """Return the design weights of so many records, from a column by name or an array; 1 each for None.

    Raises
    ------
    UnknownAttributeError, InvalidTableError
        No such column, not one number per record, or weights that are not masses.
    """
    if values is None:
        return np.ones(rows)
    return masses_of(column_of(records, values, "weights"), rows)


def _ratios(coded: CodedTable, rows: IntArray, design: FloatArray) -> tuple[FloatArray, float]:
    """Return p(x) / f(x) of each record, 0 where p has no mass, and the sum of the design weights that take part."""
    inside = rows >= 0
    sums = group_sums(design[inside], rows[inside], len(coded.values))
    whole = float(design.sum())
    if not whole > 0:
        raise InvalidTableError("all weights are 0: at least one must be positive")
    ratio = np.zeros(len(rows))
    with np.errstate(divide="ignore", invalid="ignore"):
        # profiles without records are divided by 0 and left out
        by_profile = np.where(sums > 0, coded.values / coded.total * whole / sums, 0.0)
    ratio[inside] = by_profile[rows[inside]]
    return ratio, whole
