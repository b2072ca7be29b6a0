"""The verdict on a reference and constraints, in labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, cast, overload

import numpy as np

from purtensor._typing import IntArray, Table
from purtensor.constraints.marginals import Constraints, Marginal, as_constraints
from purtensor.constraints.positions import soft_positions
from purtensor.errors import InvalidOptionError
from purtensor.feasibility import check_witness as checking
from purtensor.feasibility.explanation import Explanation, explain
from purtensor.feasibility.finding import Finding, find
from purtensor.feasibility.mixed_verdict import MixedVerdict, judge
from purtensor.feasibility.verdict import Verdict
from purtensor.feasibility.violation import Violation, smallest_miss, smallest_violation
from purtensor.solving.dual.labelled import Bounds, GeneralOptions, build_question, general_constraints, is_plain
from purtensor.tables.coded import dense_table, is_sparse, sparse_table
from purtensor.tables.dispatch import engine_of
from purtensor.tables.store.open_store import StoredTable


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Whether constraints can be met on the support of a reference, with a witness that can be checked.

    Attributes
    ----------
    verdict
        "interior", "boundary", "infeasible" or "open"; `verdict.sentence` says it in words.
    implied_zeros
        A sparse table of the profiles that are empty in every solution although the reference has mass there; its
        values are the reference's. A target of zero empties its profiles, too.
    certificate
        A table of whole numbers t for each constraint. For every profile the sum of its entries, C^T t, is not
        negative; summed against the targets, b.t, they give less than 0 (infeasible), or 0 while C^T t is positive at
        exactly the implied zeros (boundary). Empty where the verdict is interior.
    solution
        A table that meets the constraints to rounding, with mass on every profile but the implied zeros; None where
        there is none.
    exact
        Which arithmetic proved it: "rational" where the targets are whole multiples of one unit, or products of such
        marginals; "interval" where they are floats, known to rounding; then a boundary is a "boundary to rounding".
    reference, constraints
        What was diagnosed; not copied.
    """

    verdict: Verdict
    implied_zeros: Table = field(repr=False)
    certificate: tuple[Table, ...] = field(repr=False)
    solution: Table | None = field(repr=False)
    exact: str
    reference: Table = field(repr=False)
    constraints: tuple[Marginal, ...] = field(repr=False)
    finding: Finding = field(repr=False, compare=False)

    @cached_property
    def explanation(self) -> Explanation:
        """The verdict in words; for a contradiction the smallest set of attributes and constraints that show it."""
        return explain(self.finding)

    def __str__(self) -> str:
        return f"{self.verdict}\n{self.explanation}"

    def _repr_html_(self) -> str:
        return f"<p><b>{self.verdict}</b></p>{self.explanation._repr_html_()}"

    def smallest_miss(self) -> Violation | None:
        """Return the smallest sum of the misses of all targets (L1, total mass 1); None where the program fails.

        Examples
        --------
        >>> import purtensor as pt
        >>> problem = pt.problems.load("cut_3x3")
        >>> str(pt.diagnose(problem.reference, problem.constraints).smallest_miss().proved)
        '2/3'
        """
        return smallest_miss(self.finding.system, self.finding.settled.targets)

    def smallest_violation(self, soft: int | Marginal | Iterable[int | Marginal] = 0) -> Violation | None:
        """Return the smallest sum of the misses of some constraints while all others are met (L1, total mass 1).

        Parameters
        ----------
        soft
            The constraints that may be missed: one or more Marginals, or their positions; in PUR the first is parity.
            With two responses the answer for parity is a maximum flow, and exact; else it is a linear program, with
            an exact lower bound.

        Raises
        ------
        InvalidOptionError
            No constraint of these, or none.

        Examples
        --------
        >>> import purtensor as pt
        >>> problem = pt.problems.load("proxy")
        >>> pt.diagnose(problem.reference, problem.constraints).smallest_violation().value
        0.4
        """
        positions = soft_positions(self.constraints, soft)
        return smallest_violation(self.finding.system, self.finding.settled.targets, positions)

    @property
    def zeros_beyond_targets(self) -> Table:
        """The implied zeros that no target of zero tells at once: only the constraints together empty them."""
        settled = self.finding.settled
        return self.implied_zeros[~settled.by_target[settled.zeros]]

    def verify(self) -> bool:
        """Return whether the witness proves the verdict; checked again from the tables in rational arithmetic.

        The targets are taken as the exact numbers that their floats round, the same that the verdict is about; an
        exact solution is summed label by label. An open verdict has no witness.
        """
        targets = [self.finding.exact_targets(k) for k in range(len(self.constraints))]
        units = self.finding.settled.targets.denominator
        read = (
            checking.stands_for(constraint.target, exact, units)
            for constraint, exact in zip(self.constraints, targets, strict=True)
        )
        if self.verdict is Verdict.OPEN or not all(read):
            return False
        support = checking.support_of(self.reference)
        empty = {profile for profile, _ in checking.entries(self.implied_zeros)}
        if self.certificate and not self._is_certified(support, empty, targets):
            return False
        if self.verdict is Verdict.INFEASIBLE:
            return bool(self.certificate)
        return (bool(self.certificate) or not empty) and self._is_solved(support - empty, targets)

    def _is_certified(
        self, support: set[tuple[object, ...]], empty: set[tuple[object, ...]], targets: list[checking.Whole]
    ) -> bool:
        costs = checking.costs_of(support, checking.attributes_of(self.reference), self.certificate)
        value, absolute = checking.value_of(self.certificate, targets)
        allowed = Fraction(0) if self.finding.settled.targets.exact else checking.ROUNDING * absolute
        if min(costs.values()) < 0:
            return False
        if self.verdict is Verdict.INFEASIBLE:
            return value < -allowed
        return abs(value) <= allowed and {profile for profile, cost in costs.items() if cost > 0} == empty

    def _is_solved(self, support: set[tuple[object, ...]], targets: list[checking.Whole]) -> bool:
        point = self.finding.settled.point
        if point is None:
            return False
        masses = self.finding.exact_masses()
        scale = point.denominator // self.finding.settled.targets.denominator
        allowed = checking.ROUNDING * point.denominator * (self.exact != "rational")
        attributes = checking.attributes_of(self.reference)
        return (
            masses.keys() == support
            and min(masses.values()) > 0
            and all(
                checking.meets(
                    masses, attributes, constraint.scope, {row: n * scale for row, n in target.items()}, allowed
                )
                for constraint, target in zip(self.constraints, targets, strict=True)
            )
        )


