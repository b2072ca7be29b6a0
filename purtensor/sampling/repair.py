"""The whole-numbered table nearest to a random one whose sums are all within their bounds, by an integer program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from purtensor._interrupts import run_apart
from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.sampling.fixed_point import Units

_NODES = 100  # of the search tree: a limit in time would make the answer depend on the machine
_GAP = 0.05
_PRICE = 20.0  # of one beyond the bounds, where keeping a profile as it is costs one


def repair(start: Units, down: Units, movable: BoolArray, bounds: Sequence[RowBounds]) -> Units:
    """Return the table that misses the bounds least, and among those one that changes few profiles of `start`.

    The search is bounded: what it has not found then is not found, and `start` itself is the worst answer.

    Parameters
    ----------
    start
        A table of the right total.
    down
        The lower of the two neighbouring numbers that each profile may have.
    movable
        Which profiles may change.
    bounds
        The constraints.
    """
    free = np.flatnonzero(movable)
    change = np.where(start > down, -1.0, 1.0)[free]
    matrix = _coefficients([bound.index[free] for bound in bounds], [len(bound.lower) for bound in bounds], change)
    touched = np.diff(matrix.indptr) > 0
    low = np.concatenate([bound.lower - bound.sums(start) for bound in bounds])[touched]
    high = np.concatenate([bound.upper - bound.sums(start) for bound in bounds])[touched]
    slack = sparse.eye_array(len(low))
    profiles, slacks = np.ones(len(free)), np.zeros(2 * len(low))
    constraints = [
        # each row may miss its bounds below or above, at a price
        LinearConstraint(sparse.hstack([matrix[touched], slack, -slack]).tocsr(), low, high),
        # the total stays
        LinearConstraint(sparse.csr_array(np.concatenate([change, slacks])[None]), 0, 0),
    ]
    answer = run_apart(  # it does not hear Ctrl-C
        lambda: milp(
            np.concatenate([profiles, slacks + _PRICE]),
            integrality=np.concatenate([profiles, slacks]),
            bounds=Bounds(0, np.concatenate([profiles, slacks + np.inf])),
            constraints=constraints,
            options={"node_limit": _NODES, "mip_rel_gap": _GAP},
        )
    )
    if answer.x is None:
        return start
    table = start.copy()
    table[free] += np.rint(answer.x[: len(free)] * change).astype(np.int64)
    return table if total_deviation(bounds, table) < total_deviation(bounds, start) else start


def _coefficients(index: Sequence[IntArray], rows: Sequence[int], values: FloatArray) -> sparse.csr_array:
    offsets = np.concatenate([[0], np.cumsum(rows)])
    row = np.concatenate([rows_of + offset for rows_of, offset in zip(index, offsets[:-1], strict=True)])
    column = np.tile(np.arange(len(values)), len(index))
    return sparse.csr_array((np.tile(values, len(index)), (row, column)), shape=(int(offsets[-1]), len(values)))


@dataclass(frozen=True, slots=True, eq=False)
class RowBounds:
    """One constraint: its scope, the row that each profile belongs to, and the bounds of the rows' sums."""

    scope: tuple[str, ...]
    index: IntArray
    lower: Units
    upper: Units

    def sums(self, counts: Units) -> Units:
        """Return the sum of each row."""
        # exact in float64, since totals are at most 2^42
        return np.bincount(self.index, weights=counts, minlength=len(self.lower)).astype(np.int64)

    def deviation(self, counts: Units) -> float:
        """Return by how much the rows' sums lie outside of their bounds, in all."""
        sums = self.sums(counts)
        return float((np.maximum(self.lower - sums, 0) + np.maximum(sums - self.upper, 0)).sum())


def total_deviation(bounds: Sequence[RowBounds], counts: Units) -> float:
    """Return by how much counts miss the bounds of all constraints."""
    return sum(bound.deviation(counts) for bound in bounds)
