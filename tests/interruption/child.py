"""Start a Python in which something goes on, and read what it says line by line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def started(code, *arguments, **environment):
    """A subprocess that runs the code with purtensor at hand; its output is read as text."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def finished(code, *arguments):
    """What the code prints; its errors are raised."""
    child = started(code, *arguments)
    out, error = child.communicate(timeout=60)
    assert child.returncode == 0, error
    return out
