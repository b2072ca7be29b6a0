"""What a time depends on, the processor, its cores and the versions; and the memory that a call takes."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from purtensor import __version__
from purtensor.tables.memory import PROC

Result = TypeVar("Result")


def processor() -> str:
    """Return the processor's name as the system gives it."""
    described = Path("/proc/cpuinfo")
    if described.is_file():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def surroundings(packages: Iterable[str]) -> dict[str, str]:
    """Return the processor, cores, system, and the versions of purtensor, Python and the packages that are there."""
    found = {
        "processor": processor(),
        "cores seen": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "purtensor": __version__,
        "python": platform.python_version(),
    }
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def peak_of(call: Callable[[], Result], proc: Path = PROC) -> tuple[Result, float]:
    """Return the result of a call, and by how many bytes the resident memory rose above its start at the most.

    Memory that was freed before but not given back to the system is taken again without a rise: what a second call
    needs may be reported as less. NaN where the system keeps no record that can be reset (Linux does).
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
