"""What a user waits for before anything happens, in processor time beyond that of an empty interpreter.

The bounds leave room for a busy or slow machine; the figures are in benchmarks/bench_import.py.
"""

from __future__ import annotations

import pytest

from benchmarks.bench_import import PROGRAMS, processor_seconds


@pytest.mark.parametrize(("program", "most"), [("import purtensor", 0.15), ("help", 0.5)])
def test_start_up__takes_little_processor_time(program: str, most: float) -> None:
    processor_seconds(PROGRAMS[program])  # writes the bytecode
    seconds = min(processor_seconds(PROGRAMS[program]) - processor_seconds("pass") for _ in range(3))
    assert seconds < most
