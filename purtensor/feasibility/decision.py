"""The verdict on a whole system: zero targets are taken out before, and put back into the witness after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.slabs import in_slab_order
from purtensor.constraints.system import Reduction, System, reduce_system
from purtensor.feasibility.exact_solution import ExactPoint
from purtensor.feasibility.farkas import fitted, spread_whole, tidy
from purtensor.feasibility.targets import ExactTargets, read_targets
from purtensor.feasibility.verdict import Verdict, decide
from purtensor.solving.problem import Problem

_WIDEST = 1e12
"""References that vary by more are no help as a start: the search begins at the uniform distribution then."""


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """A verdict on a system of M profiles and D rows, with its witness.

    Attributes
    ----------
    targets
        The exact targets that the question was asked of.
    zeros
        Shape (M,): the profiles that are empty in every solution; all false where there is none.
    by_target
        Shape (M,): the profiles that a target of zero empties.
    weights
        Shape (D,): whole numbers t with C^T t >= 0, where the verdict needs them.
    solution
        Shape (M,): masses of total 1 that meet the constraints to rounding; None where there are none.
    point, profiles
        The exact solution, and which profile of the system each of its profiles is.
    """

    verdict: Verdict
    targets: ExactTargets
    zeros: BoolArray
    by_target: BoolArray
    weights: IntArray | None = None
    solution: FloatArray | None = None
    point: ExactPoint | None = None
    profiles: IntArray | None = None

    @property
    def arithmetic(self) -> str:
        """Which arithmetic proved the verdict."""
        if self.verdict is Verdict.OPEN:
            return "nothing"
        if self.targets.exact and (self.point is None or self.point.explicit):
            return "rational"
        return "boundary to rounding" if self.verdict is Verdict.BOUNDARY else "interval"


def settle(
    system: System, reference: FloatArray, units: Sequence[float] = (), targets: ExactTargets | None = None
) -> Settled:
    """Return the verdict on a system.

    Parameters
    ----------
    reference
        Shape (M,): positive masses, from which the search for a solution starts.
    units
        Shares of the mass that the targets may be whole multiples of, see `read_targets`.
    targets
        The exact targets, where they are known already.
    """
    reduction = reduce_system(system)
    kept = reduction.profiles
    if targets is None:
        start = reference[kept]
        own = [float(start.min() / start.sum())] if len(start) else []
        targets = _on_all_rows(system, reduction, read_targets(reduction.system, [*units, *own]))
    reduced = targets.select(reduction.rows)
    by_target = np.ones(system.profiles, dtype=bool)
    by_target[kept] = False
    if not len(kept):
        weights = np.zeros(reduction.system.rows, dtype=np.int64)
        weights[np.argmax(reduction.system.targets)] = -1
        return Settled(
            Verdict.INFEASIBLE,
            targets,
            np.zeros_like(by_target),
            by_target,
            _with_zero_rows(system, reduction, weights, strict=False),
        )
    problem, order = _problem_of(reduction.system, reference[kept])
    decision = decide(problem, reduced)
    if decision.verdict is Verdict.INFEASIBLE and decision.weights is not None:
        plain = tidy(reduction.system, decision.weights)
        if reduced.dot(plain) >= -reduced.rounding(plain):  # float totals agree to rounding only
            plain = decision.weights
        weights = _with_zero_rows(system, reduction, plain, strict=False)
        return Settled(decision.verdict, targets, np.zeros_like(by_target), by_target, weights)
    zeros = by_target.copy()
    zeros[kept[order[decision.zeros]]] = True
    proved = decision.weights
    if proved is None and zeros.any():
        proved = np.zeros(reduction.system.rows, dtype=np.int64)
    if proved is not None:
        proved = _with_zero_rows(system, reduction, tidy(reduction.system, proved), strict=True)
    if decision.solution is None:
        return Settled(decision.verdict, targets, zeros, by_target, proved)
    solution = np.zeros(system.profiles)
    solution[kept[order]] = decision.solution / problem.total
    verdict = Verdict.BOUNDARY if zeros.any() else Verdict.INTERIOR
    return Settled(verdict, targets, zeros, by_target, proved, solution, decision.point, kept[order[~decision.zeros]])


def _problem_of(system: System, reference: FloatArray) -> tuple[Problem, IntArray]:
    """Return the problem that the search works on, and the order in which it has the system's profiles."""
    arranged, slabs, order = in_slab_order(system)
    targets = system.targets / system.targets[system.block(0)].max()
    start = reference[order]
    if not start.max() / _WIDEST <= start.min():
        start = np.ones_like(start)
    start = start / start.sum()
    total = float(targets[system.block(0)].sum())
    return Problem(start, arranged.with_targets(targets), total, slabs), order


def _on_all_rows(full: System, reduction: Reduction, targets: ExactTargets) -> ExactTargets:
    numerators = np.zeros(full.rows, dtype=object)
    numerators[reduction.rows] = targets.numerators
    return ExactTargets(numerators, targets.denominator, targets.exact)


def _with_zero_rows(full: System, reduction: Reduction, weights: IntArray, *, strict: bool) -> IntArray:
    """Return weights on all rows: those of zero targets make up for what their profiles lack.

    With `strict` the profiles of zero targets get a positive C^T t: they are empty, too.
    """
    whole = np.zeros(full.rows, dtype=weights.dtype)
    whole[reduction.rows] = weights
    if len(reduction.profiles) == full.profiles:
        return whole
    lacking = int(strict) - spread_whole(full, whole)
    lacking[reduction.profiles] = 0
    for k in range(len(full.scopes)):
        needs = np.zeros(full.block(k).stop - full.block(k).start, dtype=weights.dtype)
        np.maximum.at(needs, full.index[k], lacking)
        zero = full.targets[full.block(k)] == 0.0
        whole[full.block(k)][zero] = needs[zero]
    return fitted(whole, len(full.scopes))
