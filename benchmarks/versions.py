"""Whether answers depend on the versions of the libraries: total variation between two environments, as Markdown.

    OLD/bin/python -m benchmarks.versions old.npz                       # once in each environment
    NEW/bin/python -m benchmarks.versions new.npz --against old.npz     # ... and in the second, compare

Every named problem by IPF and by Newton, to 1e-13 or until rounding stops them; no limit in time.
"""

from __future__ import annotations

import argparse

import numpy as np

import purtensor as pt
from benchmarks.figures import machine, print_lines, table_row
from benchmarks.runs import solver_problem
from purtensor.solving.iterate import Solver
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping

NAMED = ("a", "b_lam0", "b", "b_hard", "b_hard2", "b_hardbias", "c", "c_hard", "g", "i4", "i5", "i")


def answers(names: list[str]) -> dict[str, np.ndarray]:
    """Return the distribution that each solver finds for each problem, profiles in the problem's order."""
    found = {}
    for name in names:
        problem = solver_problem(pt.problems.load(name))
        solvers: dict[str, Solver] = {"Newton": pt.Newton(), "IPF": pt.IPF()}
        for label, solver in solvers.items():
            masses = run(problem, solver, Stopping(1e-13, "residual", 1_000_000, float("inf"))).iterate.masses
            found[f"{name}, {label}"] = masses / masses.sum()
    return found


def main() -> None:
    """Solve, keep the answers, and compare them with those kept before."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", help="where the answers go (.npz)")
    parser.add_argument("names", nargs="*", default=list(NAMED), help="benchmark problems")
    parser.add_argument("--against", metavar="FILE", help="answers of another environment")
    asked = parser.parse_args()
    found = answers(asked.names)
    np.savez_compressed(asked.file, **found)
    print_lines(machine(), "", table_row(["problem, solver", "total variation"]), table_row(["---", "---"]))
    if asked.against:
        with np.load(asked.against, allow_pickle=False) as before:
            for name, masses in found.items():
                print_lines(table_row([name, f"{np.abs(masses - before[name]).sum() / 2:.1e}"]))


if __name__ == "__main__":
    main()
