"""Draws over many profiles by halving: individuals go left or right, down a binary tree of sums.

Splitting a multinomial draw takes binomials, a draw without replacement hypergeometrics, one per node. The sums of the
tree are pairwise sums, so that the smallest profile's chance is exact to rounding; going through the profiles one after
the other would take what earlier ones leave of 1, and lose it to cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor._typing import IntArray
from purtensor.tables.coded import CodedTable
from purtensor.tables.domain import is_boolean
from purtensor.tables.grouping import profile_keys

Masses = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]
Draw = Callable[[Masses, Masses, Counts], Counts]


def canonical_order(coded: CodedTable) -> IntArray:
    """Return the rows of the support in an order that depends on names and labels alone, not on the layout.

    Attributes go by name, categories by their text: the same seed draws the same from a table however it is arranged.
    """
    names = sorted(coded.domain.attributes)
    ranked = []
    for name, code in zip(names, coded.columns(names), strict=True):
        labels = [(str(label), is_boolean(label)) for label in coded.domain.categories[coded.domain.position(name)]]
        order = sorted(range(len(labels)), key=labels.__getitem__)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        ranked.append(rank[code])
    keys, _ = profile_keys(ranked, coded.domain.select(names).sizes)
    return np.argsort(keys, kind="stable")


def split_down(masses: Masses, size: int, draw_left: Draw) -> Counts:
    """Return how many of `size` individuals fall on each of the masses.

    Parameters
    ----------
    masses
        Positive masses, at least one.
    draw_left
        Draws from the masses left and right of some nodes, and the number of individuals there (positive), how many
        of them go left.
    """
    levels = [masses]
    while len(levels[-1]) > 1:
        level = levels[-1]
        pairs = len(level) // 2
        above = level[::2].copy()  # of an odd number the last one goes up alone
        above[:pairs] += level[1::2]
        levels.append(above)
    counts: Counts = np.array([size], dtype=np.int64)
    for level in reversed(levels[:-1]):
        below = np.zeros(len(level), dtype=np.int64)
        below[::2] = counts
        # where nobody is left nothing is drawn: the draws are at most size per level
        nodes = np.flatnonzero(counts[: len(level) // 2])
        present = counts[nodes]
        left = draw_left(level[2 * nodes], level[2 * nodes + 1], present)
        below[2 * nodes] = left
        below[2 * nodes + 1] = present - left
        counts = below
    return counts
