"""Newton's method on the dual over independent constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.ipf import measure
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.newton import curvature, largest_absolute
from purtensor.kernels.spread import spread
from purtensor.solving.hessian.choice import Hessian, hessian_of
from purtensor.solving.iterate import Budget, Iterate, Record, Residual, Step, dual_at, is_rounding, iterate_at
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf import IPF

_SUFFICIENT = 1e-4
_SLOW = 0.2
_SLOW_STEPS = 6
_LARGEST_STEP = 40.0
"""No mass changes by more than exp(40) in one step; beyond it the quadratic model says nothing."""


@dataclass(slots=True, eq=False)
class _Memory:
    """What the next step starts from: the Hessian's form, and the marginals of the masses that were reached."""

    hessian: Hessian
    sums: FloatArray
    residual: float = np.inf
    slow: int = 0

    def is_doubtful(self, residual: float) -> bool:
        """Take note of a step's residual; tell whether six, twelve, ... steps in a row have each gained little.

        Near an interior solution Newton's steps are quadratic; on the boundary each divides the residual by e, and
        without a solution it stays.
        """
        self.slow = self.slow + 1 if residual > _SLOW * self.residual else 0
        self.residual = residual
        return self.slow > 0 and self.slow % _SLOW_STEPS == 0


@dataclass(frozen=True, slots=True)
class Newton:
    """Newton's method on the dual, over independent constraints, with a line search; one iteration is one step.

    The Hessian C diag(p) C^T is solved in the form that pays for the constraints at hand: slab by slab (arrowhead),
    dense, or by conjugate gradients; the projection's notes say which.

    Parameters
    ----------
    warm_up
        So many sweeps of IPF come before the first step.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.Newton().warm_up
    3
    """

    warm_up: int = 3

    def step(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        """Return the iterate after one Newton step; the first step is preceded by the sweeps of the warm-up."""
        note, warmed = "", 0.0
        memory: Any = iterate.memory
        if not isinstance(memory, _Memory):
            memory = _Memory(hessian_of(problem), np.empty(problem.system.rows))
            note = memory.hessian.note
            if self.warm_up:
                iterate, warmed = _warmed(problem, iterate, self.warm_up)
            memory.residual = _measure(problem, iterate.masses, memory.sums).l1
        miss = problem.targets - memory.sums
        direction = memory.hessian.factor_and_solve(iterate.masses, miss)
        found = search(problem, iterate, direction, inner_product(miss, direction))
        if found is None:
            return Step(Iterate(iterate.potentials, iterate.masses, memory), 1, note=note, stalled=True)
        moved, gain = found
        residual = _measure(problem, moved.masses, memory.sums)
        moved.memory = memory
        gain /= problem.total
        record = Record(1, residual.largest, residual.l1, warmed + gain, dual_at(problem, moved))
        return Step(moved, 1, (record,), note, stalled=is_rounding(problem, gain),
                    doubtful=memory.is_doubtful(residual.l1))  # fmt: skip


def _warmed(problem: Problem, iterate: Iterate, sweeps: int) -> tuple[Iterate, float]:
    """Return the iterate after sweeps of IPF, and what the dual has gained by them."""
    before = dual_at(problem, iterate)
    while sweeps > 0:
        step = IPF().step(problem, iterate, Budget(sweeps, 0.0, 0.0))
        iterate, sweeps = step.iterate, sweeps - step.iterations
    iterate = iterate_at(problem, iterate.potentials)
    return iterate, dual_at(problem, iterate) - before


def _measure(problem: Problem, masses: FloatArray, sums: FloatArray) -> Residual:
    largest, l1 = measure(masses, problem.index, problem.offsets, problem.targets, sums)
    return Residual(largest / problem.total, l1 / problem.total)


def search(problem: Problem, iterate: Iterate, direction: FloatArray, slope: float) -> tuple[Iterate, float] | None:
    """Return the point along an ascent direction where the dual has gained enough, and the gain; else None.

    The gain is step * slope - sum p (exp(z) - 1 - z), two numbers that are each accurate to their last digits: it
    never drowns in the dual's own size (notes/newton.md, equation 8).
    """
    if not (np.isfinite(slope) and slope > 0.0):
        return None
    change = np.empty_like(iterate.masses)
    spread(problem.index, problem.offsets, direction, change)
    largest = largest_absolute(change)
    if not np.isfinite(largest) or largest == 0.0:
        return None
    step = min(1.0, _LARGEST_STEP / largest)
    while step * largest > 2.0**-60:
        gain = step * slope - curvature(iterate.masses, change, step)
        if gain >= _SUFFICIENT * step * slope:
            return iterate_at(problem, iterate.potentials + step * direction), gain
        step *= 0.5
    return None
