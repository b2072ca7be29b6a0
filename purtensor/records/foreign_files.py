"""Files of spreadsheets and of statistics programs, read whole by the libraries that know them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from purtensor._optional import require_package
from purtensor.errors import FileFormatError
from purtensor.tables.io.read_errors import reading
from purtensor.tables.io.text_dialect import check_names

FOREIGN: dict[str, tuple[str, str | None, str]] = {
    ".xlsx": ("Excel", "openpyxl", "excel"),
    ".dta": ("Stata", None, ""),
    ".sav": ("SPSS", "pyreadstat", "spss"),
    ".zsav": ("SPSS", "pyreadstat", "spss"),
    ".sas7bdat": ("SAS", None, ""),
    ".xpt": ("SAS", None, ""),
}
"""By ending: the program, the package that pandas needs for it, and our extra that has the package."""

_VERSION_8 = b"HEADER RECORD*******LIBV8"
_BY_PANDAS = "in Python the frame that pandas reads of it can be given"
_IN_R = "in R, write.csv(x, 'x.csv', row.names=FALSE) writes what is read"
ELSEWHERE: dict[str, str] = {
    **dict.fromkeys((".xls", ".xlsb", ".ods"), f"save it as .xlsx; {_BY_PANDAS}"),
    **dict.fromkeys((".json", ".jsonl", ".xml", ".html", ".orc", ".h5"), _BY_PANDAS),
    **dict.fromkeys((".rds", ".rda", ".rdata"), _IN_R),
    **dict.fromkeys((".zip", ".7z", ".tar", ".xz"), "unpack it first"),
    ".por": "save it as .sav",
    ".sqlite": "give a relation of DuckDB or a frame",
}
"""What to do with files of other kinds, by ending."""

_READERS: dict[str, Callable[..., Any]] = {
    ".xlsx": pd.read_excel,
    ".dta": pd.read_stata,
    ".sav": pd.read_spss,
    ".zsav": pd.read_spss,
    ".sas7bdat": pd.read_sas,
    ".xpt": pd.read_sas,
}


def read_foreign(path: Path, kind: str) -> pd.DataFrame:
    """Return the first sheet, or the data set, of a file: labels where it has them, columns by name.

    Raises
    ------
    ImportError
        The package that reads it is not installed; the message says how to get it.
    FileFormatError
        It is damaged, or a column has no name or another's.
    """
    program, package, extra = FOREIGN[kind]
    if package is not None:
        require_package(package, extra, f"{path.name} is a file of {program}, which needs")
    # without an encoding pandas returns bytes; latin-1 has a character for each of them
    options: dict[str, Any] = {"encoding": "latin-1"} if kind in (".sas7bdat", ".xpt") else {}
    if kind == ".xlsx":  # pandas makes missing values of texts, and other names of repeated ones
        options = {"keep_default_na": False, "na_values": [""], "header": None}
    with reading(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about old files, which the user cannot change
        if kind == ".xpt":
            _refuse_version_8(path)
        frame = _READERS[kind](path, **options)
    if kind == ".xlsx":
        frame = _below_names(frame, path)
    check_names([str(name) for name in frame.columns], path)
    return frame  # type: ignore[no-any-return]


def _refuse_version_8(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(len(_VERSION_8)) == _VERSION_8:
            hint = "give the frame of pyreadstat.read_xport(path), or write version 5"
            raise FileFormatError(
                f"{path} is a SAS transport file of version 8, and 5 is read; {hint}",
                code="unknown-kind",
                where=str(path),
                expected="SAS transport file, version 5",
                got="version 8",
                hint=hint,
            )


def _below_names(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return a sheet whose first row has the names."""
    if frame.empty:
        raise FileFormatError(f"the first sheet of {path} is empty", code="empty-file", where=str(path))
    names = ["" if pd.isna(name) else str(name) for name in frame.iloc[0]]
    body = frame.iloc[1:].reset_index(drop=True).infer_objects()
    body.columns = pd.Index(names)
    return body
