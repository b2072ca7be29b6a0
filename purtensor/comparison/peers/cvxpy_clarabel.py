"""cvxpy with Clarabel: the problem as it stands in the textbook, for an interior-point solver of cones."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from purtensor.comparison.peers.peer import Attempt, Peer
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.rule import Ending, Rule

# Clarabel's own: below it makes twice the iterations on hard problems and comes no closer to the answer
_GAP = 1e-8


class Clarabel(Peer):
    """Minimise the sum of `kl_div(p, q0)` subject to C p = b; cvxpy's own translation is part of the time."""

    modules = ("cvxpy", "clarabel")

    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        """Return a call that solves the problem."""
        cvxpy = import_module("cvxpy")
        matrix, targets = problem.matrix()
        reference = problem.masses[problem.kept]

        def solve() -> Attempt:
            ratios = cvxpy.Variable(len(reference))  # p / q0: cells of 1e-12 would drown in absolute tolerances
            distance = cvxpy.sum(cvxpy.multiply(reference, cvxpy.kl_div(ratios, 1.0)))
            question = cvxpy.Problem(cvxpy.Minimize(distance), [(matrix * reference) @ ratios == targets])
            question.solve(
                solver=cvxpy.CLARABEL,
                max_iter=min(rule.max_iterations, 1000),
                time_limit=rule.max_seconds,
                tol_feas=rule.tolerance,
                tol_gap_abs=_GAP,
                tol_gap_rel=_GAP,
            )
            made = question.solver_stats.num_iters if question.solver_stats else None
            limit = Ending.TIME_LIMIT if question.status == "user_limit" else None
            if ratios.value is None:
                return Attempt(None, made, limit, f"says {question.status}")
            masses = reference * np.asarray(ratios.value)
            return Attempt(problem.spread(masses), made, limit, f"says {question.status}")

        return solve
