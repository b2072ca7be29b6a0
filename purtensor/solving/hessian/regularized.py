"""Masses that are taken for larger where rounding hides what they tie together (notes/newton.md, equation 9)."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.problem import Problem

FLOORS = (1e-10, 1e-5)
"""The parts of an even share that are added to every mass, one after the other."""


def even_shares(problem: Problem) -> FloatArray:
    """Return, for each profile, the least of what its rows' targets give each of their profiles.

    Masses of that size exceed no target, and every profile has one.
    """
    shares = np.full_like(problem.reference, np.inf)
    for k, row in enumerate(problem.index):
        targets = problem.targets[problem.system.block(k)]
        # the least over its rows, so that the shares of no row sum to more than its target
        np.minimum(shares, (targets / np.maximum(np.bincount(row, minlength=len(targets)), 1))[row], out=shares)
    return shares
