"""Exact ranks of constraint sets on the actual support, by structure and whole-number arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.coupling import Coupled, Coupling, Forest, couple, grow_forest, independent_places
from purtensor.constraints.faces import Faces, category_counts, is_full_product, shared_marginals
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
        How it was found: "one constraint", "full product", "graph" (of two constraints) or "graph and cycles".
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


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """How the rows of a system depend on each other.

    Attributes
    ----------
    order
        The constraints in the order in which their rows are served.
    faces
        What follows from shared marginals alone.
    forest
        The graph of the first two constraints; None where shared marginals say all.
    coupling, coupled
        The spanning rows of the other constraints on its cycles; None where there are none.
    """

    method: str
    order: tuple[int, ...]
    supported: BoolArray
    faces: Faces
    forest: Forest | None = None
    coupling: Coupling | None = None
    coupled: Coupled | None = None

    def independent(self, system: System) -> BoolArray:
        """Return a maximal set of independent rows as a mask."""
        if self.forest is None:
            return self.faces.spanning
        chosen = self.supported.copy()
        chosen[int(system.offsets[self.order[1]]) + self.forest.roots] = False
        for k in self.order[2:]:
            chosen[system.block(k)] = False
        if self.coupling is not None and self.coupled is not None:
            chosen[self.coupling.rows[self.coupled.independent]] = True
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
    analysis = analyse(system, key)
    rows = np.flatnonzero(analysis.independent(system))
    return Independence(len(rows), rows, analysis.method, key)


def analyse(system: System, key: tuple[str, ...] | None, *, explain: bool = False) -> Analysis:
    """Return how the rows depend on each other; with `explain` also what implies every dependent coupled row."""
    order = constraint_order(system, key)
    supported = system.supported()
    counts = category_counts(system, order)
    faces = shared_marginals(system, order, supported, counts)
    if len(order) == 1:
        return Analysis("one constraint", order, supported, faces)
    if is_full_product(system, order, counts):
        return Analysis("full product", order, supported, faces)
    others = order[2:]
    rows = _rows_of(system, others, faces.spanning)
    _require_small(len(rows))
    forest = grow_forest(system, order[0], order[1], supported)
    if not len(rows):
        return Analysis("graph", order, supported, faces, forest)
    coupling = couple(system, forest, others, rows)
    coupled = independent_places(coupling, explain=explain)
    return Analysis("graph and cycles", order, supported, faces, forest, coupling, coupled)


def constraint_order(system: System, key: tuple[str, ...] | None) -> tuple[int, ...]:
    """Return the order in which the constraints' rows are served: those that contain the key first, larger first."""
    sizes = np.diff(system.offsets)
    outside = [key is not None and not set(key) <= set(scope) for scope in system.scopes]
    return tuple(sorted(range(len(sizes)), key=lambda k: (outside[k], -int(sizes[k]), k)))


def _rows_of(system: System, constraints: Sequence[int], mask: BoolArray) -> IntArray:
    """Return the rows of the constraints that the mask has, constraint by constraint in the order given."""
    parts = [int(system.offsets[k]) + np.flatnonzero(mask[system.block(k)]) for k in constraints]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _require_small(rows: int) -> None:
    if rows > MOST_COUPLED:
        needed, most = 16 * rows**2, 16 * MOST_COUPLED**2
        raise TooLargeError(
            f"the exact rank needs the elimination of {rows} coupled rows, {needed} bytes; at most {most} are used",
            needed,
            most,
        )
