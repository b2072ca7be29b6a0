"""POT (Python Optimal Transport): Sinkhorn's iteration, which is fitting to two one-way marginals."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from purtensor.comparison.peers.peer import Attempt, missing_modules
from purtensor.comparison.plain import NotApplicableError, PlainProblem
from purtensor.comparison.rule import Rule


class Pot:
    """`ot.sinkhorn` with the negative logarithm of the reference as cost and regularisation 1."""

    def missing(self) -> str:
        """Return what would have to be installed."""
        return missing_modules("ot")

    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        """Return a call that solves the problem."""
        if len(problem.sizes) != 2 or sorted(problem.axes) != [(0,), (1,)]:
            raise NotApplicableError("it takes two one-way marginals of a table of two attributes")
        sinkhorn = import_module("ot").sinkhorn
        with np.errstate(divide="ignore"):
            cost = -np.log(problem.dense(problem.masses))
        rows, columns = (problem.dense_target(problem.axes.index((axis,)))[1] for axis in (0, 1))

        def solve() -> Attempt:
            plan, told = sinkhorn(
                rows, columns, cost, 1.0, numItermax=rule.max_iterations, stopThr=rule.tolerance, warn=False, log=True
            )
            return Attempt(problem.on_support(np.asarray(plan)), int(told["niter"]))

        return solve
