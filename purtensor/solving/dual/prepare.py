"""From a question to the problem of the dual: what targets of 0 empty, centred and independent rows, one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.errors import InfeasibleError, InvalidOptionError
from purtensor.solving.dual.centring import Centring, centring_of
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.columns.kind import ColumnKind
from purtensor.solving.dual.columns.logit import LogitColumns
from purtensor.solving.dual.columns.squares import SquareColumns
from purtensor.solving.dual.matrix import Matrix, combine_rows, densify_if_full
from purtensor.solving.dual.partitions import partition_matrix, partition_system
from purtensor.solving.dual.problem import DualProblem, RowCosts, dual_problem
from purtensor.solving.dual.question import Question
from purtensor.solving.scaling import scale_targets

_ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A question without what must be empty, on one scale.

    Attributes
    ----------
    cells, rows
        The cells that may have mass, and the rows that say something of them.
    emptying
        The rows whose target of 0 empties their cells.
    mixing
        The rows of the problem, as combinations of the kept rows.
    exponent
        All masses were divided by two to this power.
    centred
        The rows, of all, that are centred.
    ends
        The ends of the problem's rows, scaled as the problem is.
    problem
        What the solver sees.
    """

    cells: IntArray
    rows: IntArray
    emptying: BoolArray
    mixing: sparse.csr_array
    exponent: int
    centred: IntArray
    ends: tuple[FloatArray, FloatArray]
    problem: DualProblem

    def measure_centred(self, x: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the rows that are centred, and what the cells x miss of them over the row's unit, total mass 1."""
        places = np.flatnonzero(np.isin(self.rows, self.centred))
        if not len(places):
            return places, np.zeros(0)
        low, high = (end[places] for end in self.ends)
        sums = self.problem.matrix.times(x)[places]
        misses = np.where(sums < low, low - sums, np.maximum(sums - high, 0.0))
        return self.rows[places], misses / self.problem.mass


def prepare(question: Question) -> Prepared:
    """Return the problem of a question.

    Raises
    ------
    InfeasibleError
        A hard row without any cell that must not come to 0.
    InvalidOptionError
        Bounds that the logit distance does not take.
    """
    keep, emptying = find_emptied(question)
    cells = np.flatnonzero(keep)
    if not len(cells):
        raise InfeasibleError("targets and bounds of 0 exclude every profile")
    whole = question.coefficients
    rest = whole if len(cells) == whole.shape[1] else whole[:, cells].tocsr()
    supported = np.diff(rest.indptr) > 0
    # after the emptying, which may have taken a row its last cell
    _require_support(question, supported | emptying)
    rows = np.flatnonzero(supported & ~emptying)
    mixing, centred, asked = _mix_rows(question, rows)
    # by a power of two, which changes no digit
    exponent = math.frexp(question.total)[1]
    unit = math.ldexp(1.0, -exponent)
    for ends in (question.row_lower, question.row_upper):
        scale_targets(ends[np.isfinite(ends)], exponent)  # refuses those of which the scale leaves nothing
    # rows as they came: nothing was centred or made independent
    plain = mixing.nnz == len(rows) and bool(np.all(mixing.data == 1.0))
    coefficients = densify_if_full(rest if len(rows) == question.rows else rest[rows])
    if not plain:
        coefficients = combine_rows(mixing, coefficients)
    asked = replace(
        asked,
        coefficients=coefficients,
        lower=asked.lower * unit,
        upper=asked.upper * unit,
        variance=asked.variance * unit,
    )
    kind = cells_of(question, cells, unit)
    # combinations of rows are no sums over codes any more
    matrix = _marginals(question, rows, cells) if plain else None
    problem = dual_problem(kind, asked, question.total * unit, matrix)
    scaled = asked.lower * problem.row_scales, asked.upper * problem.row_scales
    return Prepared(cells, rows, emptying, mixing, exponent, centred, scaled, problem)


def find_emptied(question: Question) -> tuple[BoolArray, BoolArray]:
    """Return which cells may have mass, and which rows' targets of 0 empty theirs."""
    keep = question.upper > 0.0
    emptying = np.zeros(question.rows, dtype=bool)
    # where masses may be negative a target of 0 empties nothing
    if (question.lower < 0.0).any():
        return keep, emptying
    c = question.coefficients
    kl = np.zeros(question.rows, dtype=bool)
    for k, block in enumerate(question.blocks):
        kl[question.block(k)] = block.softness is not None and block.softness.penalty == "kl"
    zero_above = (question.hard | kl) & (question.row_upper == 0.0)
    zero_below = question.hard & (question.row_lower == 0.0)
    # repeated: without the cells just emptied another row may have terms of one sign
    while (zero_above | zero_below).any():
        own = c[:, np.flatnonzero(keep)]
        low = np.asarray(own.min(axis=1).todense()).reshape(-1)
        high = np.asarray(own.max(axis=1).todense()).reshape(-1)
        # a sum of terms of one sign that must be 0, or at most 0: all of them are
        found = ((zero_above & (low >= 0.0)) | (zero_below & (high <= 0.0))) & ((low != 0.0) | (high != 0.0))
        if not found.any():
            return keep, emptying
        emptying |= found
        touched = np.asarray(abs(c[np.flatnonzero(found)]).sum(axis=0)).reshape(-1) > 0.0
        keep &= ~touched
        if not keep.any():
            break
    return keep, emptying


def _require_support(question: Question, supported: BoolArray) -> None:
    slack = _ROUNDING * question.total
    bare = question.hard & ~supported & ((question.row_lower > slack) | (question.row_upper < -slack))
    if bare.any():
        row = int(np.flatnonzero(bare)[0])
        asked = question.row_lower[row] if question.row_lower[row] > slack else question.row_upper[row]
        raise InfeasibleError(f"{question.row_name(row)} must be {asked:g}, but it has no profile that may have mass")


def _mix_rows(question: Question, rows: IntArray) -> tuple[sparse.csr_array, IntArray, RowCosts]:
    """Return the combinations of the kept rows that the problem has, the centred ones, and their conditions."""
    lower, upper = question.row_lower.copy(), question.row_upper.copy()
    centring, costs = centring_of(question), question.costs
    white = [(question.block(k), cost.whitening) for k, cost in enumerate(costs) if cost.whitening is not None]
    mixing = sparse.eye_array(question.rows, format="csr")
    if len(centring.rows) or white:
        mixing = _combinations(question.rows, centring, white)
    ends = np.stack([lower[centring.rows], upper[centring.rows]])
    lower[centring.rows], upper[centring.rows] = centring.exact_differences(ends, question.row_lower)
    for own, whitening in white:
        # correlated errors are of targets, so one end says all
        lower[own] = upper[own] = whitening @ question.row_upper[own]
    kept = mixing[rows]
    kept = kept[:, rows].tocsr()
    return (
        kept,
        centring.rows,
        RowCosts(
            kept,
            lower[rows],
            upper[rows],
            np.concatenate([cost.absolute for cost in costs])[rows],
            np.concatenate([cost.variance for cost in costs])[rows],
            np.concatenate([cost.divergence for cost in costs])[rows],
        ),
    )


def _combinations(count: int, centring: Centring, white: list[tuple[slice, FloatArray]]) -> sparse.csr_array:
    """Return the rows of which centred ones have lost the mean, and correlated ones are made independent."""
    mixing = sparse.lil_array((count, count))
    mixing.setdiag(1.0)
    through = (sparse.diags_array(centring.means) @ centring.through).tocoo()
    for k, r, value in zip(through.coords[0], through.coords[1], through.data, strict=True):
        # sum (c - m) q = b - m N (notes/one_dual.md, equation 15)
        mixing[centring.rows[k], r] = -value
    for own, whitening in white:
        mixing[own, own] = whitening
    return mixing.tocsr()


def _marginals(question: Question, rows: IntArray, cells: IntArray) -> Matrix | None:
    """Return the rows as sums over codes, where all are marginals that are many; else None."""
    if question.signs is not None:
        return None
    system = partition_system(question.blocks, question.offsets, rows, cells)
    if system is None:
        return None
    hard = np.array([bool(block.equalities.all()) for block in question.blocks])
    return partition_matrix(system, hard)


def cells_of(question: Question, cells: IntArray, unit: float) -> ColumnKind:
    """Return what some of the cells pay, all masses times `unit`."""
    f, lower, upper = question.reference[cells] * unit, question.lower[cells] * unit, question.upper[cells] * unit
    if question.distance == "kl":
        return EntropyColumns(f, 1.0, lower, upper)
    if question.distance == "linear":
        return SquareColumns(f, f, lower, upper)
    outside = np.flatnonzero(~((lower < f) & (f < upper) & np.isfinite(upper)))
    if len(outside):
        cell = int(cells[outside[0]])
        raise InvalidOptionError(
            f"distance='logit' needs bounds strictly around the reference: {question.describe(cell)} has "
            f"{question.reference[cell]:g} (scaled to the total), with bounds {question.lower[cell]:g} and "
            f"{question.upper[cell]:g}; use distance='linear' or wider bounds"
        )
    return LogitColumns(f, lower, upper)
