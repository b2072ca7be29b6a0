"""ipfn, the reference of the paper: numpy interface, sweep by sweep under our own rule."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from importlib import import_module

from purtensor._typing import FloatArray
from purtensor.comparison.peers.peer import Attempt, Peer, driven
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.rule import Rule


class Ipfn(Peer):
    """`ipfn.ipfn`; its own two rules are switched off, since the second ends slow problems far too early."""

    modules = ("ipfn",)

    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        """Return a call that solves the problem."""
        ipfn = import_module("ipfn.ipfn").ipfn
        start = problem.dense(problem.masses)
        targets = [problem.dense_target(k) for k in range(len(problem.axes))]
        dimensions = [list(axes) for axes, _ in targets]

        def advance(table: FloatArray, sweeps: int) -> FloatArray:
            # it makes one sweep more than max_iteration says, and prints on stdout that it reached it
            with contextlib.redirect_stdout(io.StringIO()):
                moved: FloatArray = ipfn(
                    table,
                    [target for _, target in targets],
                    dimensions,
                    convergence_rate=-1.0,
                    rate_tolerance=-1.0,
                    max_iteration=sweeps - 1,
                ).iteration()
            return moved

        return lambda: driven(problem, rule, start.copy(), advance)
