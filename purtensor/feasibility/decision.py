"""The verdict on a whole system: zero targets are taken out before, and put back into the witness after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.slabs import in_slab_order
from purtensor.constraints.system import Reduction, System, reduce_system
from purtensor.feasibility.farkas import fit_type, spread_whole, tidy
from purtensor.feasibility.targets import ExactTargets, read_targets
from purtensor.feasibility.verdict import Decision, Verdict, decide
from purtensor.solving.problem import Problem

_WIDEST = 1e12
"""If the masses of the reference vary by more, the search starts at the uniform distribution instead."""


def settle(
    system: System, reference: FloatArray, units: Sequence[float] = (), targets: ExactTargets | None = None
) -> Decision:
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
    # targets of 0 empty their profiles without any proof: what remains has positive targets
    reduction = reduce_system(system)
    kept = reduction.profiles
    if targets is None:
        start = reference[kept]
        own = [float(start.min() / start.sum())] if len(start) else []
        # rows of target 0 have the numerator 0, so a witness on all rows proves the same
        targets = _on_all_rows(system, reduction, read_targets(reduction.system, [*units, *own]))
    reduced = targets.select(reduction.rows)
    by_target = np.ones(system.profiles, dtype=bool)
    by_target[kept] = False
    if not len(kept):
        weights = np.zeros(reduction.system.rows, dtype=np.int64)
        # no profile is left, so any row of positive target refutes; the largest says most
        weights[np.argmax(reduction.system.targets)] = -1
        return Decision(
            Verdict.INFEASIBLE,
            targets,
            np.zeros_like(by_target),
            by_target,
            _with_zero_rows(system, reduction, weights, strict=False),
        )
    problem, order = _problem_of(reduction.system, reference[kept])
    found = decide(problem, reduced)
    if found.verdict is Verdict.INFEASIBLE and found.weights is not None:
        plain = tidy(reduction.system, found.weights)
        if reduced.dot(plain) >= -reduced.rounding(plain):  # float totals agree to rounding only
            plain = found.weights
        weights = _with_zero_rows(system, reduction, plain, strict=False)
        return Decision(found.verdict, targets, np.zeros_like(by_target), by_target, weights)
    zeros = by_target.copy()
    zeros[kept[order[found.zeros]]] = True
    proved = found.weights
    if proved is None and zeros.any():
        # all zeros are due to targets of 0: only their own rows get a weight, below
        proved = np.zeros(reduction.system.rows, dtype=np.int64)
    if proved is not None:
        proved = _with_zero_rows(system, reduction, tidy(reduction.system, proved), strict=True)
    if found.solution is None:
        return Decision(found.verdict, targets, zeros, by_target, proved)
    solution = np.zeros(system.profiles)
    solution[kept[order]] = found.solution / problem.total
    verdict = Verdict.BOUNDARY if zeros.any() else Verdict.INTERIOR
    return Decision(verdict, targets, zeros, by_target, proved, solution, found.point, kept[order[found.profiles]])


def _problem_of(system: System, reference: FloatArray) -> tuple[Problem, IntArray]:
    """Return the problem that the search works on, and the order in which it has the system's profiles."""
    arranged, slabs, order = in_slab_order(system)
    # near 1, as the search's tolerances suppose; the verdict itself reads the exact targets
    targets = system.targets / system.targets[system.block(0)].max()
    start = reference[order]
    # also where it is NaN; the verdict depends on the support, not on the reference's masses
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
    # their target is 0, so raising them costs nothing of b.t
    lacking = int(strict) - spread_whole(full.index, full.offsets, whole)
    # profiles of positive targets lack nothing: there C^T t >= 0 was proved
    lacking[reduction.profiles] = 0
    for k in range(len(full.scopes)):
        needs = np.zeros(full.block(k).stop - full.block(k).start, dtype=weights.dtype)
        np.maximum.at(needs, full.index[k], lacking)
        zero = full.targets[full.block(k)] == 0.0
        whole[full.block(k)][zero] = needs[zero]
    return fit_type(whole, len(full.scopes))
