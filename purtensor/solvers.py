"""The interface of solvers, helper functions for user-defined solvers, and the built-in solvers.

A solver is any object with a method `step(problem, iterate, budget)`. It only updates the iterate: the loop counts
iterations, tests convergence, stops, keeps the trace and computes the certificate. A solver keeps its state in
`iterate.memory`, not in its own attributes.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.kernels.reductions import inner_product
from purtensor.solving.chunked import measure_bend, rebuild
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.iterate import Budget, Iterate, Record, Residual, Solver, Step, residual_of
from purtensor.solving.iterate import on_profiles as exponents_on_profiles
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
    """Return C p, the sum of the masses over each row of the constraints, shape (D,).

    Parameters
    ----------
    problem
        As the solver is given it.
    masses
        Shape (M,), of any sign.

    Raises
    ------
    InvalidOptionError
        An array of another shape.

    Examples
    --------
    >>> import purtensor as pt
    >>> class Scaling:
    ...     def step(self, problem, iterate, budget):
    ...         ratio = problem.targets / pt.solvers.row_sums(problem, iterate.masses)
    ...         return iterate.potentials + np.log(ratio) / len(problem.index)
    >>> haberman = pt.problems.load("haberman")
    >>> pt.project(haberman.reference, haberman.constraints, solver=Scaling()).converged
    True
    """
    return sums_of_rows(problem.system, _check("masses", masses, len(problem.reference)))


def masses_at(problem: Problem, potentials: FloatArray) -> FloatArray:
    """Return the masses reference * exp(C^T potentials), shape (M,).

    Parameters
    ----------
    problem
        As the solver is given it.
    potentials
        Shape (D,).

    Raises
    ------
    InvalidOptionError
        An array of another shape.

    Examples
    --------
    >>> import purtensor as pt
    >>> class Damped:
    ...     def step(self, problem, iterate, budget):
    ...         swept = pt.IPF().sweep(problem, iterate.with_memory(None)).potentials
    ...         middle = (swept + iterate.potentials) / 2
    ...         return pt.solvers.Iterate(middle, pt.solvers.masses_at(problem, middle))
    >>> haberman = pt.problems.load("haberman")
    >>> pt.project(haberman.reference, haberman.constraints, solver=Damped()).converged
    True
    """
    return rebuild(problem, _check("potentials", potentials, problem.system.rows))


def on_profiles(problem: Problem, potentials: FloatArray) -> FloatArray:
    """Return C^T potentials: for each profile the sum of the potentials of its rows, shape (M,).

    Parameters
    ----------
    problem
        As the solver is given it.
    potentials
        Shape (D,).

    Raises
    ------
    InvalidOptionError
        An array of another shape.

    Examples
    --------
    >>> import purtensor as pt
    >>> class Centred:
    ...     def step(self, problem, iterate, budget):
    ...         swept = pt.IPF().sweep(problem, iterate.with_memory(None)).potentials
    ...         exponents = pt.solvers.on_profiles(problem, swept)
    ...         masses = problem.reference * np.exp(exponents)
    ...         return pt.solvers.Iterate(swept, masses)
    >>> haberman = pt.problems.load("haberman")
    >>> pt.project(haberman.reference, haberman.constraints, solver=Centred()).converged
    True
    """
    return exponents_on_profiles(problem.system, _check("potentials", potentials, problem.system.rows))


def gain(problem: Problem, masses: FloatArray, change: FloatArray) -> float:
    """Return the change of the dual objective when the potentials change, in the units of the targets.

    It is (b - C p).d - sum p (exp(z) - 1 - z) with z = C^T d (notes/duality.md, equation 4): both terms are accurate
    to their last digits, whereas the difference of two values of the dual has rounding errors of about 1e-16.

    Parameters
    ----------
    problem
        As the solver is given it.
    masses
        Shape (M,): p, before the change.
    change
        Shape (D,): d, the change of the potentials.

    Raises
    ------
    InvalidOptionError
        An array of another shape.

    Examples
    --------
    >>> import purtensor as pt
    >>> class Steepest:
    ...     def step(self, problem, iterate, budget):
    ...         direction = np.log(problem.targets / pt.solvers.row_sums(problem, iterate.masses))
    ...         while pt.solvers.gain(problem, iterate.masses, direction) < 0:
    ...             direction = direction / 2
    ...         return iterate.potentials + direction
    >>> haberman = pt.problems.load("haberman")
    >>> pt.project(haberman.reference, haberman.constraints, solver=Steepest()).converged
    True
    """
    change = _check("change", change, problem.system.rows)
    slope = inner_product(problem.targets - row_sums(problem, masses), change)
    loss, _ = measure_bend(problem, _check("masses", masses, len(problem.reference)), change, 1.0)
    return slope - loss


def residual(problem: Problem, masses: FloatArray) -> Residual:
    """Return the residual of the masses: the largest miss of a target, and the L1 miss of the worst constraint.

    Parameters
    ----------
    problem
        As the solver is given it.
    masses
        Shape (M,).

    Raises
    ------
    InvalidOptionError
        An array of another shape.

    Examples
    --------
    >>> import purtensor as pt
    >>> class Swept:
    ...     def step(self, problem, iterate, budget):
    ...         while pt.solvers.residual(problem, iterate.masses).largest > budget.residual:
    ...             iterate = pt.IPF().sweep(problem, iterate.with_memory(None))
    ...         return iterate
    >>> haberman = pt.problems.load("haberman")
    >>> pt.project(haberman.reference, haberman.constraints, solver=Swept()).iterations
    1
    """
    return residual_of(problem, _check("masses", masses, len(problem.reference)))


def hessian(problem: Problem, masses: FloatArray) -> sparse.csr_array:
    """Return C diag(p) C^T as a sparse matrix, shape (D, D): it has at most K^2 entries per profile, K the constraints.

    Its rows are dependent; `solve_hessian` handles this, and uses slabs.

    Parameters
    ----------
    problem
        As the solver is given it.
    masses
        Shape (M,): p.

    Raises
    ------
    InvalidOptionError
        An array of another shape.

    Examples
    --------
    >>> import purtensor as pt
    >>> class Diagonal:
    ...     def step(self, problem, iterate, budget):
    ...         miss = problem.targets - pt.solvers.row_sums(problem, iterate.masses)
    ...         scale = pt.solvers.hessian(problem, iterate.masses).diagonal()
    ...         return iterate.potentials + miss / scale / len(problem.index)
    >>> haberman = pt.problems.load("haberman")
    >>> pt.project(haberman.reference, haberman.constraints, solver=Diagonal()).converged
    True
    """
    weights = _check("masses", masses, len(problem.reference))
    # each profile is a column with a 1 in its row of every constraint
    constraints, profiles = problem.index.shape
    rows = (problem.index.astype(np.int64) + problem.offsets[:-1, None]).T.reshape(-1)
    begins = np.arange(profiles + 1) * constraints
    columns = sparse.csc_array((np.ones(rows.size), rows, begins), shape=(problem.system.rows, profiles))
    return sparse.csr_array(columns @ sparse.diags_array(weights) @ columns.T)


def solve_hessian(problem: Problem, masses: FloatArray, right: FloatArray) -> FloatArray:
    """Return d with C diag(p) C^T d = right, zero on dependent rows, by the most efficient factorisation.

    With right = b - C p it is Newton's direction.

    Parameters
    ----------
    problem
        As the solver is given it.
    masses
        Shape (M,): p, positive.
    right
        Shape (D,): a right-hand side in the range of C, such as C p or b.

    Raises
    ------
    InvalidOptionError
        An array of another shape.

    Examples
    --------
    >>> import purtensor as pt
    >>> class PlainNewton:
    ...     def step(self, problem, iterate, budget):
    ...         miss = problem.targets - pt.solvers.row_sums(problem, iterate.masses)
    ...         return iterate.potentials + pt.solvers.solve_hessian(problem, iterate.masses, miss)
    >>> haberman = pt.problems.load("haberman")
    >>> pt.project(haberman.reference, haberman.constraints, solver=PlainNewton()).iterations < 10
    True
    """
    weights = _check("masses", masses, len(problem.reference))
    found, _ = hessian_of(problem).factor_and_solve(weights, _check("right", right, problem.system.rows))
    return found


def _check(name: str, values: object, size: int) -> FloatArray:
    """Return a float64 array of this size, in one piece of memory."""
    found = np.ascontiguousarray(values, dtype=np.float64)
    if found.shape != (size,):
        raise InvalidOptionError(f"{name} must be an array of shape ({size},), got one of shape {found.shape}")
    return found
