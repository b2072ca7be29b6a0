"""Parts of a solve against the size of the table, so that slopes show: a sweep, a Newton step, a certificate, all."""

from __future__ import annotations

import purtensor as pt
from benchmarks.interleaved import interleaved_seconds, ratio
from benchmarks.runs import Brief, Sweeps, solve, solver_problem
from purtensor.solving.certificate import DualCertifier
from purtensor.solving.iterate import Budget, iterate_at

SLABS = (10, 100, 1_000, 10_000)
_ROUNDS = 5
_SWEEPS = 10
"""As many at every size, or there would be no slope."""


def pur_problem(slabs):
    """Return a PUR problem of 5 x 6 cells a slab, with a thousand records each."""
    return pt.problems.generate(
        "pur", seed=1, responses=5, protected=6, unprotected=slabs, records=1000 * slabs, strength=1e-4
    )


class Parts(Brief):
    """What a solve is made of, on arrays; per slab each should stay as it is."""

    params = (SLABS,)
    param_names = ("slabs",)

    def setup(self, slabs):
        self.problem = solver_problem(pur_problem(slabs))
        self.sweeps = Sweeps(self.problem)
        self.sweeps.count = _SWEEPS
        self.newton = pt.Newton(warm_up=0)
        reached = solve(self.problem, pt.Newton(), 1e-6).iterate
        first = self.newton.step(self.problem, iterate_at(self.problem, reached.potentials), Budget(1, -1.0, -1.0))
        self.iterate = first.iterate  # its memory holds what is known of structure
        self.certifier = DualCertifier(self.problem)
        self.certifier.certify(self.iterate)

    def time_ten_sweeps(self, slabs):
        self.sweeps()

    def time_newton_step(self, slabs):
        self.newton.step(self.problem, self.iterate, Budget(1, -1.0, -1.0))

    def time_certify(self, slabs):
        self.certifier.certify(self.iterate)

    def track_certificate_over_newton_step(self, slabs):
        contenders = {"certificate": lambda: self.time_certify(slabs), "step": lambda: self.time_newton_step(slabs)}
        return ratio(interleaved_seconds(contenders, rounds=_ROUNDS), "certificate", "step")

    track_certificate_over_newton_step.unit = "ratio"


class Whole(Brief):
    """From labels to a certified projection: seconds and memory."""

    params = (SLABS,)
    param_names = ("slabs",)

    def setup(self, slabs):
        named = pur_problem(slabs)
        self.reference, self.constraints = named.reference, named.constraints
        self.time_project(slabs)

    def time_project(self, slabs):
        return pt.project(self.reference, self.constraints)

    def peakmem_project(self, slabs):
        self.time_project(slabs)

    def track_iterations(self, slabs):
        return self.time_project(slabs).iterations

    track_iterations.unit = "iterations"
