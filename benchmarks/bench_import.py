"""Start-up: the processor time of a fresh interpreter beyond that of an empty one."""

from __future__ import annotations

import resource
import subprocess
import sys
from statistics import median

PROGRAMS = {
    "import purtensor": "import purtensor",
    "first use": "import purtensor as pt; pt.tabulate",
    "help": "import sys; from purtensor.cli import main; main(['--help'])",
}
_ROUNDS = 5


def processor_seconds(program: str) -> float:
    """Return the user and system seconds of an interpreter that runs the program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


class StartUp:
    params = (tuple(PROGRAMS),)
    param_names = ("program",)

    def track_seconds(self, program):
        processor_seconds(PROGRAMS[program])  # writes the bytecode
        return median(processor_seconds(PROGRAMS[program]) - processor_seconds("pass") for _ in range(_ROUNDS))

    track_seconds.unit = "seconds"
