"""A verdict with the labels of its reference and constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from purtensor._typing import BoolArray, IntArray, Profile, Table
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.system import System, align
from purtensor.feasibility.decision import Settled, settle
from purtensor.feasibility.flows import is_binary, triangle_of
from purtensor.feasibility.verdict import Verdict
from purtensor.feasibility.violation import smallest_violation
from purtensor.tables.coded import CodedTable, encode

_LARGEST_PROGRAM = 12_000


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """A verdict on the constraints (`system`) over the support of a reference (`coded`)."""

    coded: CodedTable
    system: System
    settled: Settled

    @property
    def zeros(self) -> BoolArray:
        """Shape (support,): the profiles that are empty in every solution."""
        return self.settled.zeros

    def exact_targets(self, k: int) -> dict[Profile, int]:
        """Return the positive targets of a constraint by label, in units of 1 / targets.denominator."""
        block = self.system.block(k)
        numbers = self.settled.targets.numerators[block].tolist()
        labels = self.labels(self.system.scopes[k], self.system.row_codes[k])
        return {label: number for label, number in zip(labels, numbers, strict=True) if number}

    def exact_masses(self) -> dict[Profile, Fraction | int]:
        """Return the exact solution by label, in units of 1 / point.denominator."""
        point, profiles = self.settled.point, self.settled.profiles
        if point is None or profiles is None:
            return {}
        codes = [code[profiles] for code in self.coded.codes]
        return dict(zip(self.labels(self.coded.domain.attributes, codes), point.masses(), strict=True))

    def labels(self, scope: Sequence[str], codes: Sequence[IntArray]) -> list[Profile]:
        """Return the labels that codes of a scope stand for."""
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
    coded = encode(reference)
    check_consistency(constraints)
    system = align(coded, constraints)
    settled = settle(system, coded.values, suggested_units(reference))
    if settled.verdict is Verdict.INFEASIBLE:
        settled = replace(settled, weights=_plainest(system, settled))
    return Finding(coded, system, settled)


def _plainest(system: System, settled: Settled) -> IntArray | None:
    """Return the weights of the smallest violation of parity, where they are found at little cost: -1 and 1 there."""
    triangle = triangle_of(system) if system.index.size <= _LARGEST_PROGRAM else None
    if triangle is None or is_binary(system, triangle):  # a cut of zeros and ones is as plain
        return settled.weights
    least = smallest_violation(system, settled.targets, [triangle.parity])
    if least is None or least.unit != 1 or least.proved <= settled.targets.rounding(least.weights):
        return settled.weights
    return least.weights


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
