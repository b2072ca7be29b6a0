"""Iterative proportional fitting: the pace of a sweep against plain loops and memory, and the way through labels.

Sweeps and seconds to a tolerance are in bench_solvers.
"""

from __future__ import annotations

import purtensor as pt
from benchmarks.baselines import NumbaCodes, numpy_loop
from benchmarks.interleaved import interleaved_seconds, ratio, scaling_in_place
from benchmarks.runs import Brief, Sweeps, skip_unless_heavy, solver_problem

HEAVY = ("d", "e", "f", "h", "i", "j")
_ROUNDS = 9


class SweepPace(Brief):
    """One sweep, far enough in the run that the trace costs nothing."""

    params = (("a", "b", "i4", "c", "g", *HEAVY),)
    param_names = ("problem",)

    def setup(self, name):
        skip_unless_heavy(name, HEAVY)
        named = pt.problems.load(name)
        problem = solver_problem(named)
        self.sweeps = Sweeps(problem)
        self.numpy_loop = numpy_loop(named)
        self.numba_loop = NumbaCodes(named)
        self.scaling = scaling_in_place(problem.reference)

    def time_sweeps(self, name):
        self.sweeps()

    def track_sweep_over_numpy_loop(self, name):
        return self._ratio(lambda: self.numpy_loop.sweep(self.sweeps.count))

    def track_sweep_over_numba_loop(self, name):
        return self._ratio(lambda: self.numba_loop.sweep(self.sweeps.count))

    def track_sweep_over_scaling(self, name):
        return self._ratio(self.scaling) / self.sweeps.count

    track_sweep_over_numpy_loop.unit = "ratio"
    track_sweep_over_numba_loop.unit = "ratio"
    track_sweep_over_scaling.unit = "ratio"

    def _ratio(self, other):
        seconds = interleaved_seconds({"ours": self.sweeps, "other": other}, rounds=_ROUNDS)
        return ratio(seconds, "ours", "other")


class Labelled(Brief):
    """The whole way from labels to labels."""

    params = (("a", "b_lam0", "i4", "c", "i"),)
    param_names = ("problem",)

    def setup(self, name):
        skip_unless_heavy(name, HEAVY)
        named = pt.problems.load(name)
        self.reference, self.constraints = named.reference, named.constraints
        self.time_project(name)

    def time_project(self, name):
        pt.project(self.reference, self.constraints, solver=pt.IPF(), tolerance=1e-6, certificate=False)

    def peakmem_project(self, name):
        self.time_project(name)
