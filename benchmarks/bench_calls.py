"""Whole calls: the first one in a process, with and without kept kernels, and warm ones from table to proof."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from statistics import median

import purtensor as pt
from benchmarks.bench_import import processor_seconds
from benchmarks.contests import FIGURES
from benchmarks.interleaved import interleaved_seconds, ratio
from benchmarks.runs import Brief, skip_unless_heavy
from benchmarks.whole_calls import Transport, dense_table, memory_in_tables, pur_in_full

FIRST_CALLS = {
    "example": (
        "f = pt.tabulate({'y': [0, 1, 1, 0], 's': [0, 0, 1, 1], 'x': [1, 2, 1, 2]}); "
        "pt.project(pt.regularize(f, response='y', strength=1.0), pt.pur(f, response='y', protected='s'))"
    ),
    "b": "p = pt.problems.load('b'); pt.project(p.reference, p.constraints)",
    "c": "p = pt.problems.load('c'); pt.project(p.reference, p.constraints)",
}
_ROUNDS = 3


class FirstCall:
    """Processor seconds of a fresh interpreter, from the import to the certified answer."""

    params = (tuple(FIRST_CALLS),)
    param_names = ("problem",)
    timeout = 600

    def track_seconds_from_an_empty_cache(self, name):
        program = f"import purtensor as pt; {FIRST_CALLS[name]}"
        subprocess.run([sys.executable, "-c", "import purtensor as pt; pt.project"], check=True)  # writes the bytecode
        before = os.environ.get("NUMBA_CACHE_DIR")
        try:
            with tempfile.TemporaryDirectory() as empty:
                os.environ["NUMBA_CACHE_DIR"] = empty
                return median(processor_seconds(program) for _ in range(_ROUNDS))
        finally:
            os.environ.pop("NUMBA_CACHE_DIR")
            if before is not None:
                os.environ["NUMBA_CACHE_DIR"] = before

    track_seconds_from_an_empty_cache.unit = "seconds"

    def track_seconds_with_kept_kernels(self, name):
        program = f"import purtensor as pt; {FIRST_CALLS[name]}"
        processor_seconds(program)  # what it compiles is kept
        return median(processor_seconds(program) for _ in range(_ROUNDS))

    track_seconds_with_kept_kernels.unit = "seconds"


class Ratios(Brief):
    """The figures of `contests.py`, but for those against packages that may not be there."""

    params = (tuple(name for name, figure in FIGURES.items() if figure.against != "ipfn"),)
    param_names = ("figure",)
    timeout = 600

    def setup(self, name):
        skip_unless_heavy(name, tuple(name for name, figure in FIGURES.items() if figure.heavy))
        self.contest = FIGURES[name].prepare()

    def track_ratio(self, name):
        ours, other = self.contest.ours, self.contest.other
        seconds = interleaved_seconds({"ours": ours.call, "other": other.call}, rounds=5)
        return ratio(seconds, "ours", "other") * other.work / ours.work

    track_ratio.unit = "ratio"


class WholePur(Brief):
    """pur and project with its proof on a dense table of 5 x 6 x as many cells."""

    params = ((200, 20_000, 200_000),)
    param_names = ("unprotected",)

    def setup(self, unprotected):
        skip_unless_heavy(unprotected, (200_000,))
        self.table = dense_table(5, 6, unprotected)
        self.constraints = pt.pur(self.table, response="y", protected="s")
        pur_in_full(self.table)

    def time_call(self, unprotected):
        pur_in_full(self.table)

    def peakmem_call(self, unprotected):
        pur_in_full(self.table)

    def track_peak_in_tables(self, unprotected):
        return memory_in_tables(self.table, self._projected)[0]

    track_peak_in_tables.unit = "tables"

    def track_held_in_tables(self, unprotected):
        return memory_in_tables(self.table, self._projected)[1]

    track_held_in_tables.unit = "tables"

    def _projected(self):
        return pt.project(self.table, self.constraints)


class TwoWay(Brief):
    """Optimal transport between as many points; at the smaller reach masses are too far apart for float64."""

    params = ((100, 400), (0.05, 0.003))
    param_names = ("points", "reach")

    def setup(self, points, reach):
        self.transport = Transport(points, reach)
        self.time_call(points, reach)

    def time_call(self, points, reach):
        pt.project(self.transport.reference, self.transport.constraints, on_failure="return")
