"""What a time depends on: the processor, its cores, the versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from purtensor import __version__


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
