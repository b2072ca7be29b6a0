"""What columns take to meet what is left of the misses of rows, exactly: sizes of it that are proved.

A miss is no distance. With A the rows, a matrix R with A R = I - E and a norm of E below 1, the columns
e = R (I - E)^-1 d meet misses d (notes/one_dual.md, equations 17 and 18). Where R would be large, a bound on the least
eigenvalue of Newton's equations serves (equation 19).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.dual.extended import LongArray
from purtensor.solving.dual.matrix import ExplicitMatrix, Matrix, Solve
from purtensor.solving.dual.problem import DualProblem

_MOST_ENTRIES = 1_000_000
"""Rows times columns up to which R is written out."""

_MOST_ROWS = 2_000
"""Rows up to which Newton's equations are factored as a dense matrix for the proof."""

_UNIT = 2.0**-53
_LONG = float(np.finfo(np.longdouble).eps)
_UPWARD = 1.0 + 1e-8
_BLOCK = 512

_MOST_HELD = 4
"""So often columns that might leave their bounds are held, and the others take what is left of the misses."""

_SHIFTS = (2.0**-6, 2.0**-13, 2.0**-20, 2.0**-26)
"""Bounds on the least eigenvalue that are tried, of equations with a unit diagonal."""

_FREE = 2.0**20
"""A slack that gives way so many times as much as all cells of its row takes what the row misses."""

_DEPENDENT = 1e-13
"""A row of which so little, by its square, is left beside others on columns that give way follows from them."""


def meet_remainder(problem: DualProblem, weights: FloatArray, feasible: FloatArray, solve: Solve) -> FloatArray | None:
    """Return no less than what columns take to meet what they still miss; None where that may leave their bounds.

    Where `is_only_estimated` says so, about as much.
    """
    missing, unsure = enclose_misses(problem, feasible)
    right = missing + np.copysign(unsure, missing)
    bound = bound_remainder if _is_small(problem) else bound_by_eigenvalue
    if is_only_estimated(problem):
        # the signs of rounding are taken to be those of the misses: good for the answer's digits, and no proof
        if problem.matrix.dependent is not None:
            right[problem.matrix.dependent] = 0.0
        rest = np.abs(weights * problem.back(solve(right)))
        return rest if np.isfinite(rest).all() else None
    lower, upper = problem.columns.lower, problem.columns.upper
    for _ in range(_MOST_HELD):
        found = bound(problem, weights, np.abs(right))
        if found is None:
            return None
        leaves = (found > 0.0) & ((feasible - found < lower) | (feasible + found > upper))
        if not leaves.any():
            return found
        # as a slack that is at its bound but for rounding: others take its share
        weights = np.where(leaves, 0.0, weights)
    return None


def _is_small(problem: DualProblem) -> bool:
    return problem.rows * problem.columns.size <= _MOST_ENTRIES


def is_only_estimated(problem: DualProblem) -> bool:
    """Return whether what columns take to meet the remaining misses is only estimated, as rows are too many."""
    return problem.rows > _MOST_ROWS and not _is_small(problem)


