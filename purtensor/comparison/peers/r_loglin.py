"""R's loglin, through Rscript: the interpreter's start is not part of the time."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from purtensor._typing import FloatArray
from purtensor.comparison.peers.peer import Attempt, Peer
from purtensor.comparison.plain import NotApplicableError, PlainProblem
from purtensor.comparison.rule import Ending, Rule

# it measures within a sweep, and can end a hair above the tolerance by our sums over the table
_STRICTER = 0.9

_SCRIPT = """\
options(digits.secs = 6, warn = -1)
sizes <- scan("sizes", quiet = TRUE)
limits <- scan("limits", quiet = TRUE)
spent <- readLines("clock") == "processor"
now <- function() if (spent) sum(proc.time()[1:2]) else as.numeric(Sys.time())
read <- function(name) array(readBin(name, "double", prod(sizes), endian = "little"), sizes)
table <- read("table")
start <- read("start")
margins <- lapply(strsplit(readLines("margins"), " "), as.integer)
once <- function() loglin(table, margins, start = start, fit = TRUE, eps = limits[1], iter = limits[2])
told <- capture.output(fitted <- once())
seconds <- now()
count <- 0
repeat {
  capture.output(once())
  count <- count + 1
  took <- now() - seconds
  if (took > 0.05) break
}
writeBin(as.vector(fitted$fit), "fit", endian = "little")
writeLines(c(format(took / count, digits = 8), told), "told")
"""


class Loglin(Peer):
    """`loglin(table, margin, start)`; it takes its targets from a table that has them: ours is lent to it."""

    def missing(self) -> str:
        """Return what would have to be installed."""
        return "" if shutil.which("Rscript") else "R (Rscript)"

    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        """Return a call that solves the problem."""
        if problem.solution is None:
            raise NotApplicableError("it takes its targets from a table that has them, and there is none")
        table, start = problem.dense(problem.solution), problem.dense(problem.masses)

        def solve() -> Attempt:
            with tempfile.TemporaryDirectory(prefix="purtensor-loglin-") as name:
                folder = Path(name)
                _write_inputs(folder, problem, rule, table, start)
                return _call_loglin(folder, problem, rule)

        return solve


def _write_inputs(folder: Path, problem: PlainProblem, rule: Rule, table: FloatArray, start: FloatArray) -> None:
    (folder / "fit.R").write_text(_SCRIPT)
    (folder / "sizes").write_text(" ".join(map(str, problem.sizes)))
    (folder / "limits").write_text(f"{_STRICTER * rule.tolerance!r} {rule.max_iterations}")
    (folder / "clock").write_text(f"{rule.clock}\n")
    (folder / "margins").write_text("".join(" ".join(str(axis + 1) for axis in axes) + "\n" for axes in problem.axes))
    for name, values in (("table", table), ("start", start)):
        # in R the first index runs fastest
        (folder / name).write_bytes(np.asfortranarray(values).astype("<f8").tobytes(order="F"))


def _call_loglin(folder: Path, problem: PlainProblem, rule: Rule) -> Attempt:
    command = ["Rscript", "--vanilla", "fit.R"]
    allowed = 2.0 if rule.clock == "wall" else 10.0  # on the wall others may take most of the time
    try:
        ended = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=allowed * rule.max_seconds + 10, check=False
        )
    except subprocess.TimeoutExpired:
        return Attempt(None, limit=Ending.TIME_LIMIT)
    if ended.returncode:
        raise RuntimeError((ended.stderr.strip().splitlines() or ["Rscript failed"])[-1])
    seconds, *told = (folder / "told").read_text().splitlines()
    fitted = np.fromfile(folder / "fit", dtype="<f8").reshape(problem.sizes, order="F")
    made = re.match(r"(\d+) iterations", " ".join(told))
    return Attempt(problem.on_support(fitted), int(made[1]) if made else None, seconds=float(seconds), here=False)
