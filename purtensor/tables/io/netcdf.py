"""Datasets in NetCDF files, with a hash of what they say and a seal over their bytes."""

from __future__ import annotations

import os
from typing import Any

import xarray as xr

from purtensor._interrupts import hold_interrupts
from purtensor._optional import require_package
from purtensor.errors import FileFormatError, InvalidTableError, StoreError
from purtensor.tables.io.atomic import replace_file
from purtensor.tables.io.hashes import append_seal, check_seal, content_hash
from purtensor.tables.io.path_checks import require_file
from purtensor.tables.io.read_errors import reading
from purtensor.tables.memory import require_memory

FORMAT = "purtensor"
FORMAT_VERSION = 1
# NC_MAX_NAME of the library
_LONGEST_NAME = 256
_TO_OPEN = 16 << 20
"""Bytes that the NetCDF library may take: it ends the process where it gets none."""


def write_dataset(dataset: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset of numbers and text as NetCDF 4, whole or not at all.

    Raises
    ------
    ImportError
        netCDF4 is not installed.
    InvalidTableError
        A name that is too long for NetCDF.
    StoreError
        The folder is not there, or the disk is full; what was at `path` is still there.
    TooLargeError
        There is not enough memory to write.
    """
    require_package("netCDF4", "io", "NetCDF files need")
    sealed = dataset.assign_attrs(format=FORMAT, format_version=FORMAT_VERSION)
    sealed = sealed.assign_attrs(content_hash=content_hash(sealed))
    encoding: dict[str, dict[str, Any]] = {}
    for name, variable in sealed.variables.items():
        if variable.dtype.kind in "iuf":
            # no fill value: xarray would add one, and here no number stands for a missing one
            encoding[str(name)] = {"_FillValue": None, "zlib": True, "complevel": 1}
    long = [str(name) for name in sealed.variables if len(str(name).encode()) > _LONGEST_NAME]
    if long:
        raise InvalidTableError(
            f"the name {long[0][:40]!r}... is longer than the {_LONGEST_NAME} bytes that NetCDF allows; rename it"
        )
    require_memory(_TO_OPEN + sealed.nbytes, f"writing {os.fspath(path)}")
    with replace_file(path) as temporary:
        try:
            with hold_interrupts():
                sealed.to_netcdf(temporary, engine="netcdf4", format="NETCDF4", encoding=encoding)
        except (OSError, RuntimeError) as error:  # of a full disk the library says "HDF error", or "permission denied"
            raise StoreError(
                f"{os.fspath(path)} cannot be written: {error}; check that its folder exists and that the disk is not "
                "full"
            ) from error
        append_seal(temporary)


def read_dataset(path: str | os.PathLike[str]) -> xr.Dataset:
    """Return a dataset that `write_dataset` wrote, after its seal and the hash of its content were checked.

    Raises
    ------
    UnreadableFileError
        The file is not there, is a folder, or may not be opened.
    FileFormatError
        It is damaged, of another program, or of a later version of this one.
    TooLargeError
        What it declares to hold needs more memory than there is.
    """
    require_package("netCDF4", "io", "NetCDF files need")
    require_file(path, "a table or a result")
    check_seal(path)
    what = f"reading {os.fspath(path)}"
    require_memory(_TO_OPEN + os.stat(path).st_size, what)
    with reading(path, "NetCDF"):
        with hold_interrupts():
            # as it was written: xarray would make times of some numbers, and NaN of others
            opened = xr.open_dataset(path, engine="netcdf4", decode_times=False, mask_and_scale=False)
        try:
            require_memory(2 * opened.nbytes, what)  # as declared: few bytes on disk may stand for very many
            for variable in opened.variables.values():
                with hold_interrupts():
                    variable.load()
            dataset = opened.load()
        finally:
            with hold_interrupts():
                opened.close()
        found = content_hash(dataset, ignored=("content_hash",))
    if dataset.attrs.get("format") != FORMAT or "content_hash" not in dataset.attrs:
        raise FileFormatError(f"{os.fspath(path)} is a NetCDF file, but was not written by purtensor")
    version = dataset.attrs.get("format_version")
    if version != FORMAT_VERSION:
        raise FileFormatError(
            f"{os.fspath(path)} has format version {version}, but this version of purtensor reads version "
            f"{FORMAT_VERSION}; "
            "read it with the version that wrote it, or a later one"
        )
    if dataset.attrs["content_hash"] != found:
        raise FileFormatError(f"{os.fspath(path)} is damaged: its content does not match its hash")
    return dataset
