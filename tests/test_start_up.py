"""What a user waits for before anything happens, in processor time beyond that of an empty interpreter.

The bounds leave room for a busy or slow machine; the figures are in benchmarks/bench_import.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bench_import import PROGRAMS, processor_seconds


@pytest.mark.parametrize(("program", "most"), [("import purtensor", 0.15), ("help", 0.5)])
def test_start_up__takes_little_processor_time(program: str, most: float) -> None:
    processor_seconds(PROGRAMS[program])  # writes the bytecode
    seconds = min(processor_seconds(PROGRAMS[program]) - processor_seconds("pass") for _ in range(3))
    assert seconds < most


PLAIN = """
import purtensor as pt
a = pt.problems.load("a")
found = pt.project(a.reference, a.constraints, solver=pt.IPF())
pt.project(a.reference, a.constraints, solver=pt.GIS())
pt.project(a.reference, a.constraints, solver=pt.IPF(relaxation=1.5))
pt.project(a.reference, a.constraints, solver=pt.IPF(relaxation="auto"))
pt.convergence_rate(found), pt.convergence.best_order(found), pt.convergence.best_relaxation(found)
pt.convergence.predict(a.reference, a.constraints)
pt.convergence.forecast(pt.project(a.reference, a.constraints, solver=pt.IPF(), max_iterations=3, on_failure="return"))
pt.round_counts(found.table, 1_000, constraints=a.constraints[:2])
pt.predict(found.table, a.reference, response="y")
"""


def test_start_up__small_tables_compile_nothing(tmp_path: Path) -> None:
    """From an empty cache the first calls of a new installation would take seconds of compilation."""
    empty = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PURTENSOR_ENGINE": ""}
    subprocess.run([sys.executable, "-c", PLAIN], check=True, env=empty)
    assert not list(tmp_path.rglob("*.nbi"))
