"""Tables and projections in files."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import xarray as xr

import purtensor.outofcore as outofcore
from purtensor.errors import FileFormatError, InvalidOptionError
from purtensor.projection.relaxation import Relaxation
from purtensor.projection.result import Projection, as_stored
from purtensor.projection.stored_general import KIND as GENERAL
from purtensor.projection.stored_general import general_dataset, general_projection_of
from purtensor.projection.stored_results import projection_dataset, projection_of, relaxation_dataset, relaxation_of
from purtensor.tables.io.files import ending, load_table, save_table, table_of
from purtensor.tables.io.netcdf import read_dataset, write_dataset
from purtensor.tables.io.path_checks import path_text, require_file
from purtensor.tables.store.table import StoredTable, open_table
from purtensor.tables.store.write import copy_store

_ABOVE = {"calibration": "purtensor.calibration.kept"}
"""Kinds of results that are made above this module, by the module that knows their files; imported when asked for."""


def save(table_or_result: Any, path: str | os.PathLike[str]) -> None:
    """Write a table or a result to a file, completely or not at all; the ending selects the format.

    Parameters
    ----------
    table_or_result
        A projection, which goes into .nc only: its table, reference, constraints, potentials, trace and facts (of rows
        that are no marginals with targets, coefficients and prices in numbers); or a
        relaxation, with its misses and multipliers, likewise; or a calibration, with its weights, replicates and
        groups, but without the columns of its records and the solver that was named: `load` gives its weights as an
        array, and estimates take numbers. A verdict that it has is made again by `load`, from the same tables. Or a
        table, for .nc, .parquet, .csv or .csv.gz; NetCDF
        and Parquet keep everything, a CSV profiles and values. Or what is on disk: a projection of a stored
        table, which later runs then do not touch, or a stored table.
    path
        Where to; what was there is replaced in one step. For what lies on disk a new folder.

    Raises
    ------
    InvalidOptionError
        Another ending, or something that is neither; or a projection by L-BFGS on disk: save its table.
    InvalidTableError
        Labels that this kind of file cannot keep.
    StoreError
        The folder exists already, or the disk is full.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"]})
    >>> pt.save(counts, "counts.csv")
    >>> pt.load("counts.csv").equals(counts)
    True
    """
    path_text(path)
    if isinstance(table_or_result, Projection) and table_or_result.path is not None:
        outofcore.save_stored(as_stored(table_or_result), path)
        return
    # by name, as the class stands above this module and cannot be imported here
    kind = type(table_or_result).__name__.lower()
    if isinstance(table_or_result, Projection | Relaxation) or kind in _ABOVE:
        part = "its .table can be saved there" if kind not in _ABOVE else "its .weights are a column"
        if ending(path) != ".nc":
            raise InvalidOptionError(f"a {kind} must be saved as .nc, got {os.fspath(path)!r}; {part}")
        write_dataset(_dataset_of(table_or_result), path)
        return
    if isinstance(table_or_result, StoredTable):
        copy_store(table_or_result, path)
        return
    if not isinstance(table_or_result, xr.DataArray):
        kind = type(table_or_result).__qualname__
        raise InvalidOptionError(f"save needs a table, a Projection, a Relaxation or a Calibration, got {kind}")
    save_table(table_or_result, path)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a table, a Projection, a Relaxation or a Calibration that `save` wrote, from a file or a folder.

    Raises
    ------
    UnreadableFileError
        The file does not exist, or may not be opened.
    InvalidOptionError
        An unknown file ending, or not a path.
    FileFormatError
        The file is damaged, or was not written by purtensor.
    StoreError
        The folder is neither a stored table nor a completed run.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.save(pt.tabulate({"sex": ["f", "m", "m"]}), "counts.nc")
    >>> pt.load("counts.nc").values
    array([1., 2.])
    """
    name = path_text(path)
    if os.path.isdir(name):
        is_run = os.path.exists(os.path.join(name, "problem"))
        return outofcore.load_stored(path) if is_run else open_table(path)
    # a missing store gives its own error
    if name.lower().endswith(".zarr"):
        return open_table(path)
    # names what is there instead, before a library fails in words of its own
    require_file(name, "a table or a result")
    if ending(path) != ".nc":
        return load_table(path)
    dataset = read_dataset(path)
    kind = dataset.attrs.get("kind")
    if kind not in _RESULTS and kind not in _ABOVE:
        return table_of(dataset, path)
    try:
        return _RESULTS[kind](dataset) if kind in _RESULTS else _above(str(kind), "of")(dataset)
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{os.fspath(path)}: not a complete {kind}: {error}") from error


def _above(kind: str, what: str) -> Any:
    """Return what writes ("dataset") or reads ("of") a kind of result whose folder stands above this one."""
    return getattr(import_module(_ABOVE[kind]), f"{kind}_{what}")


def _dataset_of(result: Any) -> xr.Dataset:
    kind = type(result).__name__.lower()
    if kind in _ABOVE:
        return cast("xr.Dataset", _above(kind, "dataset")(result))
    if isinstance(result, Relaxation):
        return relaxation_dataset(result)
    return general_dataset(result) if result.is_general else projection_dataset(result)


_RESULTS: dict[Any, Callable[[xr.Dataset], Projection | Relaxation]] = {
    "projection": projection_of,
    "relaxation": relaxation_of,
    GENERAL: general_projection_of,
}
"""Readers of results, by the kind that their file says it holds."""
