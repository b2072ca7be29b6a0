"""OTT-JAX: Sinkhorn's iteration in logarithms, compiled by XLA before it is timed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from purtensor.comparison.peers.peer import Attempt, Peer
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.rule import Rule


class OttJax(Peer):
    """`ott.solvers.linear.sinkhorn.Sinkhorn` with the negative logarithm of the reference as cost and epsilon 1."""

    modules = ("jax", "ott")

    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        """Return a call that solves the problem."""
        masses, rows, columns = problem.matrix_and_margins()
        jax = import_module("jax")
        jax.config.update("jax_enable_x64", True)
        geometry = import_module("ott.geometry.geometry").Geometry
        linear = import_module("ott.problems.linear.linear_problem").LinearProblem
        solver = import_module("ott.solvers.linear.sinkhorn").Sinkhorn(
            threshold=rule.tolerance, max_iterations=rule.max_iterations
        )
        with np.errstate(divide="ignore"):
            cost = -np.log(masses)

        def run(cost: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
            found = solver(linear(geometry(cost_matrix=cost, epsilon=1.0), rows, columns))
            return found.matrix, found.n_iters

        arrays = [jax.numpy.asarray(array) for array in (cost, rows, columns)]
        # compiled before the clock starts, as all peers are
        compiled = jax.jit(run).lower(*arrays).compile()

        def solve() -> Attempt:
            plan, made = compiled(*arrays)
            return Attempt(problem.on_support(np.asarray(plan)), int(made))

        return solve
