"""Verdicts that need no search: a row without profiles refutes the constraints, and some questions are left open."""

from __future__ import annotations

from typing import Any

import numpy as np

from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.explanation import Explanation
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore.diagnosis import StoredWitness, stored_diagnosis
from purtensor.outofcore.targets import Constraint
from purtensor.outofcore.unreachable_targets import BareRowError
from purtensor.tables.coded import sparse_table
from purtensor.tables.store.open_store import StoredTable


def without_profile(
    reference: StoredTable, constraints: tuple[Constraint, ...], bare: BareRowError
) -> Diagnosis[StoredTable]:
    """Return the diagnosis of a row that has a target and no profile."""
    tables = []
    for k, constraint in enumerate(constraints):
        here = k == bare.constraint
        codes = [np.array([code] if here else [], dtype=np.int64) for code in bare.codes[: len(constraint.scope)]]
        codes += [np.empty(0, dtype=np.int64)] * (len(constraint.scope) - len(codes))
        # -1 on a row without profiles: C^T t = 0 everywhere, and b.t is minus its target (notes/feasibility.md)
        values: Any = np.full(int(here), -1, dtype=np.int64)
        tables.append(sparse_table(reference.domain.select(constraint.scope), codes, values, name="certificate"))
    scope = ", ".join(constraints[bare.constraint].scope)
    explanation = Explanation(
        (
            f"{Verdict.INFEASIBLE.sentence.capitalize()}.",
            f"{bare.row} has a positive target over ({scope}), and the support has no profile there.",
        )
    )
    return stored_diagnosis(
        Verdict.INFEASIBLE, "rational", constraints, StoredWitness(explanation, reference), tuple(tables)
    )


def open_for(reference: StoredTable, constraints: tuple[Constraint, ...], reason: str = "") -> Diagnosis[StoredTable]:
    """Return the verdict that the question is open, and why where that is known."""
    sentences = [f"{Verdict.OPEN.sentence.capitalize()}.", *([f"{reason[0].upper()}{reason[1:]}."] if reason else [])]
    return stored_diagnosis(
        Verdict.OPEN, "nothing", constraints, StoredWitness(Explanation(tuple(sentences)), reference)
    )
