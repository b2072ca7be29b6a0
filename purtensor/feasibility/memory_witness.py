"""What a verdict in memory rests on: exact numbers, by label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from purtensor._typing import Table
from purtensor.feasibility import check_witness
from purtensor.feasibility.diagnosis import Diagnosis, refuse_stored
from purtensor.feasibility.explanation import Explanation, explain
from purtensor.feasibility.finding import Finding
from purtensor.feasibility.incompatibility import Incompatibility, incompatibility
from purtensor.feasibility.verdict import Verdict
from purtensor.feasibility.violation import Violation, smallest_miss, smallest_violation


@dataclass(frozen=True, eq=False)
class MemoryWitness:
    """A witness in memory: see `Diagnosis` for each attribute."""

    finding: Finding
    implied_zeros: Table
    solution: Table | None

    @cached_property
    def explanation(self) -> Explanation:
        """The verdict in words."""
        return explain(self.finding)

    @property
    def has_face(self) -> bool:
        """Always."""
        return True

    def certificate_chunks(self, diagnosis: Diagnosis) -> Iterator[tuple[Table, ...]]:
        """Yield the whole proof at once."""
        if diagnosis.certificate:
            yield diagnosis.certificate

    def smallest_miss(self) -> Violation | None:
        """Return the smallest sum of all misses."""
        return smallest_miss(self.finding.system, self.finding.settled.targets)

    def incompatibility(self) -> Incompatibility | None:
        """Return one minus the largest mass that exceeds no target."""
        return incompatibility(self.finding.system, self.finding.settled.targets)

    def smallest_violation(self, positions: list[int]) -> Violation | None:
        """Return the smallest sum of the misses of some constraints while all others are met."""
        return smallest_violation(self.finding.system, self.finding.settled.targets, positions)

    def zeros_beyond_targets(self) -> Table:
        """Return the implied zeros that only the constraints together tell."""
        settled = self.finding.settled
        return self.implied_zeros[~settled.by_target[settled.zeros]]

    def verify(self, diagnosis: Diagnosis) -> bool:
        """Return whether the witness proves the verdict, checked again from the tables of the diagnosis."""
        targets = [self.finding.exact_targets(k) for k in range(len(diagnosis.constraints))]
        units = self.finding.settled.targets.denominator
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
        allowed = Fraction(0) if self.finding.settled.targets.exact else check_witness.ROUNDING * absolute
        if min(costs.values()) < 0:
            return False
        if diagnosis.verdict is Verdict.INFEASIBLE:
            return value < -allowed
        return abs(value) <= allowed and {profile for profile, cost in costs.items() if cost > 0} == empty

    def _is_solved(
        self, diagnosis: Diagnosis, support: set[tuple[object, ...]], targets: list[check_witness.Whole]
    ) -> bool:
        point = self.finding.settled.point
        if point is None:
            return False
        masses = self.finding.exact_masses()
        scale = point.denominator // self.finding.settled.targets.denominator
        allowed = check_witness.ROUNDING * point.denominator * (diagnosis.exact != "rational")
        attributes = check_witness.attributes_of(diagnosis.reference)
        return (
            masses.keys() == support
            and min(masses.values()) > 0
            and all(
                check_witness.meets(
                    masses, attributes, constraint.scope, {row: n * scale for row, n in target.items()}, allowed
                )
                for constraint, target in zip(diagnosis.constraints, targets, strict=True)
            )
        )


def finding_of(diagnosis: Diagnosis) -> Finding:
    """Return the arrays behind a diagnosis in memory."""
    if not isinstance(diagnosis.evidence, MemoryWitness):
        raise refuse_stored("this")
    return diagnosis.evidence.finding
