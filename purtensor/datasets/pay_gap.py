"""The gender-pay-gap file of the Current Population Survey, which the user brings: it cannot be redistributed."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import BoolArray, IntArray, Table
from purtensor.datasets.counted import EDUCATION_GROUPS, WAGE_STUDY, choose_attributes, count_profiles, require_choice
from purtensor.datasets.sectors import CPS_SECTORS
from purtensor.errors import FileFormatError, InvalidOptionError, InvalidTableError, UnknownCategoryError
from purtensor.records.bins import age_labels, bin_labels, bin_values, check_edges
from purtensor.tables.domain import join_some
from purtensor.tables.io.path_checks import path_text, require_file
from purtensor.tables.io.read_errors import first_line, reading, require_even_rows, require_short_lines

ATTRIBUTES = (*WAGE_STUDY, "year")
"""All attributes that can be asked for."""

MISSING = "missing"
"""The category of missing values where they are asked to be one."""

_COLUMNS = {
    "wage_range": "realhrwage",
    "gender": "sex",
    "race4": "race",
    "age_group": "age",
    "education_group": "sch",
    "year": "year",
}
_CODES = {"gender": {2: "female", 1: "male"}, "race4": {1: "white", 2: "black", 3: "hispanic", 4: "other"}}
_ROWS_AT_A_TIME = 50_000
_LONGEST_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Binning:
    """How the columns of the file become attributes."""

    edges: Mapping[str, tuple[float, ...]]
    labels: Mapping[str, list[str]]
    sectors: Mapping[str, str]


def gender_pay_gap(
    path: str | Path,
    *,
    year: int | None = None,
    wage_edges: Sequence[float] = (10, 20, 30, 40),
    age_edges: Sequence[float] = (30, 50),
    education_edges: Sequence[float] = (12, 13, 16),
    sectors: Mapping[str, str] = CPS_SECTORS,
    attributes: str | Iterable[str] | None = None,
    missing: str = "raise",
) -> Table:
    """Return the paper's wage data, read from the user's own copy, as a sparse table of counts.

    The file is `CurrentPopulationSurvey.csv`, or the original `20160995_CPS_reg.dta` of openICPSR 113913. It is read
    in chunks and only in the columns that are needed; no weights are used, as in the paper.

    Parameters
    ----------
    path
        The file, .csv (also compressed, .csv.gz) or .dta.
    year
        One survey year (1981, 1990, 1999, 2007, 2009, 2011 or 2013), or None for all together.
    wage_edges
        Where a range of `realhrwage` begins, in dollars of 2010 per hour; by default <10, 10-20, 20-30, 30-40, >=40.
    age_edges
        Where an age group begins; two edges make young, middle and senior, other numbers groups like "30-39".
    education_edges
        Where a group of `sch`, years of schooling, begins; three edges make no-diploma, highschool, some-college and
        degree, other numbers groups like "12-16".
    sectors
        The sector of each industry indicator. An industry that is left out has no sector: its rows are missing.
    attributes
        What to tabulate, in this order; by default wage_range, gender, race4, age_group, education_group, sector.
        There is also year.
    missing
        What to do with rows that lack a value: "raise"; "drop" them, with their number in
        `table.attrs["dropped_rows"]`; or make them a "category" of its own, labelled "missing" and last.

    Raises
    ------
    UnreadableFileError
        The file is not there, is a folder, or may not be opened.
    FileFormatError
        Another kind of file, or a column that is needed is not there.
    InvalidTableError
        A missing value, a code that the codebook does not have, a negative wage, or a row in two sectors.
    UnknownCategoryError
        The file has no row of this year.
    UnknownAttributeError, InvalidOptionError
        An attribute that there is not, another option with a value that it cannot have.

    Examples
    --------
    >>> import pandas as pd, purtensor as pt
    >>> rows = pd.DataFrame({"year": 2013, "sex": [1, 2, 2], "realhrwage": [25.0, 8.0, 31.5]})
    >>> rows.to_csv("cps.csv")
    >>> pt.datasets.gender_pay_gap("cps.csv", attributes=["gender", "year"]).values
    array([2., 1.])
    """
    names = choose_attributes(attributes, WAGE_STUDY, ATTRIBUTES, "the gender-pay-gap data")
    require_choice(missing, "missing", ("raise", "drop", "category"))
    if not isinstance(sectors, Mapping) or not sectors:
        raise InvalidOptionError(f"sectors must be a mapping from industry indicators to sectors, got {sectors!r}")
    binning = _binning(wage_edges, age_edges, education_edges, sectors)
    industries = tuple(sectors) if "sector" in names else ()
    needed = tuple(dict.fromkeys(("year", *(_COLUMNS[name] for name in names if name != "sector"), *industries)))
    years: set[int] = set()
    parts: dict[str, list[IntArray]] = {name: [] for name in (*names, "row")}
    for chunk in _chunks(Path(path_text(path)), needed):
        _check_numbers(chunk)
        _refuse(chunk, (chunk["year"] % 1 != 0) & chunk["year"].notna(), "year is a whole number")
        years.update(chunk["year"].dropna().astype(int))
        rows = chunk if year is None else chunk[chunk["year"] == year]
        for name in names:
            parts[name].append(_codes(rows, name, binning))
        parts["row"].append(rows.index.to_numpy())
    if year is not None and year not in years:
        raise UnknownCategoryError(f"no row of the year {year!r} in {path}; it has {join_some(sorted(years), 20)}")
    codes = {name: np.concatenate(part) for name, part in parts.items() if part}
    if not codes or not len(codes["row"]):
        raise FileFormatError(f"{path} has no rows")
    return _tabulate(codes, names, binning, years, missing)


def _binning(
    wage_edges: Sequence[float],
    age_edges: Sequence[float],
    education_edges: Sequence[float],
    sectors: Mapping[str, str],
) -> _Binning:
    edges = {
        "wage_range": check_edges(wage_edges, "wage_edges"),
        "age_group": check_edges(age_edges, "age_edges"),
        "education_group": check_edges(education_edges, "education_edges"),
    }
    schooling = edges["education_group"]
    labels = {
        "wage_range": bin_labels(edges["wage_range"]),
        "age_group": age_labels(edges["age_group"]),
        "education_group": list(EDUCATION_GROUPS) if len(schooling) == 3 else bin_labels(schooling),
        "sector": list(dict.fromkeys(sectors.values())),
        **{name: list(codes.values()) for name, codes in _CODES.items()},
    }
    return _Binning(edges, labels, sectors)


def _chunks(path: Path, needed: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the needed columns of the file, some rows at a time, numbered through."""
    stata = path.suffix == ".dta"
    if not stata and ".csv" not in path.suffixes[-2:]:
        raise FileFormatError(f"{path} must be a .csv or .dta file; give the file as published")
    require_file(path, "the survey as it was published")
    with reading(path, "the survey as it was published"):
        if stata:
            # where a header is damaged, pandas lets numpy warn
            with np.errstate(all="ignore"), pd.read_stata(path, iterator=True) as reader:
                present = list(reader.variable_labels())
        else:
            present = next(csv.reader([first_line(path)], strict=True), [])
            require_short_lines(path, _LONGEST_LINE)  # a row is read whole
            require_even_rows(path)
    without = [name for name in needed if name not in present]
    if without:
        alike = [name for name in present if name.lower() in {wanted.lower() for wanted in without}]
        hint = f"; {join_some(alike)} differs by case and is another column" if alike else ""
        raise FileFormatError(f"{path} has no column {join_some(map(repr, without), 20)}{hint}")
    wanted = list(needed)
    with reading(path, "the survey as it was published"):
        if stata:
            with pd.read_stata(path, columns=wanted, chunksize=_ROWS_AT_A_TIME, convert_categoricals=False) as chunks:
                yield from chunks
        else:
            with pd.read_csv(path, usecols=wanted, chunksize=_ROWS_AT_A_TIME) as chunks:
                yield from chunks


