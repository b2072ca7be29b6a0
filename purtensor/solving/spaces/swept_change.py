"""Changes that make a point feasible, by more sweeps: where these converge fast they cost less than Newton's equations.

Any potentials prove what they prove (notes/certificate.md, equation 2). Those of a few sweeps from a point at which
sweeps have met the targets to ten digits meet them to rounding, without ranks and without a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.hessian.choice import estimate, has_form, hessian_of
from purtensor.solving.hessian.factored import Factored
from purtensor.solving.iterate import Budget, Iterate, Record
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.log_domain_sweeps import spans_the_range
from purtensor.solving.solvers.ipf.solver import IPF, sweep_arithmetic

_SMALLEST = 1 << 20
"""Profiles times constraints: before, Newton's equations take a few milliseconds."""

_NEAR = 2.0**-24
"""Beyond, the change to first order misses more than rounding."""

_LOOK = 3
"""After so many sweeps their rate is known; the next looks come after twice as many."""

_SHARE = 0.5
"""Sweeps may take this share of the estimated time of Newton's equations."""

_MET = 2.0**-48
"""The L1 miss, total mass 1, at which sweeps have nothing left to do but rounding."""


@dataclass(slots=True, eq=False)
class FactoredLater:
    """Newton's equations at certain masses, which are factorised when a solution is asked for."""

    problem: Problem
    masses: FloatArray
    _factored: Factored | None = field(default=None)

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for a right-hand side."""
        if self._factored is not None:
            return self._factored.solve(rhs)
        found, self._factored = hessian_of(self.problem).factor_and_solve(self.masses, rhs)
        return found


def potentials_by_sweeps(problem: Problem, masses: FloatArray, missed: float) -> FloatArray | None:
    """Return potentials that take masses to the targets, from which they are `missed` away in L1, total mass 1.

    None where Newton's equations are cheaper.
    """
    # a form that is built already has paid for its ranks
    if missed > _NEAR or problem.index.size < _SMALLEST or has_form(problem):
        return None
    # potentials begin at 0 here, so that small ones keep their digits
    near = replace(problem, reference=masses, emptied=None, log_reference=None)
    if spans_the_range(near):
        return None
    cost, solver, done = estimate(problem.system, problem.slabs), IPF(), 0
    point, before, ahead = Iterate(np.zeros(problem.system.rows), masses), math.inf, _LOOK
    while True:
        step = solver.step(near, point, Budget(ahead - done, _MET, _MET))
        # a step may make fewer sweeps than asked; those of looks are recorded in every form
        point, done = step.iterate, done + step.iterations
        missed = step.records[-1].residual_l1 if step.records else before
        if missed <= _MET or (done >= ahead and missed > 0.5 * before):
            return point.potentials if missed <= 16 * _MET else None
        if done < ahead:
            continue
        left = _sweeps_left(step.records)
        if (done + left) * sweep_arithmetic(near, point.memory) > _SHARE * (cost.ranks + cost.step):
            return None
        before, ahead = missed, 2 * ahead


def _sweeps_left(records: Sequence[Record]) -> float:
    """Return how many more sweeps miss nothing but rounding, by the rate of the last ones."""
    if len(records) < 2:
        return 0.0
    one, other = records[-2:]
    fall = math.log(one.residual_l1 / other.residual_l1) / (other.iteration - one.iteration)
    return math.log(other.residual_l1 / _MET) / fall if fall > 0.0 else math.inf