def enclose_misses(problem: DualProblem, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what columns miss of the targets, and by how much each number may be off.

    Coefficients and targets are rounded when rows are scaled, centred and combined; sums are of extended precision.
    """
    cells = x[: problem.cells].astype(np.longdouble)
    sums, counts = _sums_of(problem.matrix, cells)
    np.add.at(sums, problem.slack_rows, problem.slack_signs * x[problem.cells :].astype(np.longdouble))
    missed = problem.targets - sums
    sizes = problem.size_times(x) + np.abs(problem.targets)
    additions = counts + np.bincount(problem.slack_rows, minlength=problem.rows) + 4.0
    unsure = (4.0 * _UNIT + additions * _LONG) * sizes * _UPWARD + _UNIT * np.abs(missed).astype(np.float64)
    return missed.astype(np.float64), unsure


def _sums_of(matrix: Matrix, cells: LongArray) -> tuple[LongArray, FloatArray]:
    """Return C x in extended precision, and how many additions each number of a row goes through at most."""
    sums = np.zeros(matrix.shape[0], dtype=np.longdouble)
    if isinstance(matrix, ExplicitMatrix) and isinstance(matrix.values, np.ndarray):
        begins = np.arange(0, len(cells), _BLOCK)
        for row, values in enumerate(matrix.values):  # row by row: extended numbers of all would take much room
            sums[row] = np.add.reduceat(values * cells, begins).sum()
        return sums, np.full(len(sums), float(_BLOCK + len(begins)))
    entries = matrix.to_sparse()
    counts = np.diff(entries.indptr)
    on = np.flatnonzero(counts)
    if len(on):
        sums[on] = np.add.reduceat(entries.data * cells[entries.indices], entries.indptr[on])
    return sums, counts.astype(np.float64)


def bound_remainder(problem: DualProblem, weights: FloatArray, missed: FloatArray) -> FloatArray | None:
    """Return no less than the sizes of columns that meet misses of up to these sizes; None where none is proved.

    Columns give way by their weights. Rows that follow from others on these columns, as those do that ends of intervals
    and bounds meet together, can be met no better than they are: what they miss is taken for rounding of their targets.
    """
    dependent = problem.matrix.dependent
    asked = np.flatnonzero(np.ones(problem.rows, dtype=bool) if dependent is None else ~dependent)
    rows = np.concatenate([problem.matrix.to_sparse().toarray(), _slacks_of(problem)], axis=1)[asked]
    with np.errstate(all="ignore"):
        gram = (rows * weights) @ rows.T
        kept = _independent(gram)
        inverse = _right_inverse(rows[kept], weights, gram[np.ix_(kept, kept)])
        if inverse is None:
            return None
        own, sizes = rows[kept], np.maximum(missed[asked][kept], 2.0**-20 * _UNIT * problem.mass)
        # coefficients are off by two roundings beside those of the product
        error = np.abs(np.eye(len(own)) - own @ inverse)
        error += (rows.shape[1] + 6.0) * _UNIT * (np.abs(own) @ np.abs(inverse))
        largest = float((error @ sizes / sizes).max(initial=0.0)) * _UPWARD
        if not largest < 0.5:  # also where it is no number
            return None
        return np.asarray(np.abs(inverse) @ sizes / (1.0 - largest) * _UPWARD)


def bound_by_eigenvalue(problem: DualProblem, weights: FloatArray, missed: FloatArray) -> FloatArray | None:
    """Return no less than the sizes of columns that meet misses of up to these sizes; None where none is proved.

    As `bound_remainder`, with nothing as large as rows times columns.
    """
    cells, slack_rows, dependent = problem.cells, problem.slack_rows, problem.matrix.dependent
    matrix = problem.matrix
    explicit = matrix if isinstance(matrix, ExplicitMatrix) else ExplicitMatrix(matrix.to_sparse())
    product = explicit.gram(weights[:cells])
    gram = product if isinstance(product, np.ndarray) else product.toarray()
    slacks = np.bincount(slack_rows, weights[cells:], problem.rows)
    free = slacks > _FREE * gram.diagonal()
    gram[np.diag_indices(problem.rows)] += slacks
    asked = np.flatnonzero(~free if dependent is None else ~free & ~dependent)
    with np.errstate(all="ignore"):
        kept = asked[_independent(gram[np.ix_(asked, asked)])]
        least, scale = _least_eigenvalue(gram[np.ix_(kept, kept)], len(weights))
        size = float(np.linalg.norm(scale * missed[kept])) / np.sqrt(least) * _UPWARD if len(kept) else 0.0
        found = np.sqrt(weights) * size
    if not np.isfinite(size):  # also where no eigenvalue is proved
        return None
    # what cells take of the misses of other rows counts as a miss of rows whose slacks are free
    taken = (missed + problem.matrix.size_times(found[:cells])) * _UPWARD
    found[cells:] = np.where(free[slack_rows], taken[slack_rows], found[cells:])
    return np.asarray(found)


def _least_eigenvalue(gram: FloatArray, columns: int) -> tuple[float, FloatArray]:
    """Return no more than the least eigenvalue of equations scaled to a unit diagonal, 0 if unproved; and the scale."""
    scale = 1.0 / np.sqrt(gram.diagonal())
    scaled, rows = gram * scale[:, None] * scale, len(gram)
    # what the factors, the sums over columns and the coefficients may be off by, in the norm (notes/certificate.md, 16)
    lost = _UNIT * 1.1 * rows * (rows + columns + 18.0)
    for shift in _SHIFTS:
        _, failed = lapack.dpotrf(scaled - shift * np.eye(rows), lower=1)
        if not failed and shift > 2.0 * lost:
            return shift - lost, scale
    return 0.0, scale


def _slacks_of(problem: DualProblem) -> FloatArray:
    slacks = np.zeros((problem.rows, len(problem.slack_rows)))
    slacks[problem.slack_rows, np.arange(len(problem.slack_rows))] = problem.slack_signs
    return slacks


def _independent(gram: FloatArray) -> IntArray:
    """Return rows that are independent on the columns that give way, by their Gram matrix there."""
    size = gram.diagonal()
    some = np.flatnonzero(size > 0.0)
    if not len(some):
        return some
    scale = 1.0 / np.sqrt(size[some])
    _, pivots, rank, _ = lapack.dpstrf(gram[np.ix_(some, some)] * scale[:, None] * scale, tol=_DEPENDENT, lower=1)
    return np.asarray(np.sort(some[pivots[:rank] - 1]))


def _right_inverse(rows: FloatArray, weights: FloatArray, gram: FloatArray) -> FloatArray | None:
    """Return R of shape (columns, rows) with rows R close to 1, which puts changes where weights are large."""
    scale = 1.0 / np.sqrt(gram.diagonal())
    try:
        inverse = np.linalg.inv(gram * scale[:, None] * scale)
    except np.linalg.LinAlgError:
        return None
    found = (weights[:, None] * rows.T * scale) @ inverse * scale
    # the Gram matrix squares the condition of the rows: one step of refinement takes back what that costs
    return np.asarray(found + found @ (np.eye(len(rows)) - rows @ found))
