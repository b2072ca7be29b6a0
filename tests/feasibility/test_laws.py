"""What must not change a verdict: units, the reference's masses, order, layout, and constraints said twice."""

from __future__ import annotations

import pytest

import purtensor as pt
from tests.feasibility.drawn import KINDS, drawn


def verdict_of(reference, constraints):
    diagnosis = pt.diagnose(reference, constraints)
    assert diagnosis.verify()
    attributes = diagnosis.implied_zeros.indexes["profile"].names
    zeros = {frozenset(zip(attributes, profile)) for profile in diagnosis.implied_zeros.indexes["profile"]}
    return str(diagnosis.verdict), zeros


def rescaled(constraints, factor):
    return [pt.Marginal(constraint.target * factor) for constraint in constraints]


CHANGES = {
    "targets in thirds": lambda reference, constraints: (reference, rescaled(constraints, 1 / 3)),
    "targets in millions": lambda reference, constraints: (reference, rescaled(constraints, 1.1e-6)),
    "another reference": lambda reference, constraints: (pt.uniform(reference) * 7, constraints),
    "constraints turned round": lambda reference, constraints: (reference, constraints[::-1]),
    "a constraint said twice": lambda reference, constraints: (reference, [*constraints, constraints[0]]),
    "what follows from the first": lambda reference, constraints: (
        reference,
        [pt.Marginal(pt.marginal(constraints[0].target, constraints[0].scope[:1])), *constraints],
    ),
    "the other layout": lambda reference, constraints: (
        pt.to_dense(reference) if "profile" in reference.dims else pt.to_sparse(reference),
        constraints,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_diagnose__the_verdict_stays(change, kind):
    for seed in range(200, 204):
        problem = drawn(seed, kind)
        changed = CHANGES[change](problem.reference, list(problem.constraints))
        assert verdict_of(*changed) == verdict_of(problem.reference, problem.constraints)
