"""Newton's method on the dual over independent constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._options import is_count
from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.newton import LARGEST_CHANGE, SUFFICIENT
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.hessian.factored import Hessian
from purtensor.solving.iterate import Budget, Iterate, Record, Residual, Step, dual_at, is_rounding, iterate_at
from purtensor.solving.masses import bent, measured
from purtensor.solving.problem import Problem
from purtensor.solving.raised import FLOORS, even_shares
from purtensor.solving.solvers.ipf import IPF

MOST_SWEEPS = 1_000
"""The sweeps of a warm-up are made in one go, which no time limit ends."""

SLOW = 0.2
"""A step that leaves more than this share of the residual in L1 is slow."""

SLOW_STEPS = 6
"""So many slow steps in a row raise doubts, and again twice as many."""

WORTH = 0.01
"""A step is to gain this share of the squared L1 residual at least: a sweep surely gains half of that square."""

SWEEPS = 50
"""So many sweeps come where no step gains."""


@dataclass(slots=True, eq=False)
class _Memory:
    """What the next step starts from: the Hessian's form, and the marginals of the masses that were reached."""

    hessian: Hessian
    sums: FloatArray
    residual: float = np.inf
    slow: int = 0
    shares: FloatArray | None = None

    def is_doubtful(self, residual: float) -> bool:
        """Take note of a step's residual; tell whether six, twelve, ... steps in a row have each gained little.

        Near an interior solution Newton's steps are quadratic; on the boundary each divides the residual by e, and
        without a solution it stays.
        """
        self.slow = self.slow + 1 if residual > SLOW * self.residual else 0
        self.residual = residual
        return self.slow > 0 and self.slow % SLOW_STEPS == 0

    def shares_of(self, problem: Problem) -> FloatArray:
        """Return the part of the targets that falls to each profile where rows give all of theirs the same."""
        if self.shares is None:
            self.shares = even_shares(problem)
        return self.shares


@dataclass(frozen=True, slots=True)
class Newton:
    """Newton's method on the dual, over independent constraints, with a line search; one iteration is one step.

    The Hessian C diag(p) C^T is solved in the form that pays for the constraints at hand: slab by slab (arrowhead),
    dense, or by conjugate gradients; the projection's notes say which. Where masses are so small that rounding hides
    what they tie together, steps take them for larger (notes/newton.md, equation 9); where no step gains, sweeps of
    IPF come, each of which counts as an iteration.

    Parameters
    ----------
    warm_up
        So many sweeps of IPF come before the first step, at most 1,000.

    Raises
    ------
    InvalidOptionError
        A warm-up that is no such count.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.Newton().warm_up
    3
    """

    warm_up: int = 3

    def __post_init__(self) -> None:
        if not (is_count(self.warm_up) and self.warm_up <= MOST_SWEEPS):
            raise InvalidOptionError(
                f"warm_up is a number of sweeps, 0 for none and at most {MOST_SWEEPS:,}, this is {self.warm_up!r}"
            )
        object.__setattr__(self, "warm_up", int(self.warm_up))

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
        found = _best_step(problem, iterate, memory)
        if found is None and not _is_met_to_rounding(problem, memory.residual):
            return _swept(problem, iterate, memory, budget, warmed)
        if found is None:
            return Step(Iterate(iterate.potentials, iterate.masses, memory), 1, note=note, stalled=True)
        moved, gain = found
        residual = _measure(problem, moved.masses, memory.sums)
        moved.memory = memory
        gain /= problem.total
        record = Record(1, residual.largest, residual.l1, warmed + gain, dual_at(problem, moved))
        return Step(moved, 1, (record,), note, stalled=is_rounding(problem, gain),
                    doubtful=memory.is_doubtful(residual.l1))  # fmt: skip


def _best_step(problem: Problem, iterate: Iterate, memory: _Memory) -> tuple[Iterate, float] | None:
    """Return the Newton step and its gain, or one of those for raised masses where that gains next to nothing.

    A direction that raised masses give is one of ascent too, for C diag(p) C^T has only grown.
    """
    miss = problem.targets - memory.sums
    worth = WORTH * memory.residual**2 * problem.total
    best: tuple[Iterate, float] | None = None
    for floor in (0.0, *FLOORS):
        masses = iterate.masses if floor == 0.0 else iterate.masses + floor * memory.shares_of(problem)
        direction, _ = memory.hessian.factor_and_solve(masses, miss)
        found = search(problem, iterate, direction, inner_product(miss, direction))
        if found is not None and (best is None or found[1] > best[1]):
            best = found
        if (best is not None and best[1] >= worth) or _is_met_to_rounding(problem, memory.residual):
            break
    return best


def _is_met_to_rounding(problem: Problem, residual_l1: float) -> bool:
    """Tell whether what a step has to gain by this residual is rounding."""
    return is_rounding(problem, WORTH * residual_l1**2)


def _swept(problem: Problem, iterate: Iterate, memory: _Memory, budget: Budget, warmed: float) -> Step:
    """Return the iterate after sweeps of IPF, which gain wherever a target is missed."""
    bare = Iterate(iterate.potentials, iterate.masses)
    step = IPF().step(problem, bare, Budget(min(SWEEPS, budget.iterations), budget.residual, budget.residual_l1))
    moved = iterate_at(problem, step.iterate.potentials, memory)
    memory.residual = _measure(problem, moved.masses, memory.sums).l1
    records = step.records
    if records and warmed:
        records = (records[0]._replace(kl_step=records[0].kl_step + warmed), *records[1:])
    note = f"{memory.hessian.note}; sweeps of IPF where rounding leaves no Newton step"
    return Step(moved, step.iterations, records, note, stalled=step.stalled, doubtful=True)


def _warmed(problem: Problem, iterate: Iterate, sweeps: int) -> tuple[Iterate, float]:
    """Return the iterate after sweeps of IPF, and what the dual has gained by them."""
    before = dual_at(problem, iterate)
    iterate = iterate_at(problem, IPF().few_sweeps(problem, iterate, sweeps).potentials)
    return iterate, dual_at(problem, iterate) - before


def _measure(problem: Problem, masses: FloatArray, sums: FloatArray) -> Residual:
    largest, l1 = measured(problem, masses, sums)
    return Residual(largest / problem.total, l1 / problem.total)


def search(problem: Problem, iterate: Iterate, direction: FloatArray, slope: float) -> tuple[Iterate, float] | None:
    """Return the point along an ascent direction where the dual has gained enough, and the gain; else None.

    The gain is step * slope - sum p (exp(z) - 1 - z), two numbers that are each accurate to their last digits: it
    never drowns in the dual's own size (notes/newton.md, equation 8).
    """
    if not (np.isfinite(slope) and slope > 0.0):
        return None
    step = 1.0
    loss, largest = bent(problem, iterate.masses, direction, step)
    if not np.isfinite(largest) or largest == 0.0:
        return None
    if largest > LARGEST_CHANGE:
        step = LARGEST_CHANGE / largest
        loss, _ = bent(problem, iterate.masses, direction, step)
    while step * largest > 2.0**-60:
        gain = step * slope - loss
        if gain >= SUFFICIENT * step * slope:
            return iterate_at(problem, iterate.potentials + step * direction), gain
        step *= 0.5
        loss, _ = bent(problem, iterate.masses, direction, step)
    return None
