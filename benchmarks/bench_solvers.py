"""Solvers on the same problems under the same stopping rule. A solver joins by a line in SOLVERS."""

from __future__ import annotations

from collections.abc import Callable

import purtensor as pt
from benchmarks.interleaved import interleaved_seconds, ratio, scaling_in_place
from benchmarks.runs import Brief, skip_unless_heavy, solve, solver_problem
from purtensor.solving.iterate import Solver
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.automatic import Automatic

SOLVERS: dict[str, Callable[[], Solver]] = {
    "automatic": Automatic,
    "IPF": pt.IPF,
    "Newton": pt.Newton,
    "IPF, relaxed": lambda: pt.IPF(relaxation=1.5),
    "IPF, Anderson": lambda: pt.IPF(acceleration="anderson"),
    "GIS": pt.GIS,
    "LBFGS": pt.LBFGS,
}
HEAVY = ("d", "e", "f", "h", "i", "j")
PROBLEMS = ("a", "b_lam0", "b", "b_hard", "b_hard2", "i4", "c", "g", *HEAVY)
ENDLESS = {("c", "GIS"), ("g", "GIS")}
"""These take minutes to 1e-6, and hours to 1e-10."""


def _posed(name: str, solver: str) -> tuple[Problem, Solver]:
    """Return a problem and a solver, both warm; skip what is heavy, and what has no end."""
    skip_unless_heavy(name, HEAVY)
    if (name, solver) in ENDLESS:
        raise NotImplementedError("no end of it")  # asv's word for a parameter to skip
    problem, made = solver_problem(pt.problems.load(name)), SOLVERS[solver]()
    solve(problem, made, 0.5)
    return problem, made


class ToTolerance(Brief):
    """Whole solves on arrays, without certificate."""

    params = (PROBLEMS, tuple(SOLVERS), (1e-6, 1e-10))
    param_names = ("problem", "solver", "tolerance")

    def setup(self, name, solver, tolerance):
        self.problem, self.solver = _posed(name, solver)

    def time_solve(self, name, solver, tolerance):
        solve(self.problem, self.solver, tolerance)

    def track_iterations(self, name, solver, tolerance):
        return solve(self.problem, self.solver, tolerance).iterations

    track_iterations.unit = "iterations"


class Pace(Brief):
    """The cost of an iteration, all that the loop does included, in units of scaling the array in place."""

    params = (PROBLEMS, tuple(SOLVERS))
    param_names = ("problem", "solver")

    def setup(self, name, solver):
        self.problem, self.solver = _posed(name, solver)

    def track_iteration_over_scaling(self, name, solver):
        iterations = solve(self.problem, self.solver, 1e-6).iterations
        contenders = {
            "solve": lambda: solve(self.problem, self.solver, 1e-6),
            "scaling": scaling_in_place(self.problem.reference),
        }
        return ratio(interleaved_seconds(contenders, rounds=3), "solve", "scaling") / max(1, iterations)

    track_iteration_over_scaling.unit = "ratio"
