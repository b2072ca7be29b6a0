"""Counts out of records."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import check_choice
from purtensor._typing import Attributes, Table
from purtensor.errors import InvalidOptionError, InvalidTableError, SuspiciousColumnWarning, UnknownAttributeError
from purtensor.records.batch_groups import sum_masses
from purtensor.records.bins import BinSpec, bins_of_column
from purtensor.records.files import RecordFiles, open_records, paths_in
from purtensor.records.frames import masses_of, read_records, require_aligned, series
from purtensor.records.groups import Grouped, group_files, group_lazily, lazy_frame
from purtensor.records.text_labels import SPELLINGS
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain, as_attributes, check_attribute, join_some
from purtensor.tables.factorize import Factor, factorize, plain_index
from purtensor.tables.grouping import group_profiles
from purtensor.tables.labels import MISSING_CATEGORY
from purtensor.tables.suspects import suspect

COUNT = "count"
"""The column that makes records counts, where neither attributes nor weights are named."""

MISSING_REMEDY = "give missing='drop' to drop such rows, or missing='category' to count them as a category"


def tabulate(
    records: Any,
    attributes: Attributes | None = None,
    *,
    weights: Any = None,
    missing: str = "raise",
    bins: Mapping[str, BinSpec] | None = None,
) -> Table:
    """Return the counts of the profiles that occur in records, as a sparse table in category order.

    Categoricals keep the order of their categories, also of those that do not occur; strings, integers, booleans,
    intervals and dates are sorted. Whole numbers stored as floats count as integers; other floats are refused: bin
    them first.

    Parameters
    ----------
    records
        A data frame of pandas, polars, pyarrow or DuckDB, or a dict of arrays, with one row per record. A lazy frame,
        a relation of DuckDB, a path, a list of Paths or a folder of Parquet files is counted in parts and never loaded
        completely; see `purtensor.records.files.open_records` for file formats and options of text files. Text becomes
        integers (2 and 2.0 are equal), booleans or intervals if every entry of the column can be read as such.
    attributes
        The columns to tabulate, in order; all of them (but the weights) unless given. A column called "count" holds
        the weights then, unless others are given.
    weights
        The name of a column, or an array with one finite, non-negative weight per record. Counts are then sums of
        weights, and records of weight 0 do not count. A Series of pandas has the index of the records.
    missing
        What to do with missing values: "raise"; "drop" the records that have one, with their number in
        `table.attrs["dropped_rows"]`; or make them a "category" of its own, labelled "missing" and last.
    bins
        Of columns of numbers, the increasing numbers at which a bin begins, or "quantiles:4" for four bins of about
        as many records: {"age": [30, 45]} gives '<30', '30-44' and '>=45'. The edges are in `table.attrs`.

    Warns
    -----
    SuspiciousColumnWarning
        No attribute is named, and a column looks like a weight, an identifier or a number without bins (see
        `inspect`). Or a category is a text that other programs write for a missing value, such as "?"; in text files
        this is an error.

    Raises
    ------
    InvalidTableError
        No record, missing values under "raise", values that are not categories, or weights that are negative or not
        finite.
    UnknownAttributeError
        A column that the records do not have.
    InvalidOptionError
        An invalid `missing`, or no attribute.
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
    if paths_in(records):
        records = open_records(records)
    binned = dict(bins or {})
    known = _columns_of(records)
    # tables in CSV and value_counts have their counts in a column of this name
    if weights is None and attributes is None and COUNT in known and len(known) > 1:
        weights = COUNT
    names = _attribute_names(known, attributes, weights if isinstance(weights, str) else None)
    for name in binned:
        if name not in names:
            raise UnknownAttributeError.among(name, names, "what is tabulated")
    grouped = _group(records, names, weights, binned)
    decided = isinstance(records, RecordFiles) and records.is_text
    _warn_of_suspects(grouped.factors, binned, grouped.counts.sum(), attributes, decided=decided)
    return _count(grouped, missing)


def _columns_of(records: Any) -> tuple[str, ...]:
    """Return the names of the columns of records of any kind."""
    if isinstance(records, RecordFiles):
        return records.names
    lazy = lazy_frame(records)
    return read_records(records).names if lazy is None else tuple(lazy.collect_schema().names())


def _group(records: Any, names: tuple[str, ...], weights: Any, bins: Mapping[str, BinSpec]) -> Grouped:
    """Return the profiles of records; of those in memory each record is one."""
    lazy = None if isinstance(records, RecordFiles) else lazy_frame(records)
    if lazy is None and not isinstance(records, RecordFiles):
        return _group_in_memory(records, names, weights, bins)
    if weights is not None and not isinstance(weights, str):
        raise InvalidOptionError(
            "the weights of records that are not in memory must be one of their columns: give its name"
        )
    if lazy is None:
        return group_files(records, names, weights, bins)
    if bins:
        raise InvalidOptionError("bins support files and frames in memory: collect the lazy frame first")
    return group_lazily(lazy, names, weights)


