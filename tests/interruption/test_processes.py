"""Killed while writing, called from several threads, forked and spawned, many times over; warnings and logging."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import signal
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import purtensor as pt
from tests.interruption.child import finished, started

pytestmark = pytest.mark.slow

WRITING = """
import sys
import numpy as np
import xarray as xr
import purtensor as pt
table = xr.DataArray(np.arange(1.0, 40_001.0).reshape(200, 200), dims=("a", "b"),
                     coords={"a": range(200), "b": range(200)})
pt.save(table, sys.argv[1])
print("begun", flush=True)
while True:
    pt.save(table * 2, sys.argv[1])
    pt.save(table, sys.argv[1])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 on this system")
@pytest.mark.parametrize(("kind", "seconds"), [("nc", 0.21), ("csv", 0.29)])
def test_save__killed_while_writing_leaves_a_whole_file(kind, seconds, tmp_path):
    path = tmp_path / f"table.{kind}"
    child = started(WRITING, path)
    assert child.stdout.readline() == "begun\n", child.stderr.read()
    time.sleep(seconds)
    child.kill()
    child.communicate()
    assert float(pt.load(path).sum()) in (800_020_000.0, 1_600_040_000.0)


def small():
    counts = pt.tabulate({"y": [0, 0, 1, 1], "s": [0, 1, 0, 1]}, weights=[1.0, 2.0, 3.0, 5.0])
    return pt.project(counts, pt.parity(counts, response="y", protected="s"))


def test_project__many_small_ones_leave_nothing_behind():
    """Objects that Python keeps track of, after the first fifty and after the next hundred."""
    for _ in range(50):
        small()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(100):
        small()
    gc.collect()
    assert len(gc.get_objects()) - before < 100  # not one object a projection


def test_project__from_several_threads_gives_the_same_bits():
    problem = pt.problems.load("b")
    alone = pt.project(problem.reference, problem.constraints)
    barrier = threading.Barrier(4)

    def together(_):
        barrier.wait()
        return pt.project(problem.reference, problem.constraints)

    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(together, range(4)):
            assert result.table.identical(alone.table)
            assert result.iterations == alone.iterations


def divergence():
    return small().divergence


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_project__in_another_process(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    expected = divergence()
    with warnings.catch_warnings():
        # Python 3.12 warns of any fork while there are threads, those of the test runner too
        warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
            assert pool.submit(divergence).result(timeout=60) == expected


def test_warnings__are_of_purtensor_s_own_class():
    counts = pt.tabulate({"y": [0, 0, 1, 1], "s": [0, 1, 0, 1]}, weights=[1.0, 2.0, 3.0, 5.0])
    with pytest.warns(pt.errors.PurtensorWarning, match="not converged"):
        pt.project(counts, pt.parity(counts, response="y", protected="s"), max_iterations=0, on_failure="warn")


def test_import__is_light_and_leaves_logging_alone():
    loud = """
import logging, sys, threading
before = list(logging.root.handlers), logging.root.level
import purtensor as pt
assert threading.active_count() == 1
assert not {"numba", "xarray", "pandas", "scipy"} & {name.split(".")[0] for name in sys.modules}
problem = pt.problems.load("proxy")
pt.project(problem.reference, problem.constraints, on_failure="return")
assert (list(logging.root.handlers), logging.root.level) == before
print(*sorted(name for name in logging.root.manager.loggerDict if name.split(".")[0] == "purtensor"))
"""
    names = finished(loud).split()
    assert all(name == "purtensor" or name.startswith("purtensor.") for name in names)
    assert logging.getLogger("purtensor").level == logging.NOTSET
