"""Numeric rows centred by the count of their group: a row of 1e9 +- 1 beside the total has lost all its digits.

Where hard rows fix how many there are in a group, sum c q = b and sum (c - m) q = b - m N say the same, and the second
keeps its digits; m is the group's mean coefficient (notes/one_dual.md, 15).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.dual.question import Question

_ROWS_OF_ALL = 64
"""Up to so many rows without counts of their own are about all cells, more each about those that they have."""

_BITS = 2.0**20
"""Means are rounded to so many parts of themselves: then c - m loses nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Centring:
    """Which rows are centred.

    Attributes
    ----------
    rows
        Their numbers.
    means
        m, one per row.
    through
        Shape (rows, all rows): the hard rows whose sum is the group's count.
    """

    rows: IntArray
    means: FloatArray
    through: sparse.csr_array

    def exact_differences(self, ends: FloatArray, targets: FloatArray) -> FloatArray:
        """Return ends - m N, rounded once, of ends of shape (k, rows); infinite ends stay."""
        found = np.asarray(ends, dtype=np.float64).copy()
        counts: dict[bytes, Fraction] = {}  # rows of one group share its count
        for k in range(found.shape[1]):
            group = self.through.indices[self.through.indptr[k] : self.through.indptr[k + 1]]
            key = group.tobytes()
            if key not in counts:
                counts[key] = sum((Fraction(float(targets[r])) for r in group), Fraction(0))
            # b and m N agree in most of their digits: their difference is rounded once, at the end
            taken = Fraction(float(self.means[k])) * counts[key]
            for end in found[:, k : k + 1]:
                if np.isfinite(end[0]):
                    end[0] = float(Fraction(float(end[0])) - taken)
        return found


def centring_of(question: Question) -> Centring:
    """Return the rows that have a group whose count hard rows fix, with their means."""
    partitions = [
        (question.block(k), block)
        for k, block in enumerate(question.blocks)
        if block.equalities.all() and block.count and is_partition(block.coefficients)
    ]
    rows: list[int] = []
    means: list[float] = []
    through: list[sparse.csr_array] = []
    for k, block in enumerate(question.blocks):
        own = question.block(k)
        # counts lose nothing: only rows of other coefficients are centred
        numeric = block.coefficients.data[(block.coefficients.data != 1.0) & (block.coefficients.data != 0.0)]
        if not len(numeric) or not partitions:
            continue
        # a divergence from a target is one from that target alone: a row that is moved with it asks for something else
        if block.softness is not None and block.softness.penalty == "kl":
            continue
        counts = block.counts
        if counts is None and block.count > _ROWS_OF_ALL:
            counts = block.coefficients != 0
        coefficients = question.coefficients[own.start : own.stop]
        if question.signs is not None:
            continue  # the group's count would need the signs, too
        for where, partition in partitions:
            sums = _sums_of(counts, partition.coefficients, block.count)
            if sums is None:
                continue
            sizes = np.full(block.count, question.reference.sum()) if counts is None else counts @ question.reference
            mean = (coefficients @ question.reference) / np.where(sizes > 0.0, sizes, 1.0)
            rounded = np.array([_round_to_bits(value) for value in mean])
            shifted = np.flatnonzero(rounded != 0.0)
            rows.extend((own.start + shifted).tolist())
            means.extend(rounded[shifted].tolist())
            wide = sparse.csr_array(
                (sums.data, sums.indices + where.start, sums.indptr), shape=(block.count, question.rows)
            )
            through.append(wide[shifted])
            break
    stacked = sparse.vstack(through, format="csr") if through else sparse.csr_array((0, question.rows))
    return Centring(np.array(rows, dtype=np.int64), np.array(means), stacked)


def is_partition(coefficients: sparse.csr_array) -> bool:
    """Return whether every cell has a one in exactly one row."""
    if coefficients.nnz != coefficients.shape[1] or not np.all(coefficients.data == 1.0):
        return False
    return bool(np.all(np.bincount(coefficients.indices, minlength=coefficients.shape[1]) == 1))


def _sums_of(counts: sparse.csr_array | None, partition: sparse.csr_array, rows: int) -> sparse.csr_array | None:
    """Return which rows of the partition sum to each group (None: all cells); None where a group cuts through one."""
    sizes = np.diff(partition.indptr)  # ones
    if counts is None or (rows == 1 and counts.nnz == counts.shape[1] and np.all(counts.data == 1.0)):
        return sparse.csr_array(np.tile((sizes > 0).astype(np.float64), (rows, 1)))
    within = (counts @ partition.T).tocsr()
    # a row of the partition that is only partly in the group
    if not np.array_equal(within.data, sizes[within.indices]):
        return None
    return sparse.csr_array((np.ones(len(within.data)), within.indices, within.indptr), shape=within.shape)


def _round_to_bits(value: float) -> float:
    """Return a number with its first 20 bits only."""
    mantissa, exponent = np.frexp(value)
    return float(np.ldexp(np.round(mantissa * _BITS) / _BITS, int(exponent)))
