"""Solvers on the same problems under the same stopping rule. A solver joins by a line in SOLVERS."""

from __future__ import annotations

from collections.abc import Callable

import purtensor as pt
from benchmarks.interleaved import interleaved_seconds, ratio, scaling_in_place
from benchmarks.runs import skip_unless_heavy, solve, solver_problem
from benchmarks.small_tables import simulated_tables
from purtensor.solving.iterate import Solver
from purtensor.solving.pur_tables import solve_tables
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
ENDLESS = {("c", "GIS"), ("g", "GIS")}
"""These take minutes to 1e-6, and hours to 1e-10."""


class ToTolerance:
    """Whole solves on arrays, without certificate."""

    params = (("a", "b_lam0", "b", "b_hard", "b_hard2", "i4", "c", "g", *HEAVY), tuple(SOLVERS), (1e-6, 1e-10))
    param_names = ("problem", "solver", "tolerance")
    timeout = 600

    def setup(self, name, solver, tolerance):
        skip_unless_heavy(name, HEAVY)
        if (name, solver) in ENDLESS:
            raise NotImplementedError("no end of it")  # asv's word for a parameter to skip
        self.problem = solver_problem(pt.problems.load(name))
        self.solver = SOLVERS[solver]()
        solve(self.problem, self.solver, 0.5)

    def time_solve(self, name, solver, tolerance):
        solve(self.problem, self.solver, tolerance)

    def track_iterations(self, name, solver, tolerance):
        return solve(self.problem, self.solver, tolerance).iterations

    def track_iteration_over_scaling(self, name, solver, tolerance):
        """The cost of an iteration, all that the loop does included, in units of scaling the array in place."""
        iterations = self.track_iterations(name, solver, tolerance)
        contenders = {
            "solve": lambda: solve(self.problem, self.solver, tolerance),
            "scaling": scaling_in_place(self.problem.reference),
        }
        return ratio(interleaved_seconds(contenders, rounds=3), "solve", "scaling") / max(1, iterations)

    track_iterations.unit = "iterations"
    track_iteration_over_scaling.unit = "ratio"


class SmallTables:
    """PUR of many simulated tables, each with its own support within a union, certificates included."""

    params = ((10, 1000), (1e-4, 1e-12))
    param_names = ("tables", "strength")
    timeout = 600

    def setup(self, tables, strength):
        self.union, self.references = simulated_tables(tables, strength)
        solve_tables(self.union, self.references[:1])

    def time_solve(self, tables, strength):
        solve_tables(self.union, self.references)

    def track_steps(self, tables, strength):
        return float(solve_tables(self.union, self.references).steps.mean())

    def track_certified(self, tables, strength):
        return int(solve_tables(self.union, self.references).converged.sum())

    track_steps.unit = "Newton steps"
    track_certified.unit = "tables"
