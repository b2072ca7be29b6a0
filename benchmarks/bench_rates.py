"""The rate of iterative proportional fitting, predicted: what it says, and what saying it costs."""

from __future__ import annotations

import math

import purtensor as pt
from benchmarks.runs import Brief, skip_unless_heavy, solver_problem
from purtensor.solving.convergence.linear_sweep import LinearSweep
from purtensor.solving.convergence.rates import distinct_rates, spectrum_of
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping

HEAVY = ("c", "j")


class Prediction(Brief):
    """The leading eigenvalues of the linearised sweep, by Arnoldi's method on the potentials."""

    params = (("a", "b_lam0", "b", "b_hard2", *HEAVY),)
    param_names = ("problem",)

    def setup(self, name):
        skip_unless_heavy(name, HEAVY)
        self.problem = solver_problem(pt.problems.load(name))
        solver = pt.IPF() if name == "j" else pt.Newton()
        self.masses = run(self.problem, solver, Stopping(1e-12, "residual", 1000, math.inf)).iterate.masses
        self.time_prediction(name)

    def time_prediction(self, name):
        return spectrum_of(LinearSweep.at(self.problem, self.masses)).eigenvalues

    def track_sweeps_per_decade(self, name):
        return distinct_rates(self.time_prediction(name))[0]

    track_sweeps_per_decade.unit = "sweeps"
