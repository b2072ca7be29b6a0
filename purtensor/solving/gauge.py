"""Potentials made unique: zero on dependent rows."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.constraints.rank.independence import independent_rows
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.hessian.conjugate import Conjugate
from purtensor.solving.iterate import on_profiles, row_sums
from purtensor.solving.problem import Problem

_REFINEMENTS = 4
_ROUNDING = 5e-15
_MOST_DENSE = 2_000_000


def canonical_potentials(problem: Problem, potentials: FloatArray) -> FloatArray:
    """Return the potentials with the same C^T t that are zero on dependent rows.

    They solve (C_i C_i^T) t = C_i (C^T t), which has nothing to do with the range of the masses; refinement takes the
    rounding out. Where rows are so nearly dependent that it does not, they are fitted without squaring the condition;
    where that is too large, the potentials stay as they are: that the table is what they say counts for more.
    """
    hessian = hessian_of(problem)
    if isinstance(hessian, Conjugate):
        dependent = ~independent_rows(problem.system).mask(problem.system.rows)
        # Newton's accuracy of 1e-3 would take too many refinements, and the solution has to be 0 on dependent rows
        hessian = Conjugate(problem.system, hessian.note, np.flatnonzero(dependent), relative=1e-6)
    wanted = on_profiles(problem.system, potentials)
    # notes/duality.md, equation 5: with weights of 1 the range of the masses plays no part
    ones = np.ones_like(problem.reference)
    found, factored = hessian.factor_and_solve(ones, row_sums(problem.system, wanted))
    for _ in range(_REFINEMENTS):
        found = found + factored.solve(row_sums(problem.system, wanted - on_profiles(problem.system, found)))
    allowed = _ROUNDING * (1.0 + float(np.abs(potentials).max(initial=0.0)))
    if _find_largest_error(problem, found, wanted) <= allowed:
        return found
    rows = independent_rows(problem.system).rows
    if len(rows) * problem.system.profiles <= _MOST_DENSE:
        found = np.zeros_like(potentials)
        fitted = np.zeros((problem.system.profiles, problem.system.rows))
        for k, index in enumerate(problem.index):
            fitted[np.arange(len(index)), problem.system.offsets[k] + index.astype(np.int64)] = 1.0
        # by C^T itself: C C^T has the square of its condition
        found[rows] = np.linalg.lstsq(fitted[:, rows], wanted, rcond=None)[0]
    return found if _find_largest_error(problem, found, wanted) <= allowed else potentials


def _find_largest_error(problem: Problem, potentials: FloatArray, wanted: FloatArray) -> float:
    """Return by how much C^T potentials differs from what is wanted, at most."""
    largest = float(np.abs(wanted - on_profiles(problem.system, potentials)).max(initial=0.0))
    return largest if np.isfinite(largest) else np.inf
