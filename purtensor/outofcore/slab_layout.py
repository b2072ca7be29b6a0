"""The profiles of a part in slab order, with Newton's equations laid out: when a table is cut, and on its faces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.rank.echelon import primes
from purtensor.constraints.rank.exact_rank import Vectors
from purtensor.constraints.rank.graph import couple, grow_forest
from purtensor.constraints.rank.slab_elimination import NullVectors
from purtensor.constraints.slabs import Slabs, arrange
from purtensor.constraints.system import System
from purtensor.outofcore.part import Part, write_part
from purtensor.solving.hessian.arrowhead import build_arrowhead
from purtensor.solving.hessian.bipartite import build_bipartite
from purtensor.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """The result of laying out a part.

    Attributes
    ----------
    order
        Which of the profiles given stands where.
    slabs, bytes
        How many slabs there are, and the size of the part's file.
    mass, smallest
        Of the reference; its smallest mass, or a target that is smaller still.
    basis
        Of the null vectors of the slabs, summed over the outer rows, modulo the prime; None where nothing couples them.
    """

    order: IntArray
    slabs: int
    bytes: int
    mass: float
    smallest: float
    basis: IntArray | None


def lay_out(path: Path, given: System, reference: FloatArray, key: tuple[str, ...], prime: int) -> Laid:
    """Write the part of a system whose inside rows all have a profile, and return its layout."""
    system, slabs, order = arrange(given, key)
    reference = reference[order]
    independent, vectors = structure_of(system.index, system.offsets, slabs)
    # where coupling rows depend on the cell alone the slabs have a form of their own, which is faster
    form = build_bipartite(system, slabs, independent) or build_arrowhead(system, slabs, independent)
    write_part(path, Part(reference, system.index, system.offsets, system.targets, slabs.inside, slabs.outside, form))
    basis = vectors.span(prime).basis if vectors is not None else None
    smallest = min(float(reference.min()), float(system.targets[system.targets > 0].min()))
    return Laid(order, slabs.count, path.stat().st_size, float(reference.sum()), smallest, basis)


def structure_of(index: IntArray, offsets: IntArray, slabs: Slabs) -> tuple[BoolArray, Vectors | None]:
    """Return independent rows, all outside ones among them, and the null vectors of the slabs summed over those.

    Every row has a profile but, perhaps, outside ones. None where nothing couples the slabs.
    """
    rows = int(offsets[-1])
    count = len(offsets) - 1
    # ranks depend on the pattern alone: targets and labels may be anything
    system = System(index, offsets, np.ones(rows), Domain((), ()), ((),) * count, ((),) * count)
    outer = [np.arange(offsets[k], offsets[k + 1]) for k in slabs.outside]
    outer_rows = np.concatenate(outer) if outer else np.empty(0, dtype=np.int64)
    independent = np.ones(rows, dtype=bool)
    if len(slabs.inside) == 2:
        main, second = slabs.inside
        forest = grow_forest(system, main, second, independent)
        # each tree of the graph makes one row depend on the others: that of its root
        independent[int(offsets[second]) + forest.roots - forest.first_rows] = False
        return independent, couple(system, forest, slabs.outside, outer_rows) if outer else None
    inside, outside = list(slabs.inside), list(slabs.outside)
    places_of = np.full(rows, -1, dtype=np.int64)
    places_of[outer_rows] = np.arange(len(outer_rows))
    inner = independent.copy()
    inner[outer_rows] = False
    vectors = NullVectors(
        slabs.slab_ptr,
        index[inside],
        offsets[inside],
        inner,
        index[outside],
        offsets[outside],
        outer_rows,
        places_of,
        int(index.shape[1]),
        next(primes()),
    )
    marked = np.zeros(rows, dtype=bool)
    # run for what it marks: the independent rows inside the slabs
    for _ in vectors.passes(marked):
        pass
    marked[outer_rows] = True
    return marked, vectors if outer else None
