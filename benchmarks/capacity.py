"""Bytes and seconds of PUR on tables on disk: 5 x 6 cells a slab, generated in chunks; one line of figures a size.

Run by hand: python benchmarks/capacity.py FOLDER SLABS [SLABS ...]
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import time
from pathlib import Path

import dask
import numpy as np
import pandas as pd

import purtensor as pt
from purtensor.tables.domain import Domain
from purtensor.tables.stored import StoredTable, TableWriter

RESPONSES, PROTECTED = 5, 6
SLABS_AT_ONCE = 1 << 14
PSEUDO_COUNT = 1e-4
MEAN_COUNT = 100.0


def slabs(begin: int, end: int) -> np.ndarray:
    """Counts of confounded people, (slabs, 5, 6), plus a pseudo-count: the same for a slab whatever the chunk."""
    rng = np.random.default_rng([7, begin])
    count = end - begin
    of_s = rng.gamma(4 * np.array([0.35, 0.25, 0.15, 0.1, 0.1, 0.05]), size=(count, PROTECTED))
    of_y = rng.gamma(3 * np.array([0.3, 0.3, 0.2, 0.15, 0.05]), size=(count, RESPONSES))
    tilt = np.exp(0.5 * np.random.default_rng(7).standard_normal((RESPONSES, PROTECTED)))
    mass = of_y[:, :, None] * of_s[:, None, :] * tilt + 1e-9
    mass *= MEAN_COUNT / mass.sum(axis=(1, 2), keepdims=True)
    return rng.poisson(mass) + PSEUDO_COUNT


def generate(path: Path, count: int) -> StoredTable:
    """Write the table, chunk by chunk."""
    domain = Domain(
        ("x", "y", "s"), (pd.Index(np.arange(count)), pd.Index(range(RESPONSES)), pd.Index(range(PROTECTED)))
    )
    writer = TableWriter(path, domain, chunk=1 << 19)
    for begin in range(0, count, SLABS_AT_ONCE):
        end = min(begin + SLABS_AT_ONCE, count)
        values = slabs(begin, end)
        x, y, s = (code.reshape(-1) for code in np.indices(values.shape, dtype=np.int32))
        writer.append((x + begin, y.astype(np.uint8), s.astype(np.uint8)), values.reshape(-1))
    return writer.close()


def peak() -> int:
    """The most memory that this process ever held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(folder: Path, sizes: list[int]) -> None:
    """Print one line of JSON a size."""
    for count in sizes:
        begun = time.perf_counter()
        path = folder / f"capacity-{count}.zarr"
        shutil.rmtree(path, ignore_errors=True)
        table = generate(path, count)
        generated = time.perf_counter()
        shutil.rmtree(table.workspace, ignore_errors=True)
        constraints = pt.pur(table, response="y", protected="s")
        computing = [time.process_time()]
        result = pt.project(table, constraints, tolerance=1e-11, on_failure="return", max_iterations=60,
                            callback=lambda _, told=computing: told.append(time.process_time()))  # fmt: skip
        ended = time.perf_counter()
        steps = np.diff(result.trace["seconds"].values)
        print(
            json.dumps(
                {
                    "cells": count * RESPONSES * PROTECTED, "generate": round(generated - begun, 2),
                    "all": round(ended - generated, 2), "iterations": result.iterations,
                    "step": [round(float(step), 3) for step in steps],
                    "step_cpu": [round(float(step), 3) for step in np.diff(computing)[1:]],
                    "residual_l1": result.residual_l1,
                    "tv_bound": result.tv_bound, "ending": result.termination.name, "peak_MiB": peak() >> 20,
                    "disk": sum(file.stat().st_size for file in result.path.rglob("*") if file.is_file()),
                }
            ),
            flush=True,
        )  # fmt: skip
        shutil.rmtree(path)
        shutil.rmtree(table.workspace)


if __name__ == "__main__":
    with dask.config.set(scheduler="threads", num_workers=dask.config.get("num_workers", 2)):
        main(Path(sys.argv[1]), [int(size) for size in sys.argv[2:]])
