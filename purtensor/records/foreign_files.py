"""Files of spreadsheets and of statistics programs, read whole by the libraries that know them."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from purtensor.errors import FileFormatError
from purtensor.tables.io.read_errors import reading
from purtensor.tables.io.text_dialect import checked_names

FOREIGN: dict[str, tuple[str, str | None, str]] = {
    ".xlsx": ("Excel", "openpyxl", "excel"),
    ".dta": ("Stata", None, ""),
    ".sav": ("SPSS", "pyreadstat", "spss"),
    ".zsav": ("SPSS", "pyreadstat", "spss"),
    ".sas7bdat": ("SAS", None, ""),
    ".xpt": ("SAS", None, ""),
}
"""By ending: the program, the package that pandas needs for it, and our extra that has the package."""

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
    if package is not None and importlib.util.find_spec(package) is None:
        told = f"{path.name} is a file of {program}, which {package} reads"
        raise ImportError(f"{told}: pip install 'purtensor[{extra}]'")
    options: dict[str, Any] = {"encoding": "latin-1"} if kind in (".sas7bdat", ".xpt") else {}
    if kind == ".xlsx":  # pandas makes missing values of texts, and other names of repeated ones
        options = {"keep_default_na": False, "na_values": [""], "header": None}
    with reading(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old files, told to nobody who could change them
        frame = _READERS[kind](path, **options)
    if kind == ".xlsx":
        frame = _below_names(frame, path)
    checked_names([str(name) for name in frame.columns], path)
    return frame  # type: ignore[no-any-return]


def _below_names(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return a sheet whose first row has the names."""
    if frame.empty:
        raise FileFormatError(f"the first sheet of {path} is empty", code="empty-file", where=str(path))
    names = ["" if pd.isna(name) else str(name) for name in frame.iloc[0]]
    body = frame.iloc[1:].reset_index(drop=True).infer_objects()
    body.columns = pd.Index(names)
    return body
