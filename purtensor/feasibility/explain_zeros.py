"""Why one profile is empty: a proof of few rows."""

from __future__ import annotations

import numpy as np

from purtensor.constraints.system import System
from purtensor.feasibility.coarser_questions import Question
from purtensor.feasibility.conflict import Conflict
from purtensor.feasibility.farkas import prove, rounded
from purtensor.feasibility.linear_programs import sparse_emptying_weights
from purtensor.feasibility.targets import ExactTargets

_LARGEST_PROGRAM = 30_000


def emptying_proof(system: System, targets: ExactTargets, profile: int) -> Conflict | None:
    """Return rows that need exactly what their only places have, which leaves nothing for the profile; None if large.

    The places are rows of positive weight; the profile lies there, and needs nothing.
    """
    if system.index.size > _LARGEST_PROGRAM:
        return None
    found = sparse_emptying_weights(system, profile)
    if found is None or not np.abs(found).max() > 0:
        return None
    used = np.abs(found)[np.abs(found) > 1e-9 * np.abs(found).max()]
    for scale in (1.0, 2.0, 3.0, 6.0):
        weights = rounded(found, scale / float(used.min()))
        if weights is None:
            continue
        proof = prove(system, targets, weights)
        if proof.zeros[profile]:
            lowered, raised = (
                np.where(proof.weights < 0, -proof.weights, 0),
                np.where(proof.weights > 0, proof.weights, 0),
            )
            question = Question(system, targets, tuple(range(len(system.scopes))))
            return Conflict(question, proof.weights, targets.dot(lowered), targets.dot(raised), False)
    return None
