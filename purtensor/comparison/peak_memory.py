"""The peak resident memory of this process, if the system reports it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from purtensor.tables.memory import PROC

Result = TypeVar("Result")


def peak_of(call: Callable[[], Result], proc: Path = PROC) -> tuple[Result, float]:
    """Return the result of a call, and by how many bytes the resident memory rose above its start at the most.

    Memory that was freed before but not given back to the system is taken again without a rise: what a second call
    needs may be told as less. NaN where the system keeps no record that can be reset (Linux does).
    """
    own = proc / "self"
    try:
        (own / "clear_refs").write_text("5")  # the highest mark so far is forgotten
        before = _kilobytes(own, "VmRSS")
    except (OSError, KeyError):
        return call(), math.nan
    result = call()
    return result, 1024.0 * max(0, _kilobytes(own, "VmHWM") - before)


def _kilobytes(own: Path, field: str) -> int:
    lines = dict(line.split(":", 1) for line in (own / "status").read_text().splitlines())
    return int(lines[field].split()[0])
