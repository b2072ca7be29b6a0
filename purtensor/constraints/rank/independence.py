"""Exact ranks of constraint sets on the actual support, by structure and whole-number arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.rank.exact_rank import Structure
from purtensor.constraints.rank.faces import Faces, category_counts, find_faces, is_full_product
from purtensor.constraints.rank.graph import graph_of
from purtensor.constraints.rank.peeling import peel_system
from purtensor.constraints.rank.slab_elimination import LargeEntriesError, slab_by_slab, slab_cost
from purtensor.constraints.slabs import choose_key
from purtensor.constraints.system import System
from purtensor.errors import TooLargeError

MOST_COUPLED = 5000
"""The most rows that a dense elimination takes: about 400 MB and a minute."""

FEW_COUPLED = 500
"""Up to so many coupled rows a dense elimination is cheap."""

CUBES_PER_VISIT = 10
"""So many operations of an elimination, the cube of its rows, take less time than peeling takes for a one of C."""

MOST_SLAB_OPERATIONS = 1e11
"""Slabs that need more are not small matrices."""


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
        How it was found: "one constraint", "full product", "graph" (of two constraints), "graph and cycles", "slab by
        slab" or "peeled".
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
    supported
        The rows that have a profile.
    faces
        What follows from shared marginals alone.
    structure
        What is between the rows that span all others; None where these are independent.
    """

    method: str
    order: tuple[int, ...]
    supported: BoolArray
    faces: Faces
    structure: Structure | None = None

    @property
    def independent(self) -> BoolArray:
        """A maximal set of independent rows as a mask."""
        return self.faces.spanning if self.structure is None else self.structure.independent


def independent_rows(system: System, key: tuple[str, ...] | None = None) -> Independence:
    """Return the exact rank of a system and a maximal set of independent rows; kept while the system lives.

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
        set of every slab, and those of outside constraints are the coupling rows of an arrowhead elimination. The
        result has no key where there is none, or where peeling left a core, which knows no slabs.

    Raises
    ------
    TooLargeError
        What structure leaves over is too large for a dense elimination; the message has the bytes.
    """
    key = choose_key(system) if key is None else key
    return system.remember(("independence", key), lambda: _find_independence(system, key))


def _find_independence(system: System, key: tuple[str, ...] | None) -> Independence:
    analysis = analyse(system, key)
    rows = np.flatnonzero(analysis.independent)
    serves = analysis.structure is None or analysis.structure.serves_order
    return Independence(len(rows), rows, analysis.method, key if serves else None)


def analyse(system: System, key: tuple[str, ...] | None) -> Analysis:
    """Return how the rows of a system depend on each other."""
    order = constraint_order(system, key)
    supported = system.find_supported()
    counts = category_counts(system, order)
    faces = find_faces(system, order, supported, counts)
    if len(order) == 1:
        return Analysis("one constraint", order, supported, faces)
    if is_full_product(system, order, counts):
        return Analysis("full product", order, supported, faces)
    structure = _structure(system, key, order, supported, faces.spanning)
    return Analysis(structure.method, order, supported, faces, structure)


def _structure(
    system: System, key: tuple[str, ...] | None, order: tuple[int, ...], supported: BoolArray, spanning: BoolArray
) -> Structure:
    """Return the structure that gives the rank at the least cost."""
    # two constraints are a graph (notes/independence.md, equation 3); the rest must be eliminated
    coupled = _rows_of(system, order[2:], spanning)
    if len(coupled) > FEW_COUPLED and len(coupled) ** 3 > CUBES_PER_VISIT * system.index.size:
        # 0: peeling only where it leaves no core
        found = peel_system(system, spanning, 0) or _slabs(system, key, order, supported, spanning)
        if found is not None:
            return found
    if len(coupled) <= MOST_COUPLED:
        return graph_of(system, order, supported, coupled)
    peeled = peel_system(system, spanning, MOST_COUPLED)
    if peeled is None:
        # a basis of float64, and its copy whenever it grows
        needed, most = 16 * len(coupled) ** 2, 16 * MOST_COUPLED**2
        raise TooLargeError(
            f"the exact rank needs the elimination of {len(coupled)} coupled rows, {needed} bytes, of which at most "
            f"{most} are "
            "allowed, and neither slabs nor peeling reduce it",
            needed,
            most,
        )
    return peeled


def _slabs(
    system: System, key: tuple[str, ...] | None, order: tuple[int, ...], supported: BoolArray, spanning: BoolArray
) -> Structure | None:
    """Return the structure of slabs where three constraints or more share the key and slabs are small."""
    if key is None:
        return None
    inside = [k for k in order if set(key) <= set(system.scopes[k])]
    if len(inside) < 3 or len(_rows_of(system, order[len(inside) :], spanning)) > MOST_COUPLED:
        return None
    if slab_cost(system, key) > MOST_SLAB_OPERATIONS:
        return None
    try:
        return slab_by_slab(system, key, spanning, supported)
    except LargeEntriesError:  # the graph or peeling have to do
        return None


def constraint_order(system: System, key: tuple[str, ...] | None) -> tuple[int, ...]:
    """Return the order in which the constraints' rows are served: those that contain the key first, larger first."""
    sizes = np.diff(system.offsets)
    outside = [key is not None and not set(key) <= set(scope) for scope in system.scopes]
    return tuple(sorted(range(len(sizes)), key=lambda k: (outside[k], -int(sizes[k]), k)))


def _rows_of(system: System, constraints: Sequence[int], mask: BoolArray) -> IntArray:
    """Return the rows of the constraints that the mask has, constraint by constraint in the order given."""
    parts = [int(system.offsets[k]) + np.flatnonzero(mask[system.block(k)]) for k in constraints]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
