"""Units with equal coefficients in all rows are one cell: they get the same ratio, for any design weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.rows import RowBlock

GROUP = "group"
"""The attribute of the table over merged units."""


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Units in groups of equals.

    Attributes
    ----------
    blocks
        The rows over the groups.
    group
        Shape (units,): the group of each unit, -1 where its design weight is 0.
    weights
        Shape (groups,): the sums of the design weights.
    limits
        Shape (k, groups): what else equal units have in common, such as bounds on their ratios.
    """

    blocks: tuple[RowBlock, ...]
    group: IntArray
    weights: FloatArray
    limits: FloatArray

    def table(self, values: FloatArray, name: str = "weight") -> Table:
        """Return numbers of the groups as a table."""
        return Table(values, dims=GROUP, coords={GROUP: np.arange(len(values))}, name=name)


def merge(blocks: Sequence[RowBlock], weights: FloatArray, limits: FloatArray) -> Merged:
    """Return the units merged where their columns and limits are equal; those without a design weight are left out."""
    used = np.flatnonzero(weights > 0)
    first, inverse = _equal_columns(blocks, used, limits[:, used])
    group = np.full(len(weights), -1)
    group[used] = inverse
    chosen = used[first]
    if len(chosen) == len(weights):  # nothing to merge
        return Merged(tuple(blocks), group, np.asarray(weights), limits)
    count = len(first)
    sums = np.bincount(inverse, weights=weights[used], minlength=count).astype(np.float64)
    taken = tuple(
        replace(
            block,
            coefficients=_columns(block.coefficients, chosen),
            counts=None if block.counts is None else _columns(block.counts, chosen),
            denominators=None if block.denominators is None else _columns(block.denominators, chosen),
        )
        for block in blocks
    )
    return Merged(taken, group, sums, limits[:, chosen])


def _columns(matrix: sparse.csr_array, chosen: IntArray) -> sparse.csr_array:
    return sparse.csr_array(matrix[:, chosen])


def _equal_columns(blocks: Sequence[RowBlock], used: IntArray, more: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first of each kind of equal columns, in order of occurrence, and the kind of every column.

    Equal columns have the same sum of random multiples; that those with the same sum are equal is checked, and where
    a sum deceives nothing is merged.
    """
    rng, count = np.random.default_rng(0), len(used)
    # a fixed seed: equal units must merge alike in every run; infinite limits count as -1, which none is
    keys = rng.normal(size=len(more)) @ np.where(np.isfinite(more), more, -1.0)
    for block in blocks:
        keys += np.asarray(block.coefficients.T @ rng.normal(size=block.count))[used]
    # one number per column is sorted instead of whole columns
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    alone = np.arange(count)
    if len(first) == count or not np.array_equal(more, more[:, first][:, inverse]):
        return alone, alone
    stacked = sparse.vstack([block.coefficients for block in blocks], format="csc")[:, used]
    # exact comparison: two different columns may share a random sum by rounding
    if (stacked != stacked[:, first][:, inverse]).nnz:
        return alone, alone
    # np.unique sorts by key, which is random: back to the order in which the units came
    order = np.argsort(first, kind="stable")
    place = np.empty(len(first), dtype=np.int64)
    place[order] = np.arange(len(first))
    return first[order], place[inverse]
