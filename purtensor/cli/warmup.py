"""`purtensor warmup`: compile every kernel and keep it, for those who build images or install for others."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from purtensor.cli.output import show_facts
from purtensor.cli.progress import bar
from purtensor.kernels._jit import cache_folders
from purtensor.kernels.engine import engine
from purtensor.projection.interruption import interrupting
from purtensor.studies.warmup import EXERCISES
from purtensor.tables.memory import readable


def run(arguments: argparse.Namespace) -> None:
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
    files = [file for folder in folders for file in Path(folder).glob("*.nb[ci]")]
    size = readable(sum(file.stat().st_size for file in files))
    return {"kernel cache": os.path.commonpath(folders), "files": f"{len(files)}, {size}"}
