"""What a solver of your own is given and returns, and the sums that it needs; with the solvers that are built in.

A solver is any object with a method `step(problem, iterate, budget)`. It moves the iterate and nothing else: the loop
counts, judges, stops, keeps the trace and proves. What it remembers it keeps in `iterate.memory`, not in itself.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from purtensor._typing import FloatArray
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.spread import spread
from purtensor.solving.chunked import bent, rebuilt
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.iterate import Budget, Iterate, Record, Residual, Solver, Step
from purtensor.solving.iterate import residual_of as residual
from purtensor.solving.iterate import row_sums as sums_of_rows
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.automatic import Automatic
from purtensor.solving.solvers.gis import GIS as GIS
from purtensor.solving.solvers.ipf.solver import IPF as IPF
from purtensor.solving.solvers.lbfgs import LBFGS as LBFGS
from purtensor.solving.solvers.newton import Newton as Newton

__all__ = [
    "Automatic",
    "Budget",
    "Iterate",
    "Problem",
    "Record",
    "Residual",
    "Solver",
    "Step",
    "gain",
    "hessian",
    "masses_at",
    "on_profiles",
    "residual",
    "row_sums",
    "solve_hessian",
]


def row_sums(problem: Problem, masses: FloatArray) -> FloatArray:
    """Return C p, the sum of the masses over each row of the constraints, shape (D,); masses may have any sign.

    Examples
    --------
    >>> from purtensor.problems import load
    >>> from purtensor.solving.problem import build_problem
    >>> haberman = load("haberman")
    >>> problem = build_problem(haberman.reference, haberman.constraints).arrays
    >>> row_sums(problem, problem.reference).shape == problem.targets.shape
    True
    """
    return sums_of_rows(problem, np.ascontiguousarray(masses, dtype=np.float64))


def masses_at(problem: Problem, potentials: FloatArray) -> FloatArray:
    """Return the masses reference * exp(C^T potentials), shape (M,)."""
    return rebuilt(problem, np.ascontiguousarray(potentials, dtype=np.float64))


def on_profiles(problem: Problem, potentials: FloatArray) -> FloatArray:
    """Return C^T potentials: for each profile the sum of the potentials of its rows, shape (M,)."""
    out = np.empty_like(problem.reference)
    spread(problem.index, problem.offsets, np.ascontiguousarray(potentials, dtype=np.float64), out)
    return out


def gain(problem: Problem, masses: FloatArray, change: FloatArray) -> float:
    """Return what the dual gains when the potentials of the masses change, in the units of the targets.

    It is (b - C p).d - sum p (exp(z) - 1 - z) with z = C^T d (notes/duality.md, equation 4): two numbers that are each
    accurate to their last digits, where the difference of two values of the dual is rounding from about 1e-16 on.

    Parameters
    ----------
    masses
        Shape (M,): p, before the change.
    change
        Shape (D,): d, what is added to the potentials.
    """
    change = np.ascontiguousarray(change, dtype=np.float64)
    slope = inner_product(problem.targets - row_sums(problem, masses), change)
    loss, _ = bent(problem, masses, change, 1.0)
    return slope - loss


def hessian(problem: Problem, masses: FloatArray) -> sparse.csr_array:
    """Return C diag(p) C^T as a sparse matrix, shape (D, D): it has at most K^2 entries a profile, K the constraints.

    Its rows are dependent; `solve_hessian` takes care of that, and of slabs.
    """
    constraints, profiles = problem.index.shape
    rows = (problem.index.astype(np.int64) + problem.offsets[:-1, None]).T.reshape(-1)
    begins = np.arange(profiles + 1) * constraints
    columns = sparse.csc_array((np.ones(rows.size), rows, begins), shape=(problem.system.rows, profiles))
    return sparse.csr_array(columns @ sparse.diags_array(masses) @ columns.T)


def solve_hessian(problem: Problem, masses: FloatArray, right: FloatArray) -> FloatArray:
    """Return d with C diag(p) C^T d = right, zero on dependent rows, in the form that pays for the problem.

    With right = b - C p it is Newton's direction.
    """
    found, _ = hessian_of(problem).factor_and_solve(masses, np.ascontiguousarray(right, dtype=np.float64))
    return found