def _check_numbers(chunk: pd.DataFrame) -> None:
    for name, column in chunk.items():
        if column.dtype.kind not in "iuf" and not column.isna().all():
            found = column.dropna().iloc[0]
            raise FileFormatError(
                f"column {name!r} holds {found!r}; it must have the numeric codes of the published file"
            )


def _codes(rows: pd.DataFrame, name: str, binning: _Binning) -> IntArray:
    """Return the category code of each row, -1 where the value is missing; for the year, the year itself."""
    if name == "sector":
        return _sector_codes(rows, binning)
    column = rows[_COLUMNS[name]].astype(np.float64)
    if name == "year":
        return column.fillna(-1).to_numpy(np.int64)
    if name in _CODES:
        order = {code: place for place, code in enumerate(_CODES[name])}
        found = column.map(order).fillna(-1)
        _refuse(rows, column.notna() & (found < 0), f"{_COLUMNS[name]} is one of {join_some(sorted(order))}")
        return found.to_numpy(np.int8)
    _refuse(rows, (column < 0) | np.isinf(column), f"{_COLUMNS[name]} is finite and not negative")
    return bin_values(column, binning.edges[name], binning.labels[name]).codes


def _sector_codes(rows: pd.DataFrame, binning: _Binning) -> IntArray:
    industries = rows[list(binning.sectors)].fillna(0)
    _refuse(rows, ~industries.isin([0, 1]).all(axis=1), "industry indicators are 0 or 1")
    labels = binning.labels["sector"]
    member = np.array([[sector == label for label in labels] for sector in binning.sectors.values()])
    of_sector = industries.to_numpy(bool) @ member
    _refuse(rows, of_sector.sum(axis=1) > 1, "a row belongs to one sector")
    codes: IntArray = np.where(of_sector.any(axis=1), of_sector.argmax(axis=1), -1).astype(np.int16)
    return codes


def _refuse(rows: pd.DataFrame, bad: pd.Series[bool] | BoolArray, rule: str) -> None:
    positions = np.flatnonzero(np.asarray(bad))
    if len(positions):
        raise InvalidTableError(f"{rule}, not so in row {rows.index[positions[0]]} (counted from 0)")


def _tabulate(
    codes: Mapping[str, IntArray], names: Sequence[str], binning: _Binning, years: set[int], missing: str
) -> Table:
    keep = np.ones(len(codes["row"]), dtype=bool)
    columns = {}
    for name in names:
        column = codes[name]
        labels: list[Any] = [*sorted(years)] if name == "year" else [*binning.labels[name]]
        if name == "year":
            column = np.where(column < 0, -1, np.searchsorted(np.array(labels), column))
        lost = column < 0
        if lost.any() and missing == "raise":
            raise InvalidTableError(
                f"attribute {name!r} is missing in {lost.sum()} rows: {join_some(codes['row'][lost])}; "
                "give missing='drop' or missing='category'"
            )
        if lost.any() and missing == "category":
            column, labels = np.where(lost, len(labels), column), [*labels, MISSING]
        else:
            keep &= ~lost
        columns[name] = pd.Categorical.from_codes(column, categories=pd.Index(labels))
    if not keep.any():
        raise InvalidTableError("every row has a missing value: missing='drop' leaves nothing")
    table = count_profiles({name: column[keep] for name, column in columns.items()}, np.ones(int(keep.sum())))
    return table.assign_attrs(dropped_rows=len(keep) - int(keep.sum())) if missing == "drop" else table
