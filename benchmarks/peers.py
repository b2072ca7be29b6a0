"""How many times as long as ours the peers take to 1e-10, as Markdown: `python -m benchmarks.peers [PROBLEM ...]`.

A row a problem, printed as soon as it is known. Ours is what `project` takes when no solver is named, on arrays. All
take turns in one run, each peer in a process of its own; times are the processor's, a ratio is the median of those of
the rounds. What cannot be solved within the budget of time or memory is recorded as such.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence

from benchmarks.figures import machine, print_lines, table_row
from purtensor._threads import VARIABLE
from purtensor.comparison import result  # not its class, which asv would take for a benchmark
from purtensor.comparison.compare import compare
from purtensor.comparison.peers import PEERS
from purtensor.comparison.shown import duration

try:
    import resource
except ImportError:  # not on Windows
    resource = None

OURS = "auto"
LIGHT = ("a", "b_lam0", "b", "b_hardbias", "b_hard", "b_hard2", "i4", "c", "c_hard", "c_hard2", "g", "i5", "i")
_OF_TABLES = [name for name in PEERS if not name.startswith(("pot", "ott"))]
HEAVY = ("d", "h", "j", "f", "e")


def row(problem: str, peers: Sequence[str], budget: float, rounds: int) -> list[str]:
    """Return the cells of one line of the table."""
    compared = compare(problem, [OURS, *peers], budget=budget, repetitions=rounds, clock="processor")
    ours = compared.runs.set_index("solver").loc[OURS]
    own = duration(ours["seconds"]) if ours["converged"] else ours["ending"]
    return [problem, own, *(cell(compared, peer) for peer in peers)]


def cell(compared: result.Comparison, peer: str) -> str:
    """Return the median ratio with its range; a lower bound or the ending where the peer did not get there."""
    runs = compared.runs.set_index("solver")
    told = compared.ratios(OURS).set_index("solver")
    if peer in told.index:
        found = told.loc[peer]
        return f"{found['ratio']:,.3g} ({found['low']:,.3g} - {found['high']:,.3g})"
    run = runs.loc[peer]
    if run["ending"] in ("time limit", "iteration limit") and math.isfinite(run["residual"]):
        return f"over {run['seconds'] / runs.loc[OURS, 'seconds']:,.2g}, {run['ending']} at {run['residual']:.0e}"
    if run["ending"] == "stopped short":
        return f"stopped at {run['residual']:.0e}"
    return str(run["ending"]) + (": memory" if "MemoryError" in run["note"] or "allocate" in run["note"] else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print, a line as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Print ratios as Markdown.")
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help=f"default: {' '.join(LIGHT)}")
    parser.add_argument("--heavy", action="store_true", help=f"{' '.join(HEAVY)}: up to 3 * 10^7 cells")
    parser.add_argument("--peers", nargs="+", default=_OF_TABLES, metavar="NAME")
    parser.add_argument("--budget", type=float, default=60.0, metavar="S", help="seconds a run may take (default: 60)")
    parser.add_argument("--memory", type=float, metavar="GIB", help="address space of this process and of each peer's")
    parser.add_argument("--rounds", type=int, default=5, help="ratios a cell, of which the median is shown")
    options = parser.parse_args(arguments)
    os.environ.setdefault(VARIABLE, "1")
    if options.memory and resource is not None:
        resource.setrlimit(resource.RLIMIT_AS, (int(options.memory * 2**30),) * 2)
    problems = options.problems or (HEAVY if options.heavy else LIGHT)
    print_lines(f"{machine()}. Processor time, one thread; at most {options.budget:g} s a run.", "")
    print_lines(table_row(["problem", "ours", *options.peers]), table_row(["---"] * (2 + len(options.peers))))
    for problem in problems:
        print_lines(table_row(row(problem, options.peers, options.budget, options.rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
