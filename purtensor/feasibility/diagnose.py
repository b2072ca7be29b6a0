"""The verdict on a table in memory and marginals, in labels, and the witness that it rests on: exact numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from purtensor._typing import IntArray, Profile, Table
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.system import System, align
from purtensor.feasibility import check_witness
from purtensor.feasibility.decision import settle
from purtensor.feasibility.diagnosis import Diagnosis, HeldProof, refuse_stored
from purtensor.feasibility.explanation import Explanation, explain
from purtensor.feasibility.flows import is_binary, triangle_of
from purtensor.feasibility.verdict import Decision, Verdict
from purtensor.feasibility.violation import smallest_violation
from purtensor.tables.coded import CodedTable, dense_table, encode, is_sparse, sparse_table

_LARGEST_PROGRAM = 12_000


@dataclass(frozen=True, eq=False)
class MemoryWitness(HeldProof):
    """A witness in memory: see `Diagnosis` for each attribute."""

    coded: CodedTable
    system: System
    decision: Decision
    total: float

    @cached_property
    def implied_zeros(self) -> Table:
        """The profiles that are empty in every solution."""
        rows = np.flatnonzero(self.decision.zeros)
        codes = [code[rows] for code in self.coded.codes]
        return sparse_table(self.coded.domain, codes, self.coded.values[rows], name="implied zeros")

    @cached_property
    def solution(self) -> Table | None:
        """A table that meets the constraints."""
        if self.decision.solution is None:
            return None
        return self.coded.rebuild(self.decision.solution * self.total, name="solution")

    @property
    def at_bound(self) -> Table:
        """-1 at the implied zeros."""
        return self.coded.rebuild(-self.decision.zeros.astype(np.float64), name="at_bound")

    @cached_property
    def explanation(self) -> Explanation:
        """The verdict in words."""
        return explain(self.system, self.decision, self.coded.describe)

    def in_memory(self, what: str) -> tuple[System, Decision]:
        """Return the arrays."""
        return self.system, self.decision

    def verify(self, diagnosis: Diagnosis) -> bool:
        """Return whether the witness proves the verdict, checked again from the tables of the diagnosis."""
        targets = [self.exact_targets(k) for k in range(len(diagnosis.constraints))]
        units = self.decision.targets.denominator
        read = (
            check_witness.stands_for(constraint.target, exact, units)
            for constraint, exact in zip(diagnosis.constraints, targets, strict=True)
        )
        if diagnosis.verdict is Verdict.OPEN or not all(read):
            return False
        support = check_witness.support_of(diagnosis.reference)
        empty = {profile for profile, _ in check_witness.entries(diagnosis.implied_zeros)}
        if diagnosis.certificate and not self._is_certified(diagnosis, support, empty, targets):
            return False
        if diagnosis.verdict is Verdict.INFEASIBLE:
            return bool(diagnosis.certificate)
        return (bool(diagnosis.certificate) or not empty) and self._is_solved(diagnosis, support - empty, targets)

    def _is_certified(
        self,
        diagnosis: Diagnosis,
        support: set[tuple[object, ...]],
        empty: set[tuple[object, ...]],
        targets: list[check_witness.Whole],
    ) -> bool:
        costs = check_witness.costs_of(support, check_witness.attributes_of(diagnosis.reference), diagnosis.certificate)
        value, absolute = check_witness.value_of(diagnosis.certificate, targets)
        # float targets: 64 eps of b.|t|, as when the proof was found
        allowed = Fraction(0) if self.decision.targets.exact else check_witness.ROUNDING * absolute
        if min(costs.values()) < 0:
            return False
        if diagnosis.verdict is Verdict.INFEASIBLE:
            return value < -allowed
        return abs(value) <= allowed and {profile for profile, cost in costs.items() if cost > 0} == empty

    def _is_solved(
        self, diagnosis: Diagnosis, support: set[tuple[object, ...]], targets: list[check_witness.Whole]
    ) -> bool:
        point = self.decision.point
        if point is None:
            return False
        masses = self.exact_masses()
        # the solution is in finer units than the targets
        scale = point.denominator // self.decision.targets.denominator
        allowed = check_witness.ROUNDING * point.denominator * (diagnosis.exact != "rational")
        attributes = check_witness.attributes_of(diagnosis.reference)
        return (
            # a solution has mass on all that is not an implied zero, and nowhere else
            masses.keys() == support
            and min(masses.values()) > 0
            and all(
                check_witness.meets(
                    masses, attributes, constraint.scope, {row: n * scale for row, n in target.items()}, allowed
                )
                for constraint, target in zip(diagnosis.constraints, targets, strict=True)
            )
        )

    def exact_targets(self, k: int) -> dict[Profile, int]:
        """Return the positive targets of a constraint by label, in units of 1 / targets.denominator."""
        block = self.system.block(k)
        numbers = self.decision.targets.numerators[block].tolist()
        labels = self.labels(self.system.scopes[k], self.system.row_codes[k])
        return {label: number for label, number in zip(labels, numbers, strict=True) if number}

    def exact_masses(self) -> dict[Profile, Fraction | int]:
        """Return the exact solution by label, in units of 1 / point.denominator."""
        point, profiles = self.decision.point, self.decision.profiles
        if point is None or profiles is None:
            return {}
        codes = [code[profiles] for code in self.coded.codes]
        return dict(zip(self.labels(self.coded.domain.attributes, codes), point.masses(), strict=True))

    def labels(self, scope: Sequence[str], codes: Sequence[IntArray]) -> list[Profile]:
        """Return the labels that codes of a scope stand for."""
        categories = self.coded.domain.select(scope).categories
        columns = [index.take(code).tolist() for index, code in zip(categories, codes, strict=True)]
        return list(zip(*columns, strict=True))


def memory_witness_of(diagnosis: Diagnosis) -> MemoryWitness:
    """Return the arrays behind a diagnosis of marginals in memory."""
    if not isinstance(diagnosis.evidence, MemoryWitness):
        raise refuse_stored("this")
    return diagnosis.evidence


def diagnose_table(reference: Table, constraints: Sequence[Marginal]) -> Diagnosis:
    """Return whether marginals with targets can be met on the support of a table in memory.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        Naming what does not fit.
    """
    flat = tuple(constraints)
    coded = encode(reference)
    check_consistency(flat)
    system = align(coded, flat)
    decision = settle(system, coded.values, suggest_units(reference))
    if decision.verdict is Verdict.INFEASIBLE:
        decision = replace(decision, weights=_plainest(system, decision))
    weights = decision.weights
    return Diagnosis(
        verdict=decision.verdict,
        certificate=() if weights is None else tuple(_weights_table(system, weights, k, c) for k, c in enumerate(flat)),
        exact=decision.arithmetic,
        reference=reference,
        constraints=flat,
        evidence=MemoryWitness(coded, system, decision, flat[0].total),
    )


def _weights_table(system: System, weights: IntArray, k: int, constraint: Marginal) -> Table:
    domain = system.domain.select(system.scopes[k])
    values = weights[system.block(k)]
    if is_sparse(constraint.target):
        return sparse_table(domain, system.row_codes[k], values, name="certificate")
    dense = np.zeros(domain.sizes, dtype=values.dtype)
    dense[tuple(system.row_codes[k])] = values
    return dense_table(domain, dense, name="certificate")


def _plainest(system: System, decision: Decision) -> IntArray | None:
    """Return the weights of the smallest violation of parity, where they are found at little cost: -1 and 1 there."""
    triangle = triangle_of(system) if system.index.size <= _LARGEST_PROGRAM else None
    if triangle is None or is_binary(system, triangle):  # a cut of zeros and ones is as plain
        return decision.weights
    least = smallest_violation(system, decision.targets, [triangle.parity])
    if least is None or least.unit != 1 or least.proved <= decision.targets.rounding(least.weights):
        return decision.weights
    return least.weights


def suggest_units(reference: Table) -> list[float]:
    """Return the share of the mass that a regularised table's values are whole multiples of, where it says so."""
    attrs = reference.attrs
    if not {"strength", "profiles", "total"} <= attrs.keys():
        return []
    try:
        # as typed: 0.1 is meant as 1/10, not as the float next to it
        strength = Fraction(repr(float(attrs["strength"])))
        whole = strength.denominator * (Fraction(repr(float(attrs["total"]))) + int(attrs["profiles"]) * strength)
        return [float(1 / whole)] if whole > 0 else []
    except (TypeError, ValueError):  # someone else's attributes of the same names
        return []