@overload
def diagnose(reference: Table | StoredTable, constraints: Constraints) -> Diagnosis: ...
@overload
def diagnose(
    reference: Table | StoredTable,
    constraints: Any,
    *,
    ratio_bounds: Bounds = None,
    cell_bounds: Bounds = None,
    total: str | float = "constrained",
    signed: bool = False,
) -> Diagnosis | MixedVerdict: ...
def diagnose(
    reference: Table | StoredTable,
    constraints: Any,
    *,
    ratio_bounds: Bounds = None,
    cell_bounds: Bounds = None,
    total: str | float = "constrained",
    signed: bool = False,
) -> Diagnosis | MixedVerdict:
    """Return whether the constraints can be met on the support of the reference, proved and explained.

    Parameters
    ----------
    reference
        A table; only where it has mass matters. A stored table, or one of chunks of dask, is diagnosed slab by slab,
        and the result is a StoredDiagnosis.
    constraints
        A constraint of any kind, or an iterable of them, flattened one level.
    ratio_bounds, cell_bounds, total, signed
        As in `project`. With them, or with constraints other than Marginals with targets, the answer is a MixedVerdict:
        its `explanation` says how far rows can reach within the bounds.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        Naming what does not fit.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.tabulate({"hired": ["no", "yes", "no"], "sex": ["f", "m", "m"], "team": ["a", "b", "b"]})
    >>> diagnosis = pt.diagnose(f, pt.pur(f, response="hired", protected="sex"))
    >>> str(diagnosis.verdict), diagnosis.verify()
    ('infeasible', True)
    """
    elsewhere = engine_of(reference, "diagnose")
    options = GeneralOptions(ratio_bounds, cell_bounds, "kl", total, None, signed)
    if elsewhere is not None:
        if not options.plain:
            raise InvalidOptionError("tables on disk are diagnosed with marginals only, without bounds or totals")
        told: Diagnosis = elsewhere(reference, constraints)
        return told
    reference = cast(Table, reference)
    given = general_constraints(constraints)
    if not is_plain(given, options):
        asked = build_question(reference, given, options).question
        return judge(asked, options.in_words())
    flat = as_constraints(given)
    found = find(reference, flat)
    coded, settled = found.coded, found.settled
    rows = np.flatnonzero(settled.zeros)
    empty = sparse_table(coded.domain, [code[rows] for code in coded.codes], coded.values[rows], name="implied zeros")
    certificate: tuple[Table, ...] = ()
    if settled.weights is not None:
        certificate = tuple(_weights_table(found, settled.weights, k, target) for k, target in enumerate(flat))
    solution = None
    if settled.solution is not None:
        solution = coded.rebuild(settled.solution * flat[0].total, name="solution")
    return Diagnosis(
        verdict=settled.verdict,
        implied_zeros=empty,
        certificate=certificate,
        solution=solution,
        exact=settled.arithmetic,
        reference=reference,
        constraints=flat,
        finding=found,
    )


def _weights_table(found: Finding, weights: IntArray, k: int, constraint: Marginal) -> Table:
    system = found.system
    domain = system.domain.select(system.scopes[k])
    values = weights[system.block(k)]
    if is_sparse(constraint.target):
        return sparse_table(domain, system.row_codes[k], values, name="certificate")
    dense = np.zeros(domain.sizes, dtype=values.dtype)
    dense[tuple(system.row_codes[k])] = values
    return dense_table(domain, dense, name="certificate")
