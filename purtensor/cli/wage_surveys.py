"""The surveys of the wage study, and the groups of wages, ages, education and industries."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from purtensor._typing import Table
from purtensor.datasets.census_income import census_wage
from purtensor.datasets.pay_gap import gender_pay_gap
from purtensor.errors import FileFormatError, InvalidOptionError, InvalidTableError, UnknownCategoryError
from purtensor.studies.wage import YEARS
from purtensor.tables.io.path_checks import require_file
from purtensor.tables.io.read_errors import reading, require_even_rows, require_room

STAND_IN = "CPS 1994-95"
_MAP_COLUMNS = ["category", "group"]


def groups_asked(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `gender_pay_gap` or `census_wage` for groups; others keep their defaults.

    Raises
    ------
    InvalidOptionError
        An option that only the other data have.
    FileFormatError
        A map that is no CSV of categories and groups.
    """
    if arguments.cps is None and arguments.education_edges is not None:
        raise InvalidOptionError(
            "--education-edges applies to years of schooling, in the file of --cps; the embedded "
            "survey has categories: use --education-map"
        )
    if arguments.cps is not None and arguments.education_map is not None:
        raise InvalidOptionError(
            "--education-map applies to the categories of the embedded survey; the file of --cps has years "
            "of schooling: use --education-edges"
        )
    asked: dict[str, Any] = {
        name: None if edges is None else tuple(edges)
        for name, edges in (
            ("wage_edges", arguments.wage_edges),
            ("age_edges", arguments.age_edges),
            ("education_edges", arguments.education_edges),
        )
    }
    for name, path in (("education", arguments.education_map), ("sectors", arguments.sector_map)):
        asked[name] = None if path is None else read_map(path)
    return {name: value for name, value in asked.items() if value is not None}


def read_map(path: Path) -> dict[str, str]:
    """Return the group of each category in a CSV file with these two columns, in the file's order.

    Raises
    ------
    FileFormatError
        Other columns, an empty field, or a category twice.
    """
    # maps are read whole
    require_room(path, "a map (CSV with the columns category, group)")
    require_even_rows(path)
    with reading(path):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(frame.columns) != _MAP_COLUMNS:
        raise FileFormatError(
            f"{path.name} has the columns {', '.join(frame.columns)}; a map must have the columns category, group"
        )
    if (frame == "").to_numpy().any():
        raise FileFormatError(f"{path.name} has an empty field; every category must have a group")
    repeated = frame["category"][frame["category"].duplicated()]
    if len(repeated):
        raise FileFormatError(f"{path.name} has the category {repeated.iloc[0]!r} twice")
    return dict(zip(frame["category"], frame["group"], strict=True))


def surveys(file: Path | None, groups: Mapping[str, Any]) -> Iterator[tuple[str, Table, dict[str, str]]]:
    """Yield name, counts and source of each survey: the years of the user's file, or the embedded stand-in.

    Raises
    ------
    UnreadableFileError
        The file is not there, is a folder, or may not be opened.
    InvalidTableError
        A value is missing, or is none that the codebook has.
    UnknownCategoryError
        The file has none of the paper's years.
    """
    if file is None:
        source = {"source": "UCI Census-Income (data set 117, CC BY 4.0), embedded: hourly wages"}
        yield STAND_IN, census_wage(**groups), source
        return
    require_file(file, "the gender-pay-gap file (.csv or .dta)")
    with file.open("rb") as opened:
        source = {"source": file.name, "SHA-256 of the file": hashlib.file_digest(opened, "sha256").hexdigest()}
    # the years alone first: a wrong file is refused before it is grouped
    everything = _survey(file, attributes=["year"]).indexes["profile"].get_level_values("year")
    found = [year for year in YEARS if year in set(everything.astype(int))]
    if not found:
        raise UnknownCategoryError(f"{file} has none of the years {', '.join(map(str, YEARS))}")
    for year in found:
        yield f"CPS {year}", _survey(file, year=year, **groups), source


def pool_years(file: Path | None, groups: Mapping[str, Any]) -> Table:
    """Return the counts of all years together: of the user's file, or of the embedded stand-in."""
    return census_wage(**groups) if file is None else _survey(file, **groups)


def years_of_stand_in(groups: Mapping[str, Any]) -> dict[int, Table]:
    """Return the counts of each year of the embedded stand-in."""
    return {year: census_wage(year=year, **groups) for year in (1994, 1995)}


def _survey(file: Path, **asked: Any) -> Table:
    """Return the counts of the file; the error for missing values gives advice without an option for them."""
    try:
        return gender_pay_gap(file, **asked)
    except InvalidTableError as error:
        remedy = f"remove such rows from {file.name} first"
        raise InvalidTableError(str(error).replace("give missing='drop' or missing='category'", remedy)) from None
