"""Solutions with C diag(p) C^T that are refined to rounding, for every form of the matrix."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.hessian.factored import Factored
from purtensor.solving.iterate import on_profiles, row_sums
from purtensor.solving.problem import Problem

_MOST_REFINEMENTS = 30
_RELATIVE = 1e-12


def refined_solve(problem: Problem, factored: Factored, masses: FloatArray, right: FloatArray) -> FloatArray:
    """Return d with C diag(masses) C^T d = right, of the factorisation at these masses, zero on dependent rows."""
    found = factored.solve(right)
    goal = _RELATIVE * float(np.abs(right).max(initial=0.0))
    before = np.inf
    for _ in range(_MOST_REFINEMENTS):
        # by passes over the masses: the factorised matrix has roundings of its own
        left = right - row_sums(problem.system, masses * on_profiles(problem.system, found))
        miss = float(np.abs(left).max(initial=0.0))
        if miss <= goal or not miss < before:
            break
        before = miss
        found = found + factored.solve(left)
    return found
