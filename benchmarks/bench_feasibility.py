"""Verdicts with their witnesses: the whole way from labels to labels, the check, and the words."""

from __future__ import annotations

import numpy as np

import purtensor as pt
from benchmarks.interleaved import interleaved_seconds, ratio
from benchmarks.runs import Brief, skip_unless_heavy
from purtensor.problems.named import NamedProblem
from purtensor.problems.records import records_problem

HEAVY = ("d", "f", "h", "i")
_ROUNDS = 5


class Verdict(Brief):
    """Interior problems, and b_inf."""

    params = (("proxy", "a", "b_inf", "b_hard2", "i4", "c_hard2", "g", "i5", *HEAVY),)
    param_names = ("problem",)

    def setup(self, name):
        skip_unless_heavy(name, HEAVY)
        problem = pt.problems.load(name)
        self.reference, self.constraints = problem.reference, problem.constraints
        self.diagnosis = pt.diagnose(self.reference, self.constraints)

    def time_diagnose(self, name):
        pt.diagnose(self.reference, self.constraints)

    def peakmem_diagnose(self, name):
        pt.diagnose(self.reference, self.constraints)

    def time_verify(self, name):
        assert self.diagnosis.verify()


class OverNewton(Brief):
    """A verdict in units of the solve that it stands before."""

    params = (("a", "b_hard2", "c_hard2", "i5"),)
    param_names = ("problem",)

    def setup(self, name):
        problem = pt.problems.load(name)
        self.reference, self.constraints = problem.reference, problem.constraints

    def track_diagnose_over_newton(self, name):
        contenders = {
            "diagnose": lambda: pt.diagnose(self.reference, self.constraints),
            "newton": lambda: pt.project(self.reference, self.constraints, solver=pt.Newton()),
        }
        return ratio(interleaved_seconds(contenders, rounds=_ROUNDS), "diagnose", "newton")

    track_diagnose_over_newton.unit = "ratio"


class HiddenCut(Brief):
    """Observed profiles of which some cut keeps rows A within rows B: exactly full, or short of one record."""

    params = ((1_000, 10_000, 100_000), (0, 1))
    param_names = ("profiles", "short")

    def setup(self, profiles, short):
        problem = with_cut(profiles, short)
        self.reference, self.constraints = problem.reference, problem.constraints
        found = pt.diagnose(self.reference, self.constraints)
        assert found.verdict == ("infeasible" if short else "boundary")

    def time_diagnose(self, profiles, short):
        pt.diagnose(self.reference, self.constraints)

    def time_diagnose_and_explain(self, profiles, short):
        assert str(pt.diagnose(self.reference, self.constraints).explanation)


def with_cut(profiles, short):
    """Return records in which rows A of the first scope lie within rows B of the last and fill them but for `short`."""
    rng = np.random.default_rng(1)
    categories = 4 if profiles < 10_000 else 10
    problem = records_problem("records", rng, profiles=profiles, attributes=12, categories=categories)
    scopes = [axes for axes, _ in problem.targets]
    needs, room = (_chosen(rng, problem, scopes[k], share) for k, share in ((0, 0.3), (-1, 0.4)))
    kept = ~needs | room
    codes, face = problem.codes[kept], (needs == room)[kept]
    counts = np.where(face, rng.integers(1, 20, len(face)), 0)
    counts[rng.choice(np.flatnonzero(~face), short, replace=False)] = -1
    sizes = problem.domain.sizes
    targets = []
    for axes in scopes:
        target = np.zeros([sizes[axis] for axis in axes])
        np.add.at(target, tuple(codes[:, axes].T), counts)
        targets.append((axes, target))
    return NamedProblem(
        f"{profiles} with a cut", "records", "a hidden cut", problem.domain, np.ones(len(codes)), tuple(targets), codes
    )


def _chosen(rng, problem, axes, share):
    rows = rng.random([problem.domain.sizes[axis] for axis in axes]) < share
    return rows[tuple(problem.codes[:, axes].T)]
