"""Potentials made unique: zero on dependent rows."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.constraints.rank.independence import independent_rows
from purtensor.kernels.spread import spread
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.hessian.conjugate import Conjugate
from purtensor.solving.iterate import row_sums
from purtensor.solving.problem import Problem

_REFINEMENTS = 4


def canonical_potentials(problem: Problem, potentials: FloatArray) -> FloatArray:
    """Return the potentials with the same C^T t that are zero on dependent rows.

    They solve (C_i C_i^T) t = C_i (C^T t), which is as well conditioned as the constraints themselves and has
    nothing to do with the range of the masses; refinement takes the rounding out.
    """
    hessian = hessian_of(problem)
    if isinstance(hessian, Conjugate):
        dependent = ~independent_rows(problem.system).mask(problem.system.rows)
        hessian = Conjugate(problem.system, hessian.note, np.flatnonzero(dependent), relative=1e-6)
    wanted = np.empty_like(problem.reference)
    spread(problem.index, problem.offsets, potentials, wanted)
    ones = np.ones_like(problem.reference)
    found, factored = hessian.factor_and_solve(ones, row_sums(problem, wanted))
    reached = np.empty_like(wanted)
    for _ in range(_REFINEMENTS):
        spread(problem.index, problem.offsets, found, reached)
        found = found + factored.solve(row_sums(problem, wanted - reached))
    return found
