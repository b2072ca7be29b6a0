"""How far the solvers' answers lie from Newton's, and what each one's own certificate allows.

    python -m benchmarks.agreement                # problems up to some 10^6 profiles
    python -m benchmarks.agreement a b e --solvers IPF

Newton runs until rounding stops it. A distance in total variation beyond the sum of the two proved bounds is marked:
one of the proofs would be wrong.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import purtensor as pt
from benchmarks.runs import solver_problem
from purtensor.solving.certificate import Certificate, DualCertifier
from purtensor.solving.iterate import Solver
from purtensor.solving.loop import Run
from purtensor.solving.problem import Problem
from purtensor.solving.solve import run
from purtensor.solving.solvers.automatic import Automatic
from purtensor.solving.stopping import Stopping

NAMED = ("a", "b", "b_hard", "b_hard2", "b_hardbias", "b_lam0", "c", "c_hard", "d", "g", "i4", "i5", "i")
SOLVERS: dict[str, Solver] = {
    "automatic": Automatic(),
    "IPF": pt.IPF(),
    "IPF, Anderson": pt.IPF(acceleration="anderson"),
    "IPF, relaxed": pt.IPF(relaxation=1.5),
    "GIS": pt.GIS(),
    "LBFGS": pt.LBFGS(),
}
_TOLERANCE = 1e-13
_MOST_ITERATIONS = 100_000
_LONGEST = 60.0


def answered(problem: Problem, solver: Solver) -> tuple[Run, Certificate]:
    """Return the run of a solver to the tolerance, or to where it ends, and what is proved of it."""
    ended = run(problem, solver, Stopping(_TOLERANCE, "residual", _MOST_ITERATIONS, _LONGEST))
    return ended, DualCertifier(problem).certify(ended.iterate)


def compared(name: str, solvers: dict[str, Solver]) -> list[str]:
    """Return a line of a Markdown table for each solver on a problem."""
    problem = solver_problem(pt.problems.load(name))
    exact, exact_proof = answered(problem, pt.Newton())
    truth = exact.iterate.masses / exact.iterate.masses.sum()
    lines = []
    for label, solver in solvers.items():
        start = time.thread_time()
        ended, proof = answered(problem, solver)
        seconds = time.thread_time() - start
        distance = float(np.abs(ended.iterate.masses / ended.iterate.masses.sum() - truth).sum()) / 2
        wrong = " (!)" if distance > proof.tv_bound + exact_proof.tv_bound else ""
        lines.append(
            f"| {name} | {label} | {ended.iterations} | {ended.residual.largest:.1e} | {distance:.1e}{wrong} | "
            f"{proof.tv_bound:.1e} | {exact_proof.tv_bound:.1e} | {ended.termination.name.lower()} | {seconds:.3g} s |"
        )
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", default=list(NAMED), help="benchmark problems")
    parser.add_argument("--solvers", nargs="*", default=list(SOLVERS), choices=list(SOLVERS), help="by these names")
    asked = parser.parse_args()
    print("| problem | solver | iterations | residual | TV to Newton | its bound | Newton's | ending | time |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in asked.names:
        print("\n".join(compared(name, {label: SOLVERS[label] for label in asked.solvers})), flush=True)


if __name__ == "__main__":
    main()
