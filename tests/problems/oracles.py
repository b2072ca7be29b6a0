"""Slow, obvious answers to check problems by."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def sweep(masses, targets):
    """One sweep of iterative proportional fitting in plain numpy; rows without mass are left alone."""
    for axes, target in targets:
        others = tuple(axis for axis in range(masses.ndim) if axis not in axes)
        sums = masses.sum(axis=others, keepdims=True)
        goal = np.expand_dims(target, others)
        masses = masses * np.divide(goal, sums, out=np.ones_like(sums), where=sums > 0)
    return masses


def rows_of(support, axes):
    """The 0/1 matrix that sums the support over all other axes."""
    shape = tuple(support.shape[axis] for axis in axes)
    codes = np.nonzero(support)
    row = np.ravel_multi_index(tuple(codes[axis] for axis in axes), shape)
    count = len(row)
    return sparse.csr_array((np.ones(count), (row, np.arange(count))), shape=(int(np.prod(shape)), count))


def smallest_parity_violation(problem):
    """The smallest L1 miss of the first target while the other two hold, by a linear program."""
    support = problem.masses > 0
    (parity_axes, parity), *hard = problem.targets
    matrix = rows_of(support, parity_axes)
    slack = sparse.identity(parity.size, format="csr")
    equal = [sparse.hstack([matrix, slack, -slack])]
    equal += [
        sparse.hstack([rows_of(support, axes), sparse.csr_array((target.size, 2 * parity.size))])
        for axes, target in hard
    ]
    goal = np.concatenate([parity.ravel(), *(target.ravel() for _, target in hard)])
    cost = np.concatenate([np.zeros(int(support.sum())), np.ones(2 * parity.size)])
    solution = linprog(cost, A_eq=sparse.vstack(equal).tocsr(), b_eq=goal, method="highs")
    assert solution.status == 0
    return solution.fun
