"""The gender-pay-gap file of the Current Population Survey, which the user brings: it cannot be redistributed."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import Table
from purtensor.datasets.counted import EDUCATION_GROUPS, WAGE_STUDY, choose_attributes, require_choice
from purtensor.datasets.sectors import CPS_SECTORS
from purtensor.errors import FileFormatError, InvalidOptionError, InvalidTableError, UnknownCategoryError
from purtensor.records.bins import age_labels, bin_labels, bin_values, check_edges
from purtensor.records.tabulate import tabulate
from purtensor.tables.domain import join_some
from purtensor.tables.io.path_checks import path_text, require_file
from purtensor.tables.io.read_errors import first_line, reading, require_even_rows, require_short_lines

# all attributes that can be asked for
ATTRIBUTES = (*WAGE_STUDY, "year")

_COLUMNS = {
    "wage_range": "realhrwage",
    "gender": "sex",
    "race4": "race",
    "age_group": "age",
    "education_group": "sch",
    "year": "year",
}
_CODES = {"gender": {2: "female", 1: "male"}, "race4": {1: "white", 2: "black", 3: "hispanic", 4: "other"}}
# bytes: a row is read whole
_LONGEST_LINE = 1 << 20
_WHAT = "the survey as it was published"


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

    The file is `CurrentPopulationSurvey.csv`, or the original `20160995_CPS_reg.dta` of openICPSR 113913. Only the
    columns that are needed are read; no weights are used, as in the paper.

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
    industries = tuple(sectors) if "sector" in names else ()
    needed = dict.fromkeys(("year", *(_COLUMNS[name] for name in names if name != "sector"), *industries))
    edges = {
        "wage_range": check_edges(wage_edges, "wage_edges"),
        "age_group": check_edges(age_edges, "age_edges"),
        "education_group": check_edges(education_edges, "education_edges"),
    }
    rows = _read(Path(path_text(path)), list(needed))
    _refuse(rows, (rows["year"] % 1 != 0) & rows["year"].notna(), "year is a whole number")
    years = sorted(rows["year"].dropna().astype(int).unique().tolist())
    columns = {name: _column(rows, name, edges, sectors, years) for name in names}
    frame = pd.DataFrame(columns, index=rows.index)
    if year is not None:
        if year not in years:
            raise UnknownCategoryError(f"no row of the year {year!r} in {path}; it has {join_some(years, 20)}")
        frame = frame[rows["year"] == year]
    if not len(frame):
        raise FileFormatError(f"{path} has no rows")
    for name, column in frame.items() if missing == "raise" else ():
        lost = frame.index[column.isna()]  # rows of the file, whichever year is asked for
        if len(lost):
            raise InvalidTableError(
                f"attribute {name!r} is missing in {len(lost)} rows: {join_some(lost)}; "
                "give missing='drop' or missing='category'"
            )
    return tabulate(frame, names, missing=missing)


def _read(path: Path, needed: list[str]) -> pd.DataFrame:
    """Return the needed columns of the file, which are numbers."""
    stata = path.suffix == ".dta"
    if not stata and ".csv" not in path.suffixes[-2:]:
        raise FileFormatError(f"{path} must be a .csv or .dta file; give the file as published")
    require_file(path, _WHAT)
    with reading(path, _WHAT):
        if stata:
            # where a header is damaged, pandas lets numpy warn
            with np.errstate(all="ignore"), pd.read_stata(path, iterator=True) as reader:
                present = list(reader.variable_labels())
        else:
            present = next(csv.reader([first_line(path)], strict=True), [])
            require_short_lines(path, _LONGEST_LINE)
            require_even_rows(path)
    without = [name for name in needed if name not in present]
    if without:
        alike = [name for name in present if name.lower() in {wanted.lower() for wanted in without}]
        hint = f"; {join_some(alike)} differs by case and is another column" if alike else ""
        raise FileFormatError(f"{path} has no column {join_some(map(repr, without), 20)}{hint}")
    with reading(path, _WHAT):
        rows: pd.DataFrame = (
            pd.read_stata(path, columns=needed, convert_categoricals=False)
            if stata
            else pd.read_csv(path, usecols=needed)
        )
    for name, column in rows.items():
        if column.dtype.kind not in "iuf" and not column.isna().all():
            found = column.dropna().iloc[0]
            raise FileFormatError(
                f"column {name!r} holds {found!r}; it must have the numeric codes of the published file"
            )
    return rows


def _column(
    rows: pd.DataFrame, name: str, edges: Mapping[str, tuple[float, ...]], sectors: Mapping[str, str], years: list[int]
) -> pd.Categorical[Any]:
    """Return an attribute of each row; a value that is missing has no category."""
    if name == "sector":
        return _sectors(rows, sectors)
    source = _COLUMNS[name]
    column = rows[source].astype(np.float64)
    if name == "year":
        return pd.Categorical(column, categories=pd.Index(years))
    if name in _CODES:
        labels = _CODES[name]
        _refuse(rows, column.notna() & ~column.isin(list(labels)), f"{source} is one of {join_some(sorted(labels))}")
        return pd.Categorical(column.map(labels), categories=pd.Index(list(labels.values())))
    _refuse(rows, (column < 0) | np.isinf(column), f"{source} is finite and not negative")
    if name == "education_group" and len(edges[name]) == len(EDUCATION_GROUPS) - 1:
        return bin_values(column, edges[name], EDUCATION_GROUPS)
    return bin_values(column, edges[name], (age_labels if name == "age_group" else bin_labels)(edges[name]))


def _sectors(rows: pd.DataFrame, sectors: Mapping[str, str]) -> pd.Categorical[Any]:
    industries = rows[list(sectors)].fillna(0)
    _refuse(rows, ~industries.isin([0, 1]).all(axis=1), "industry indicators are 0 or 1")
    of_sector = industries.astype(bool).T.groupby(pd.Series(dict(sectors)), sort=False).any().T
    _refuse(rows, of_sector.sum(axis=1) > 1, "a row belongs to one sector")
    found = np.where(of_sector.any(axis=1), of_sector.to_numpy().argmax(axis=1), -1)
    return pd.Categorical.from_codes(found, categories=of_sector.columns)


def _refuse(rows: pd.DataFrame, bad: pd.Series[bool], rule: str) -> None:
    if bad.any():
        raise InvalidTableError(f"{rule}, not so in row {rows.index[bad][0]} (counted from 0)")