def _group_in_memory(records: Any, names: tuple[str, ...], weights: Any, bins: Mapping[str, BinSpec]) -> Grouped:
    require_aligned(records, weights)
    by_name = [weights] if isinstance(weights, str) else []
    columns = read_records(records).select([*names, *by_name])
    made = {name: bins_of_column(columns[name], name, spec) for name, spec in bins.items()}
    factors = {name: made[name][0] if name in made else factorize(columns[name], name) for name in names}
    rows = len(factors[names[0]].codes)
    masses = None
    if weights is not None and rows:
        # of all records: a weight that is not a mass is refused even where its record is dropped
        masses = masses_of(columns[weights] if by_name else series(weights, "weights"), rows)
    absent = {name: factor.missing_rows() for name, factor in factors.items()}
    missing = {
        name: f"{len(where)} of {rows} rows ({join_some(where, 5)})" for name, where in absent.items() if len(where)
    }
    return Grouped(factors, np.ones(rows), masses, missing, {name: own for name, (_, own) in made.items()})


def _warn_of_suspects(
    factors: Mapping[str, Factor],
    bins: Mapping[str, BinSpec],
    rows: float,
    attributes: Attributes | None,
    *,
    decided: bool = False,
) -> None:
    """Warn of cells that other programs write for missing values, and of columns that are hardly attributes.

    The latter where all columns are taken because none was named; the former unless it was `decided` what they mean.
    """
    for name, factor in factors.items() if not decided else ():
        labels = factor.categories.tolist()
        spelled = [repr(label) for label in labels if isinstance(label, str) and label.strip() in SPELLINGS]
        if spelled:
            told = (
                f"column {name!r} has the category {join_some(spelled)}, which other programs write for missing values"
            )
            # 3: the line that called tabulate
            warnings.warn(f"{told}; replace it by None if it is missing", SuspiciousColumnWarning, stacklevel=3)
    for name, factor in factors.items() if attributes is None else ():
        found = None if name in bins else suspect(name, factor.categories, int(rows))
        declared = factor.categories.dtype.kind == "f"  # fractions are categories where a categorical says so
        if found is not None and not declared:
            warnings.warn(f"{found}", SuspiciousColumnWarning, stacklevel=3)


def _count(grouped: Grouped, missing: str) -> Table:
    """Return the counts of grouped records, those of missing values as `missing` says."""
    if not len(grouped.counts):
        raise InvalidTableError("the records are empty: there is nothing to count")
    names, factors = tuple(grouped.factors), list(grouped.factors.values())
    masses = grouped.counts if grouped.masses is None else grouped.masses
    attrs: dict[str, Any] = {f"bins of {name}": str(bins) for name, bins in grouped.bins.items()}
    if missing == "category":
        factors = [_missing_as_category(factor, name) for name, factor in grouped.factors.items()]
    elif missing == "drop":
        # one missing value takes the whole record out
        complete = np.logical_and.reduce([factor.codes >= 0 for factor in factors])
        attrs["dropped_rows"] = int(grouped.counts[~complete].sum())
        if not complete.any():
            raise InvalidTableError("every record has a missing value: missing='drop' leaves nothing")
        factors = [Factor(factor.codes[complete], factor.categories) for factor in factors]
        masses = masses[complete]
    elif grouped.missing:
        told = join_some([f"attribute {name!r} is missing in {where}" for name, where in grouped.missing.items()], 5)
        counted = "; rows are counted from 0" if "rows" in told else ""
        raise InvalidTableError(
            f"{told}{counted}; {MISSING_REMEDY}", code="missing-values", where=told, hint=MISSING_REMEDY
        )
    domain = Domain(names, tuple(factor.categories for factor in factors))
    for name, categories in zip(names, domain.categories, strict=True):
        check_attribute(name, categories)
    group, codes = group_profiles([factor.codes for factor in factors], domain.sizes)
    counts = sum_masses(masses, group, len(codes[0]))
    # a profile of which all records have weight 0 did not occur
    positive = counts > 0
    if not positive.any():
        raise InvalidTableError("all weights are 0: there is nothing to count")
    if not positive.all():
        codes, counts = tuple(code[positive] for code in codes), counts[positive]
    return sparse_table(domain, codes, counts, name="count", attrs=attrs)


def _attribute_names(known: tuple[str, ...], attributes: Attributes | None, weight: str | None) -> tuple[str, ...]:
    names = as_attributes(known if attributes is None else attributes)
    if attributes is None:
        names = tuple(name for name in names if name != weight)
    for name in names if weight is None else (*names, weight):
        if name not in known:
            raise UnknownAttributeError.among(name, known, "this set of records")
        # the name alone: labels are checked once they are known
        check_attribute(name, pd.Index([]))
    if weight is not None and weight in names:
        raise InvalidOptionError(f"column {weight!r} is named both as an attribute and as the weights")
    if not names:
        raise InvalidOptionError("attributes must name at least one column, got none")
    return names


def _missing_as_category(factor: Factor, attribute: str) -> Factor:
    rows = factor.missing_rows()
    if len(rows) == 0:
        return factor
    labels = factor.categories.tolist()
    if MISSING_CATEGORY in [label for label in labels if isinstance(label, str)]:
        raise InvalidTableError(
            f"attribute {attribute!r} has both a category {MISSING_CATEGORY!r} and missing values; rename the "
            "category first"
        )
    codes = factor.codes.copy()
    codes[rows] = len(labels)
    return Factor(codes, plain_index([*labels, MISSING_CATEGORY]))
