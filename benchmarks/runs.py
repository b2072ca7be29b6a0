"""The two forms of work that benchmarks time, on arrays: a whole solve, and sweeps deep in a run."""

from __future__ import annotations

import os

import purtensor as pt
from purtensor.problems import NamedProblem
from purtensor.solving.iterate import Budget, Solver, iterate_at, starting_potentials
from purtensor.solving.loop import Run
from purtensor.solving.problem import Problem, build_problem
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping

MOST_ITERATIONS = 100_000


class Brief:
    """What asv takes of each benchmark by default: one round of at most ten samples, in two seconds or few calls.

    So the whole suite is done within the hour; `-a rounds=4` and `-a repeat=20` ask for more.
    """

    rounds = 1
    repeat = (1, 10, 2.0)
    timeout = 600


def solver_problem(named: NamedProblem) -> Problem:
    """Return a named problem as the solvers see it; labels are paid for here, before any clock runs."""
    return build_problem(named.reference, named.constraints).arrays


def solve(problem: Problem, solver: Solver, tolerance: float) -> Run:
    """Return the run of a solver to the tolerance, without a certificate."""
    return run(problem, solver, Stopping(tolerance, "residual", MOST_ITERATIONS, float("inf")))


class Sweeps:
    """IPF that never ends: each call makes `count` more sweeps, as many as take long enough to time.

    Up to a thousand sweeps are made at once, since the trace measures the first ones densely; what is timed is the
    pace of a sweep deep in a run.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.solver = pt.IPF()
        self.count = max(1, 2_000_000 // problem.index.size)
        self.iterate = iterate_at(problem, starting_potentials(problem))
        self._advance(min(1000, 10 * self.count))

    def __call__(self) -> None:
        self._advance(self.count)

    def _advance(self, left: int) -> None:
        while left > 0:
            # no residual is negative: no step ends early
            step = self.solver.step(self.problem, self.iterate, Budget(left, -1.0, -1.0))
            self.iterate = step.iterate
            left -= step.iterations


def skip_unless_heavy(name: str, heavy: tuple[str, ...]) -> None:
    """Skip large parameters unless PURTENSOR_BENCH_HEAVY is set."""
    if name in heavy and not os.environ.get("PURTENSOR_BENCH_HEAVY"):
        raise NotImplementedError("set PURTENSOR_BENCH_HEAVY=1")  # asv's word for a parameter to skip
