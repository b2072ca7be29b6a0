"""humanleague: compiled iterative proportional fitting with fixed limits."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from purtensor.comparison.peers.peer import Attempt, Peer
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.rule import Rule

# absolute, and compiled in, as are 1,000 sweeps
_ITS_TOLERANCE = 1e-8


class Humanleague(Peer):
    """`humanleague.ipf`, with all masses scaled so that the tolerance that is compiled in means ours."""

    modules = ("humanleague",)

    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        """Return a call that solves the problem."""
        ipf = import_module("humanleague").ipf
        total = _ITS_TOLERANCE / max(rule.tolerance, 2.0**-52)
        start = problem.dense(problem.masses) * total
        targets = [problem.dense_target(k) for k in range(len(problem.axes))]
        indices, marginals = [list(axes) for axes, _ in targets], [target * total for _, target in targets]

        def solve() -> Attempt:
            fitted, log = ipf(start, indices, marginals)
            says = "says converged" if log.get("conv") else "says not converged"
            return Attempt(problem.on_support(fitted) / total, int(log["iterations"]), says=says)

        return solve
