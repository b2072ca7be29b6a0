"""The verdict on a table in memory and marginals, in labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from purtensor._typing import IntArray, Table
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.system import System, align
from purtensor.feasibility.decision import settle
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.flows import is_binary, triangle_of
from purtensor.feasibility.memory_witness import MemoryWitness
from purtensor.feasibility.verdict import Decision, Verdict
from purtensor.feasibility.violation import smallest_violation
from purtensor.tables.coded import dense_table, encode, is_sparse, sparse_table

_LARGEST_PROGRAM = 12_000


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
    decision = settle(system, coded.values, suggested_units(reference))
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


def suggested_units(reference: Table) -> list[float]:
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
