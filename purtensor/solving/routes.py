"""What a correction takes that nobody searches for: bounds on masses that meet any misses of the rows.

That such masses exist, and how large they are, follows from the structure of the constraints alone. Of two constraints
the rows are nodes of a graph, the profiles edges, and along a spanning forest no profile carries more than all misses
together. A third one that depends on the place in the slab is met in a slab that has all places: every independent
row of it closes a cycle of profiles there that are in no other (notes/certificate.md, equations 12 and 13).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.rank.independence import independent_rows
from purtensor.solving.basis import UPWARD
from purtensor.solving.hessian.bipartite import Bipartite
from purtensor.solving.hessian.choice import has_form, hessian_of
from purtensor.solving.hessian.dense import ShiftedDense
from purtensor.solving.problem import Problem


class Rest(NamedTuple):
    """Bounds on masses e that are added to masses p: sum e^2 / p, the largest e / p, and the sum of |e|."""

    square: float
    share: float
    size: float


@dataclass(frozen=True, slots=True, eq=False)
class Routes:
    """The independent rows of the graph, those beside it, and the most profiles of a path; the slabs, if any."""

    of_graph: IntArray
    beside: IntArray
    longest: int
    form: Bipartite | None

    def bound(self, missed: FloatArray, inverse: float, lowest: float) -> Rest:
        """Return bounds on masses that meet misses of these sizes: sum 1 / p and the smallest p are given."""
        inside, closing = self._bound_flows(missed)
        largest = (inside + closing) * UPWARD
        share = largest / lowest if lowest > 0.0 else math.inf
        return Rest(largest * largest * inverse * UPWARD, share, self.longest * largest)

    def bound_by_slab(self, missed: FloatArray, masses: FloatArray) -> Rest:
        """Return better bounds of slabs, by a pass over the masses: no slab carries what others miss."""
        form = self.form
        assert form is not None
        _, closing = self._bound_flows(missed)
        # number -1 reads the 0 appended; rows that are not independent count as well, which does no harm
        of_rows = np.append(missed, 0.0)
        carried = of_rows[form.primary].sum(axis=1) + of_rows[form.other].sum(axis=1)
        begins = form.slabs.slab_ptr[:-1]
        lowest = np.minimum.reduceat(masses, begins)
        size = self.longest * float(carried.sum())
        if len(self.beside):
            sizes = np.diff(form.slabs.slab_ptr)
            # a slab in which the lightest profile is heavy takes the cycles
            slab = int(np.where(sizes == sizes.max(), lowest, -1.0).argmax())
            if not _is_full(form, slab):
                return Rest(math.inf, math.inf, math.inf)
            carried[slab] += closing
            size += self.longest * closing
        with np.errstate(all="ignore"):  # infinite or no number where a mass is 0
            square = float((carried * carried * np.add.reduceat(1.0 / masses, begins)).sum())
            return Rest(square * UPWARD, float((carried / lowest).max()) * UPWARD, size * UPWARD)

    def _bound_flows(self, missed: FloatArray) -> tuple[float, float]:
        """Return the most that paths carry, and the most that cycles do."""
        inside = float(missed[self.of_graph].sum())
        # what paths add to the rows beside, the cycles take back
        closing = float(missed[self.beside].sum()) + self.longest * inside if len(self.beside) else 0.0
        return inside * UPWARD, closing * UPWARD


def bound_by_matrix(shifted: ShiftedDense, missed: FloatArray, total: float) -> Rest:
    """Return bounds on the masses p C^T y that meet misses of these sizes, y solving Newton's equations at p exactly.

    The total is that of p (notes/certificate.md, equation 16).
    """
    size = float(np.linalg.norm(shifted.scale * missed[shifted.independent])) * UPWARD
    square = size * size / shifted.least * UPWARD
    share = size / shifted.least * math.sqrt(shifted.constraints) * float(shifted.scale.max()) * UPWARD
    return Rest(square, share, math.sqrt(square * total) * UPWARD)


def routes_of(problem: Problem) -> Routes | None:
    """Return the routes of a problem; None where its structure says nothing about them."""
    system, slabs = problem.system, problem.slabs
    if len(problem.index) <= 2:
        kept = independent_rows(system, None if slabs is None else slabs.key).rows
        return Routes(kept, kept[:0], len(kept), None)
    # the point was swept to the targets: building a form would cost more than the search that it spares
    if not has_form(problem):
        return None
    form = hessian_of(problem)
    # as many places as rows: every row is at one place, for independent rows have profiles
    if not (isinstance(form, Bipartite) and len(form.cells) == len(form.coupling_rows)):
        return None
    if not _is_full(form, int(np.diff(form.slabs.slab_ptr).argmax())):
        return None
    of_graph = independent_rows(system, form.slabs.key).mask(system.rows)
    of_graph[form.coupling_rows] = False
    return Routes(np.flatnonzero(of_graph), form.coupling_rows, sum(form.shape), form)


def _is_full(form: Bipartite, slab: int) -> bool:
    """Return whether a slab has a profile at each of its places."""
    begin, end = form.slabs.slab_ptr[slab], form.slabs.slab_ptr[slab + 1]
    return len(set(form.code[begin:end].tolist())) == form.shape[0] * form.shape[1]
