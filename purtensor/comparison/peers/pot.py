"""POT (Python Optimal Transport): Sinkhorn's iteration and its kin, which fit to two one-way marginals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from purtensor.comparison.peers.peer import Attempt, Peer
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.rule import Rule


@dataclass(frozen=True, slots=True)
class Pot(Peer):
    """`ot.sinkhorn` with the negative logarithm of the reference as cost and regularisation 1.

    Attributes
    ----------
    method
        As POT knows it: "sinkhorn" (plain), "sinkhorn_stabilized" (in logarithms where scalings grow), or "greenkhorn"
        (one row at a time; as many as there are rows count as an iteration).
    """

    method: str = "sinkhorn"

    modules = ("ot",)

    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        """Return a call that solves the problem."""
        masses, rows, columns = problem.matrix_and_margins()
        sinkhorn = import_module("ot").sinkhorn
        with np.errstate(divide="ignore"):
            # a reference of 0 is an infinite cost: no mass goes there
            cost = -np.log(masses)
        unit = sum(masses.shape) if self.method == "greenkhorn" else 1

        def solve() -> Attempt:
            plan, log = sinkhorn(
                rows,
                columns,
                cost,
                1.0,
                method=self.method,
                numItermax=unit * rule.max_iterations,
                stopThr=rule.tolerance,
                warn=False,
                log=True,
            )
            made = log.get("niter", log.get("n_iter"))
            return Attempt(problem.on_support(np.asarray(plan)), None if made is None else -(-int(made) // unit))

        return solve
