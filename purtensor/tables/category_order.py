"""The order of categories, read off the order of rows."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from purtensor._typing import IntArray


def order_of_rows(codes: Sequence[IntArray], sizes: Sequence[int]) -> list[IntArray]:
    """Return for each attribute its category codes in the order by which the rows are sorted, if they are.

    Rows in lexicographic order say of neighbours that agree in the attributes before which category comes first. Where
    they leave it open, and for an attribute by which the rows are not sorted, the order of the codes decides.
    """
    equal = np.ones(max(len(codes[0]) - 1, 0), dtype=bool)
    orders = []
    for column, size in zip(codes, sizes, strict=True):
        differs = column[1:] != column[:-1]
        here = np.flatnonzero(equal & differs)
        # each pair (from, to) as one number
        steps = np.unique(column[:-1][here] * size + column[1:][here])
        orders.append(_merge(np.stack(np.divmod(steps, size)), size))
        equal &= ~differs
    return orders


def _merge(steps: IntArray, size: int) -> IntArray:
    """Return the codes 0 .. size - 1 in an order consistent with all steps (from, to), else unchanged."""
    after: list[list[int]] = [[] for _ in range(size)]
    waits = [0] * size
    for before, later in steps.T.tolist():
        after[before].append(later)
        waits[later] += 1
    # Kahn's topological sort; of the codes that may come next the heap gives the smallest
    ready = [code for code in range(size) if waits[code] == 0]
    order = []
    while ready:
        code = heapq.heappop(ready)
        order.append(code)
        for later in after[code]:
            waits[later] -= 1
            if waits[later] == 0:
                heapq.heappush(ready, later)
    # a cycle leaves codes waiting: the rows are not sorted by this attribute
    return np.array(order if len(order) == size else range(size), dtype=np.int64)
