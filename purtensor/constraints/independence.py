"""Exact ranks of constraint sets on the actual support, by structure and whole-number arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.coupling import couple, grow_forest, independent_places
from purtensor.constraints.faces import category_counts, is_full_product, shared_marginals
from purtensor.constraints.slabs import choose_key
from purtensor.constraints.system import System
from purtensor.errors import TooLargeError

MOST_COUPLED = 5000
"""The most rows that a dense elimination takes: some 200 MB and half a minute."""


@dataclass(frozen=True, slots=True, eq=False)
class Independence:
    """The exact rank of a system and rows that reach it.

    Attributes
    ----------
    rank
        The rank of C over the rationals.
    rows
        As many linearly independent row numbers, ascending; all other rows follow from them.
    method
        How it was found: "full product", "graph", "graph and cycles", ...
    key
        The slab key whose inside rows were served first, None where there is none: the independent rows of the
        constraints that contain the key (local rows) are, slab by slab, a maximal independent set of their slab, and
        the others (coupling rows) are what the remaining constraints add to all of them.
    """

    rank: int
    rows: IntArray
    method: str
    key: tuple[str, ...] | None = None

    def mask(self, count: int) -> BoolArray:
        """Return the rows as a mask over all `count` rows."""
        chosen = np.zeros(count, dtype=bool)
        chosen[self.rows] = True
        return chosen


def independent_rows(system: System, key: tuple[str, ...] | None = None) -> Independence:
    """Return the exact rank of a system and a maximal set of independent rows; the same on every call.

    No floating-point threshold decides: ranks come from combinatorics where the support is a full product or two
    constraints make a graph, and from elimination modulo a prime, proved in whole numbers, for what these leave.
    Rows without support are never independent.

    Parameters
    ----------
    system
        The constraints on the support; targets play no part.
    key
        The slab key (purtensor.constraints.slabs) whose inside constraints are served before all others; by default
        the one that `choose_key` names. The independent rows of inside constraints then are a maximal independent
        set of every slab, and those of outside constraints are the coupling rows of an arrowhead elimination.

    Raises
    ------
    TooLargeError
        What structure leaves over is too large for a dense elimination; the message has the bytes.
    """
    key = choose_key(system) if key is None else key
    order = constraint_order(system, key)
    supported = system.supported()
    counts = category_counts(system, order)
    faces = shared_marginals(system, order, supported, counts)
    if len(order) == 1 or is_full_product(system, order, counts):
        rows = np.flatnonzero(faces.spanning)
        return Independence(len(rows), rows, "one constraint" if len(order) == 1 else "full product", key)
    others = order[2:]
    coupled = rows_of(system, others, faces.spanning)
    if len(coupled) > MOST_COUPLED:
        needed = 16 * len(coupled) ** 2
        raise TooLargeError(
            f"the exact rank of these constraints needs the elimination of {len(coupled)} coupled rows, {needed} bytes",
            needed,
            16 * MOST_COUPLED**2,
        )
    forest = grow_forest(system, order[0], order[1], supported)
    chosen = supported.copy()
    chosen[int(system.offsets[order[1]]) + forest.roots] = False
    chosen[rows_of(system, others, supported)] = False
    if len(coupled):
        coupling = couple(system, forest, others, coupled)
        chosen[coupled[independent_places(coupling).independent]] = True
    rows = np.flatnonzero(chosen)
    return Independence(len(rows), rows, "graph and cycles" if others else "graph", key)


def constraint_order(system: System, key: tuple[str, ...] | None) -> tuple[int, ...]:
    """Return the constraints in the order in which their rows are served: those that contain the key, largest first."""
    sizes = np.diff(system.offsets)
    outside = [key is not None and not set(key) <= set(scope) for scope in system.scopes]
    return tuple(sorted(range(len(sizes)), key=lambda k: (outside[k], -int(sizes[k]), k)))


def rows_of(system: System, constraints: Sequence[int], mask: BoolArray) -> IntArray:
    """Return the rows of the constraints that the mask has, constraint by constraint in the order given."""
    parts = [int(system.offsets[k]) + np.flatnonzero(mask[system.block(k)]) for k in constraints]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
