"""Which rows follow from shared marginals alone, on any support, and when nothing else does.

Fix a baseline category of each attribute. A row of a constraint whose categories outside of an earlier scope are
all baseline follows from that earlier constraint and from rows of its own constraint with fewer baseline
categories: the marginal over the attributes that both scopes share ties them (notes/independence.md, equation 2).
The rows that are left span all rows; on a full product of categories they are independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.indexing import count_codes
from purtensor.constraints.system import System

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Faces:
    """The rows that span all others, and where those that do not come from.

    Attributes
    ----------
    spanning
        Shape (D,): the supported rows that follow from no shared marginal.
    implied_by
        Shape (D,): the earlier constraint whose shared marginal implies a supported row, -1 for all other rows.
    raised
        Shape (D,): how many of a row's categories are not baseline; rows with more of them come first in proofs.
    """

    spanning: BoolArray
    implied_by: IntArray
    raised: IntArray


def find_faces(system: System, order: Sequence[int], supported: BoolArray, counts: dict[str, IntArray]) -> Faces:
    """Return which rows span all rows when the constraints come in the given order.

    The baseline of an attribute is its most frequent category by `counts`: there a row is most likely supported.
    """
    baseline = {name: int(np.argmax(count)) for name, count in counts.items()}
    spanning = supported.copy()
    implied_by = np.full(system.rows, -1, dtype=np.int64)
    raised = np.zeros(system.rows, dtype=np.int64)
    for number, k in enumerate(order):
        off = {name: codes != baseline[name] for name, codes in zip(system.scopes[k], system.row_codes[k], strict=True)}
        raised[system.block(k)] = sum(column.astype(np.int64) for column in off.values())
        left, source = spanning[system.block(k)], implied_by[system.block(k)]
        done: list[frozenset[str]] = []
        for earlier in order[:number]:
            outside = frozenset(system.scopes[k]).difference(system.scopes[earlier])
            # rows at baseline in all of these have been found as rows at baseline in fewer
            if any(smaller <= outside for smaller in done):
                continue
            done.append(outside)
            # notes/independence.md, equation 2: of the rows that share a profile of the marginal, the one left out
            at_baseline = left & ~np.any([off[name] for name in outside], axis=0) if outside else left.copy()
            source[at_baseline] = earlier
            left &= ~at_baseline
    return Faces(spanning, implied_by, raised)


def category_counts(system: System, order: Sequence[int]) -> dict[str, IntArray]:
    """Return for each constrained attribute how many profiles of the support have each of its categories."""
    counts: dict[str, IntArray] = {}
    for k in order:
        if all(name in counts for name in system.scopes[k]):
            continue
        of_row = count_codes(system.index[k], int(system.offsets[k + 1] - system.offsets[k]))
        for name, codes in zip(system.scopes[k], system.row_codes[k], strict=True):
            if name not in counts:
                size = len(system.domain.categories[system.domain.position(name)])
                counts[name] = np.bincount(codes, weights=of_row, minlength=size).astype(np.int64)
    return counts


def is_full_product(system: System, order: Sequence[int], counts: dict[str, IntArray]) -> bool:
    """Return whether the support has every combination of its categories of the constrained attributes."""
    size = math.prod(int(np.count_nonzero(c)) for c in counts.values())
    # too few profiles for all combinations; this bounds the array below, too
    if not 0 < size <= system.profiles:
        return False
    seen = np.zeros(size, dtype=bool)
    parts = _key_parts(system, order, counts)
    for begin in range(0, system.profiles, _CHUNK):
        keys = np.zeros(min(_CHUNK, system.profiles - begin), dtype=np.int64)
        for k, part in parts:
            keys += part[system.index[k, begin : begin + _CHUNK]]
        seen[keys] = True
    return bool(seen.all())


def _key_parts(system: System, order: Sequence[int], counts: dict[str, IntArray]) -> list[tuple[int, IntArray]]:
    """Return constraints and what each of their rows adds to the mixed-radix key of a profile."""
    parts, stride, done = [], 1, set()
    for k in order:
        fresh = [name for name in system.scopes[k] if name not in done]
        if not fresh:
            continue
        part = np.zeros(int(system.offsets[k + 1] - system.offsets[k]), dtype=np.int64)
        for name in fresh:
            present = counts[name] > 0
            # the supported categories, numbered without gaps
            digit = np.cumsum(present) - 1
            part += digit[system.row_codes[k][system.scopes[k].index(name)]] * stride
            stride *= int(present.sum())
            done.add(name)
        parts.append((k, part))
    return parts
