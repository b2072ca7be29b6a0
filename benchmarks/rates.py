"""Sweeps per decade, predicted and observed, as a Markdown table: `python -m benchmarks.rates [NAME ...]`.

Predicted by the leading eigenvalues of the linearised sweep; observed on the real sweeps from the reference, by the
dual norm of their error over the last two decades before 1e-12, and by the largest miss over the two before 1e-10
(notes/rates.md).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import purtensor as pt
from benchmarks.runs import solver_problem
from purtensor.solving.convergence.linear_sweep import LinearSweep
from purtensor.solving.convergence.observed import course_of
from purtensor.solving.convergence.rates import distinct_rates, spectrum_of
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping

NAMES = ("a", "b", "b_lam0", "c", "g", "j")
_CHEAP_SWEEPS = ("g", "h", "i", "i4", "i5", "j")
"""Where Newton's steps cost more than all sweeps."""


def line(name: str) -> str:
    """Return the line of one problem."""
    problem = solver_problem(pt.problems.load(name))
    solver = pt.IPF() if name in _CHEAP_SWEEPS else pt.Newton()
    limit = run(problem, solver, Stopping(0.0, "residual", 1000, math.inf)).iterate
    course = course_of(problem, pt.IPF(), limit.potentials)
    observed, residuals = course.per_decade(course.errors, 1e-12), course.per_decade(course.residuals, 1e-10)
    rates = distinct_rates(spectrum_of(LinearSweep.at(problem, limit.masses)).eigenvalues)
    pair = f"{rates[1]:,.4g}" if len(rates) > 1 and rates[1] > 0.95 * rates[0] else ""
    return (
        f"| {name} | {rates[0]:,.4g} | {pair} | {observed:,.4g} | {100 * (rates[0] / observed - 1):+.1f} % "
        f"| {residuals:,.4g} | {100 * (residuals / observed - 1):+.0f} % |"
    )


def main(names: Sequence[str]) -> None:
    """Print the table, a line as soon as it is known."""
    print("| problem | predicted | second of the pair | observed | error | by residuals | error |", flush=True)
    print("|---" * 7 + "|", flush=True)
    for name in names or NAMES:
        print(line(name), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
