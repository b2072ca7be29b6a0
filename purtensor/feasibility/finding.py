"""The verdict on the whole support and all rows: what zero targets take away is put back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray, Profile, Table
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.system import Reduction, System, align, reduce_system
from purtensor.errors import InfeasibleError
from purtensor.feasibility.points import ExactPoint
from purtensor.feasibility.proof import fitted, spread_whole, tidy
from purtensor.feasibility.targets import ExactTargets, read_targets
from purtensor.feasibility.verdict import Verdict, decide
from purtensor.solving.problem import LabelledProblem, build_problem
from purtensor.tables.coded import CodedTable, encode


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """A verdict with its witness on the support of a reference.

    Attributes
    ----------
    coded, system, targets
        The reference on its support, the constraints on it, and the exact targets of all rows.
    zeros
        Shape (support,): the profiles that are empty in every solution.
    by_target
        Shape (support,): the profiles that a target of zero empties.
    weights
        Shape (D,): whole numbers t with C^T t >= 0, where the verdict needs them.
    solution
        Shape (support,): masses of total 1 that meet the constraints to rounding; None where there are none.
    point, profiles
        The exact solution, and where in the support each of its profiles stands.
    """

    verdict: Verdict
    coded: CodedTable
    system: System
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

    def exact_targets(self, k: int) -> dict[Profile, int]:
        """Return the positive targets of a constraint by label, in units of 1 / targets.denominator."""
        block = self.system.block(k)
        numbers = self.targets.numerators[block].tolist()
        labels = self._labels(self.system.scopes[k], self.system.row_codes[k])
        return {label: number for label, number in zip(labels, numbers, strict=True) if number}

    def exact_masses(self) -> dict[Profile, Fraction | int]:
        """Return the exact solution by label, in units of 1 / point.denominator."""
        if self.point is None or self.profiles is None:
            return {}
        codes = [code[self.profiles] for code in self.coded.codes]
        return dict(zip(self._labels(self.coded.domain.attributes, codes), self.point.masses(), strict=True))

    def _labels(self, scope: Sequence[str], codes: Sequence[IntArray]) -> list[Profile]:
        categories = self.coded.domain.select(scope).categories
        columns = [index.take(code).tolist() for index, code in zip(categories, codes, strict=True)]
        return list(zip(*columns, strict=True))


def find(reference: Table, constraints: Sequence[Marginal]) -> Finding:
    """Return the verdict on a reference and constraints.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        As the tables and constraints deserve.
    """
    try:
        labelled = build_problem(reference, constraints)
    except InfeasibleError:
        return _without_support(encode(reference), constraints)
    units = suggested_units(reference)
    units.append(float(labelled.arrays.reference.min() / labelled.arrays.reference.sum()))
    return _found(labelled, read_targets(labelled.arrays.system, units))


def suggested_units(reference: Table) -> list[float]:
    """Return the share of the mass that a regularised table's values are whole multiples of, where it says so."""
    attrs = reference.attrs
    if not {"strength", "profiles", "total"} <= attrs.keys():
        return []
    try:
        strength = Fraction(repr(float(attrs["strength"])))
        whole = strength.denominator * (Fraction(repr(float(attrs["total"]))) + int(attrs["profiles"]) * strength)
        return [float(1 / whole)] if whole > 0 else []
    except (TypeError, ValueError):  # someone else's attributes of the same names
        return []


def _found(labelled: LabelledProblem, targets: ExactTargets) -> Finding:
    decision = decide(labelled.arrays, targets)
    full, reduction = labelled.full, labelled.reduction
    kept = labelled.profiles[~decision.zeros]
    zeros = np.ones(full.profiles, dtype=bool)
    zeros[kept] = False
    verdict = decision.verdict
    if verdict is Verdict.INFEASIBLE:
        zeros[:] = False
    elif verdict is Verdict.INTERIOR and zeros.any():
        verdict = Verdict.BOUNDARY
    weights = None if decision.weights is None else tidy(reduction.system, decision.weights)
    if weights is None and zeros.any():
        weights = np.zeros(reduction.system.rows, dtype=np.int64)
    if weights is not None:
        weights = _on_all_rows(full, reduction, weights, strict=verdict is not Verdict.INFEASIBLE)
    solution = None
    if decision.solution is not None:
        solution = np.zeros(full.profiles)
        solution[labelled.profiles] = decision.solution / labelled.arrays.total
    return Finding(verdict, labelled.coded, full, _with_zero_rows(full, reduction, targets), zeros,
                   _removed(full, reduction), weights, solution, decision.point, kept)  # fmt: skip


def _removed(full: System, reduction: Reduction) -> BoolArray:
    removed = np.ones(full.profiles, dtype=bool)
    removed[reduction.profiles] = False
    return removed


def _with_zero_rows(full: System, reduction: Reduction, targets: ExactTargets) -> ExactTargets:
    numerators = np.zeros(full.rows, dtype=object)
    numerators[reduction.rows] = targets.numerators
    return ExactTargets(numerators, targets.denominator, targets.exact)


def _on_all_rows(full: System, reduction: Reduction, weights: IntArray, *, strict: bool) -> IntArray:
    """Return weights on all rows: those of zero targets make up for what their profiles lack.

    With `strict` the profiles of zero targets get a positive C^T t: they are empty, too.
    """
    whole = np.zeros(full.rows, dtype=weights.dtype)
    whole[reduction.rows] = weights
    removed = _removed(full, reduction)
    if not removed.any():
        return whole
    lacking = np.where(removed, int(strict) - spread_whole(full, whole), 0)
    for k in range(len(full.scopes)):
        needs = np.zeros(full.block(k).stop - full.block(k).start, dtype=weights.dtype)
        np.maximum.at(needs, full.index[k], lacking)
        zero = full.targets[full.block(k)] == 0.0
        whole[full.block(k)][zero] = needs[zero]
    return fitted(whole, len(full.scopes))


def _without_support(coded: CodedTable, constraints: Sequence[Marginal]) -> Finding:
    """Return the verdict where a positive target has no profile left once those of zero targets are gone."""
    check_consistency(constraints)
    full = align(coded, constraints)
    reduction = reduce_system(full)
    bare = np.flatnonzero(~reduction.system.supported())
    weights = np.zeros(reduction.system.rows, dtype=np.int64)
    weights[bare[np.argmax(reduction.system.targets[bare])]] = -1
    targets = _with_zero_rows(full, reduction, read_targets(reduction.system))
    return Finding(Verdict.INFEASIBLE, coded, full, targets, np.zeros(full.profiles, dtype=bool),
                   _removed(full, reduction), _on_all_rows(full, reduction, weights, strict=False))  # fmt: skip
