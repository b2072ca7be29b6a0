"""A solver that shows that it runs, and never comes to an end."""

from __future__ import annotations

import os
import time
from pathlib import Path


class Unending:
    """Each process leaves a file of its number in the folder that the environment names; no step moves."""

    def step(self, problem, iterate, budget):
        (Path(os.environ["RUNNING"]) / str(os.getpid())).touch()
        time.sleep(0.2)  # many steps that do not move would end the run as one that stands still
        return iterate
