"""`purtensor info` and `warmup`: what a bug report should say, and every kernel compiled and kept."""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import xarray as xr

import purtensor as pt
from purtensor._threads import thread_count
from purtensor.cli.output import bar, show_facts
from purtensor.kernels._jit import cache_folders
from purtensor.kernels.engine import engine
from purtensor.projection.deliver import interrupting, require_uninterrupted
from purtensor.tables.memory import available_memory, readable

REQUIRED = ("numpy", "scipy", "numba", "xarray", "pandas", "narwhals")
OPTIONAL = ("netCDF4", "zarr", "pyarrow", "matplotlib", "jinja2", "rich", "scikit-learn", "polars", "duckdb", "dask")


def run_info(arguments: argparse.Namespace) -> None:
    """Print versions, threads, cache, memory and embedded data."""
    show_facts("versions", list_versions())
    show_facts("machine", describe_machine())
    show_facts("embedded data", list_embedded_data())


def list_versions() -> dict[str, str]:
    """Return the versions of purtensor, Python and the packages it stands on; optional ones may be missing."""
    return {
        "purtensor": pt.__version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in (*REQUIRED, *OPTIONAL)},
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def describe_machine() -> dict[str, str]:
    """Return what this process may use: system, threads, memory, and where compiled kernels are kept."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "threads": f"{usable} usable of {os.cpu_count()}, purtensor {thread_count()}",
        "memory": f"{readable(available_memory())} available",
        "kernel cache": kernel_cache() or "none: kernels are compiled again in every run",
    }


def list_embedded_data() -> dict[str, str]:
    """Return the size of every data file inside the package."""
    folder = files("purtensor.datasets") / "data"
    if not folder.is_dir():
        return {"none": ""}
    found = {file.name: file for file in folder.iterdir() if file.is_file() and not file.name.endswith(".py")}
    return {name: readable(len(found[name].read_bytes())) for name in sorted(found)}


def kernel_cache() -> str | None:
    """Return the cache folder of compiled kernels, or None."""
    folders = cache_folders()
    return os.path.commonpath(folders) if folders else None


def run_warmup(arguments: argparse.Namespace) -> None:
    """Compile all kernels by running them on small tables, and report the content of the cache."""
    started = time.perf_counter()
    with bar("compiling", len(EXERCISES)) as shown:
        for done, (name, exercise) in enumerate(EXERCISES.items()):
            shown.step(f"compiling: {name}")
            with interrupting(), engine(plain=False):
                exercise()
            shown.done(done + 1)
    facts = {
        "exercises": str(len(EXERCISES)),
        "seconds": f"{time.perf_counter() - started:.1f}",
        **describe_cache(cache_folders()),
    }
    show_facts("compiled kernels", facts)


def describe_cache(folders: tuple[str, ...]) -> dict[str, str]:
    """Return where the cache is and how much it holds."""
    if not folders:
        return {"kernel cache": "none: no folder is writable, so kernels are compiled again in every run"}
    cached = [file for folder in folders for file in Path(folder).glob("*.nb[ci]")]
    size = readable(sum(file.stat().st_size for file in cached))
    return {"kernel cache": os.path.commonpath(folders), "files": f"{len(cached)}, {size}"}


def _project(family: str, **sizes: int) -> None:
    """Project with every solver; how many rows a constraint has sets the type of the codes."""
    problem = pt.problems.generate(family, seed=1, **sizes)
    forms = pt.IPF(), pt.IPF(relaxation=1.2), pt.IPF(acceleration="anderson"), pt.GIS(), pt.LBFGS(), pt.Newton()
    # None is the automatic choice
    for solver in (None, *forms):
        require_uninterrupted(
            pt.project(problem.reference, problem.constraints, solver=solver, max_iterations=60, on_failure="return")
        )


def _diagnose(name: str) -> None:
    problem = pt.problems.load(name)
    pt.diagnose(problem.reference, problem.constraints)
    require_uninterrupted(pt.project(problem.reference, problem.constraints, on_failure="return"))


def _relax() -> None:
    problem = pt.problems.load("proxy")
    for penalty in ("kl", "l1", "quadratic"):
        pt.relax(problem.reference, problem.constraints, soft=problem.constraints[:1], penalty=penalty)


def _find_rate() -> None:
    problem = pt.problems.load("b_lam0")
    pt.convergence_rate(pt.project(problem.reference, problem.constraints))


def _count() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.integers(0, size, 400) for name, size in (("y", 2), ("s", 3), ("x", 9))})
    counts = pt.tabulate(frame)
    f = pt.regularize(counts, response="y")
    result = pt.project(f, pt.pur(f, response="y", protected=["s"]))
    pt.sample(result.table, 100, seed=1)
    pt.sample_without_replacement(counts, 50, seed=1)
    pt.round_counts(result.table, 1000, seed=1)
    pt.round_counts(result.table, 1000, constraints=result.constraints[:2], seed=1)
    pt.standard_errors(result, size=400)


def _transport() -> None:
    places = {"origin": range(72), "destination": range(64)}
    near = xr.DataArray(np.exp(-np.abs(np.subtract.outer(np.arange(72), np.arange(64))) / 30.0), coords=places)
    require_uninterrupted(
        pt.project(near, pt.marginals_of(near * 0.0 + 1.0 / near.size, [("origin",), ("destination",)]))
    )


# small tasks, each a few milliseconds where its kernels are compiled, that together call every kernel with each of the
# types that real tables bring
EXERCISES: Mapping[str, Callable[[], object]] = MappingProxyType(
    {
        "tables and samples": _count,
        "PUR": partial(_project, "pur", responses=2, protected=3, unprotected=20, records=2000),
        "PUR of many categories": partial(_project, "pur", responses=3, protected=4, unprotected=300, records=90_000),
        "all pairs": partial(_project, "binary", attributes=8),
        "a cube": partial(_project, "cube", categories=5),
        "transport": _transport,
        "records": partial(_project, "records", profiles=500, attributes=6, categories=20),
        "no solution": partial(_diagnose, "b_inf"),
        "implied zeros": partial(_diagnose, "haberman_boundary"),
        "a proxy": partial(_diagnose, "proxy"),
        "relaxation": _relax,
        "rates": _find_rate,
    }
)
