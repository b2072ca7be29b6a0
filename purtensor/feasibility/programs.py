"""Linear programs whose answers are candidates: weights that may prove something, never a verdict."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

from purtensor._typing import FloatArray
from purtensor.constraints.system import System

_TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": True}


def coefficient_matrix(system: System) -> csr_array:
    """Return C as a sparse matrix, rows by profiles."""
    constraints, profiles = system.index.shape
    rows = (system.index.astype(np.int64) + system.offsets[:-1, None]).reshape(-1)
    columns = np.tile(np.arange(profiles), constraints)
    return csr_array((np.ones(rows.size), (rows, columns)), shape=(system.rows, profiles))


def refuting_weights(system: System) -> FloatArray | None:
    """Return weights in [-1, 1] with C^T t >= 0 that make b.t as small as it gets; None where the program fails.

    Minus the smallest b.t is the smallest L1 miss over all rows that any table on the support has.
    """
    scaled = system.targets / np.median(system.targets)
    matrix = coefficient_matrix(system).T.tocsr()
    found = linprog(scaled, A_ub=-matrix, b_ub=np.zeros(system.profiles), bounds=(-1.0, 1.0), method="highs",
                    options=_TOLERANCES)  # fmt: skip
    return None if found.x is None else np.asarray(found.x)


def emptying_weights(system: System) -> FloatArray | None:
    """Return weights with C^T t >= 0 and b.t = 0 that are positive at as many profiles as any; None on failure."""
    scaled = system.targets / np.median(system.targets)
    rows, profiles = system.rows, system.profiles
    matrix = coefficient_matrix(system).T.tocsr()
    flags = csr_array((np.ones(profiles), (np.arange(profiles), np.arange(profiles))), shape=(profiles, profiles))
    above = hstack([-matrix, flags]).tocsr()
    level = csr_array(np.concatenate([scaled, np.zeros(profiles)])[None, :])
    found = linprog(
        np.concatenate([np.zeros(rows), -np.ones(profiles)]), A_ub=above, b_ub=np.zeros(profiles), A_eq=level,
        b_eq=np.zeros(1), bounds=[(None, None)] * rows + [(0.0, 1.0)] * profiles, method="highs", options=_TOLERANCES,
    )  # fmt: skip
    return None if found.x is None else np.asarray(found.x[:rows])
