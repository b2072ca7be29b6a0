"""A solver that tells that it runs, and never comes to an end."""

from __future__ import annotations

import os
import time
from pathlib import Path


class Unending:
    """It tells of its first step in the file that the environment names, and never moves."""

    def step(self, problem, iterate, budget):
        Path(os.environ["RUNNING"]).touch()
        time.sleep(0.2)  # many steps that do not move would be told to stand still
        return iterate
