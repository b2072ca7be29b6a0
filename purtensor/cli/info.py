"""`purtensor info`: what a bug report should say."""

from __future__ import annotations

import argparse
import os
import platform
from importlib import metadata
from importlib.resources import files

from purtensor import __version__
from purtensor._threads import thread_count
from purtensor.cli.output import show_facts
from purtensor.kernels._jit import cache_folders
from purtensor.tables.memory import available_memory, readable

REQUIRED = ("numpy", "scipy", "numba", "xarray", "pandas", "narwhals")
OPTIONAL = ("netCDF4", "zarr", "pyarrow", "matplotlib", "jinja2", "rich", "scikit-learn", "polars", "duckdb", "dask")


def run(arguments: argparse.Namespace) -> None:
    """Print versions, threads, cache, memory and embedded data."""
    show_facts("versions", versions())
    show_facts("machine", machine())
    show_facts("embedded data", embedded_data())


def versions() -> dict[str, str]:
    """Return the versions of purtensor, Python and the packages it stands on; optional ones may be missing."""
    return {
        "purtensor": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in (*REQUIRED, *OPTIONAL)},
    }


def machine() -> dict[str, str]:
    """Return what this process may use: system, threads, memory, and where compiled kernels are kept."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "threads": f"{_usable_cores()} usable of {os.cpu_count()}, purtensor {thread_count()}",
        "memory": f"{readable(available_memory())} available",
        "kernel cache": kernel_cache() or "none: kernels are compiled again in every run",
    }


def embedded_data() -> dict[str, str]:
    """Return the size of every data file inside the package."""
    folder = files("purtensor.datasets") / "data"
    if not folder.is_dir():
        return {"none": ""}
    listed = sorted(folder.iterdir(), key=lambda file: file.name)
    return {
        file.name: readable(len(file.read_bytes()))
        for file in listed
        if file.is_file() and not file.name.endswith(".py")
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _usable_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def kernel_cache() -> str | None:
    """Return the cache folder of compiled kernels, or None."""
    folders = cache_folders()
    return os.path.commonpath(folders) if folders else None
