"""Bytes and seconds of PUR on tables on disk: 5 x 6 cells a slab, generated in chunks; one line of figures a size.

Run by hand: python benchmarks/capacity.py FOLDER SLABS [SLABS ...] [--workers N] [--processes]

With --processes the workers are those of a LocalCluster, and memory is that of the driver and all workers at the same
moment. Pages that several processes share are counted in each (`peak_MiB`), or once (`peak_shared_once_MiB`).
"""

from __future__ import annotations

import argparse
import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
import distributed
import numpy as np
import pandas as pd
import psutil

import purtensor as pt
from purtensor.tables.domain import Domain
from purtensor.tables.store.table import StoredTable
from purtensor.tables.store.write import TableWriter

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


class Peaks(threading.Thread):
    """Watches the memory of this process and of all that it started."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.summed, self.shared_once, self.over = 0, 0, threading.Event()

    def run(self) -> None:
        """Look five times a second."""
        while not self.over.wait(0.2):
            own = psutil.Process()
            resident, proportional = 0, 0
            for process in [own, *own.children(recursive=True)]:
                try:
                    memory = process.memory_full_info()
                except psutil.Error:  # it ended meanwhile
                    continue
                resident, proportional = resident + memory.rss, proportional + memory.pss
            self.summed, self.shared_once = max(self.summed, resident), max(self.shared_once, proportional)


@contextmanager
def watched() -> Iterator[Peaks]:
    """Watch the memory within a block."""
    peaks = Peaks()
    peaks.start()
    try:
        yield peaks
    finally:
        peaks.over.set()
        peaks.join()


@contextmanager
def workers(count: int, processes: bool) -> Iterator[None]:
    """Let dask compute with so many threads, or with so many worker processes of one thread each."""
    if not processes:
        with dask.config.set(scheduler="threads", num_workers=count):
            yield
        return
    with (
        distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield


def measured(folder: Path, count: int, peaks: Peaks) -> dict[str, object]:
    """Generate and project one table, remove it, and return the figures."""
    begun = time.perf_counter()
    path = folder / f"capacity-{count}.zarr"
    shutil.rmtree(path, ignore_errors=True)
    table = generate(path, count)
    generated = time.perf_counter()
    shutil.rmtree(table.workspace, ignore_errors=True)
    constraints = pt.pur(table, response="y", protected="s")
    computing = [time.process_time()]
    result = pt.project(
        table,
        constraints,
        tolerance=1e-9,
        stop_on="tv_bound",
        on_failure="return",
        max_iterations=60,
        callback=lambda _: computing.append(time.process_time()),
    )
    ended = time.perf_counter()
    figures = {
        "cells": count * RESPONSES * PROTECTED,
        "generate": round(generated - begun, 2),
        "all": round(ended - generated, 2),
        "iterations": result.iterations,
        "step": [round(float(step), 3) for step in np.diff(result.trace["seconds"].values)],
        "step_cpu_of_driver": [round(float(step), 3) for step in np.diff(computing)[1:]],
        "residual_l1": result.residual_l1,
        "tv_bound": result.tv_bound,
        "ending": result.termination.name,
        "peak_MiB": peaks.summed >> 20,
        "peak_shared_once_MiB": peaks.shared_once >> 20,
        "disk": sum(file.stat().st_size for file in result.path.rglob("*") if file.is_file()),
    }
    shutil.rmtree(path)
    shutil.rmtree(table.workspace)
    return figures


def main() -> None:
    """Print one line of JSON a size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("slabs", type=int, nargs="+")
    parser.add_argument("--workers", type=int, default=2, help="threads, or processes of one thread (2)")
    parser.add_argument("--processes", action="store_true", help="worker processes of dask.distributed")
    asked = parser.parse_args()
    for count in asked.slabs:
        with watched() as peaks, workers(asked.workers, asked.processes):
            print(json.dumps(measured(asked.folder, count, peaks)), flush=True)


if __name__ == "__main__":
    main()
