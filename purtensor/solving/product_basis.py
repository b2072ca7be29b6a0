"""A basis of profiles that is known beforehand: where every slab has all pairs of the rows of two constraints.

Slabs are stars: one profile for each row of either constraint, through a pair that both share. A third constraint on
the pairs, as parity is, has a profile of one slab for each row that it adds, with the rectangle that this closes there;
what these rectangles sum to in its rows is the identity. Nothing is searched for, and masses play no part: what is left
to a basis is so little that it need not be heavy (notes/certificate.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.rank.independence import independent_rows
from purtensor.solving.basis import UPWARD
from purtensor.solving.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class ProductBasis:
    """See `purtensor.solving.basis.Basis`: profiles that meet any misses of the independent rows, in one way.

    Attributes
    ----------
    firsts, seconds
        The rows of the two constraints in each slab, shapes (slabs, I) and (slabs, J); all firsts are independent.
    left_out
        For each slab the place j of the second row that is not independent, shape (slabs,).
    pairs
        The rows of the third constraint, shape (I, J), and the place of the row and the column of it that are not
        independent; None where there is no third constraint.
    closing
        The slab whose profiles meet the third constraint.
    """

    problem: Problem
    firsts: IntArray
    seconds: IntArray
    left_out: IntArray
    pairs: tuple[IntArray, int, int] | None
    closing: int

    def change(self, missed: FloatArray) -> FloatArray:
        """Return changes of the masses that make up for the misses, shape (M,), as exact as float64 makes them."""
        found = self._stars(missed, -1.0)
        if self.pairs is not None:
            rows, i, j = self.pairs
            self._close(found, _mask(missed[rows] - found.sum(axis=0), i, j), -1.0)
        return found.reshape(-1)

    def sizes(self, missed: FloatArray) -> FloatArray:
        """Return what the sizes of the exact changes cannot pass, shape (M,), where no miss passes these sizes."""
        found = self._stars(missed, 1.0)
        if self.pairs is not None:
            rows, i, j = self.pairs
            self._close(found, _mask(missed[rows] + found.sum(axis=0) * UPWARD, i, j), 1.0)
        found *= UPWARD
        return found.reshape(-1)

    def _stars(self, missed: FloatArray, sign: float) -> FloatArray:
        """Return what meets the misses of both constraints in the slabs, shape (slabs, I, J).

        A first row is met in the column that is left out, a second one in row 0, where the corner makes up for it:
        with the given sign.
        """
        slabs = np.arange(len(self.firsts))
        found = np.zeros((len(slabs), self.firsts.shape[1], self.seconds.shape[1]))
        of_seconds = missed[self.seconds]
        of_seconds[slabs, self.left_out] = 0.0
        found[:, 0, :] = of_seconds
        of_firsts = missed[self.firsts]
        # row 0 now carries the second rows' misses: its corner takes them back (or adds up sizes, with sign 1)
        of_firsts[:, 0] += sign * of_seconds.sum(axis=1)
        found[slabs, :, self.left_out] = of_firsts
        return found

    def _close(self, found: FloatArray, values: FloatArray, sign: float) -> None:
        """Add values to the pairs of one slab, and what keeps its rows: they are 0 in a row and a column."""
        assert self.pairs is not None
        _, i, j = self.pairs
        slab = found[self.closing]
        slab += values
        slab[i] += sign * values.sum(axis=0)
        slab[:, j] += sign * values.sum(axis=1)
        # in a rectangle the corner opposite to the value has its sign
        slab[i, j] += values.sum()


def _mask(values: FloatArray, i: int, j: int) -> FloatArray:
    values[i], values[:, j] = 0.0, 0.0
    return values


def product_basis(problem: Problem) -> ProductBasis | None:
    """Return the basis that slabs have which are products of two constraints' rows; None where they are not."""
    slabs, system = problem.slabs, problem.system
    if slabs is None or len(slabs.inside) != 2 or len(slabs.outside) > 1:
        return None
    first, second = slabs.inside
    cells, odd = divmod(system.profiles, slabs.count)
    counts = [int(system.offsets[k + 1] - system.offsets[k]) for k in (first, second)]
    shape = slabs.count, counts[0] // slabs.count, counts[1] // slabs.count
    if odd or shape[1] * shape[2] != cells or slabs.count * (shape[1] + shape[2]) != sum(counts):
        return None
    if np.any(np.diff(slabs.slab_ptr) != cells):
        return None
    firsts, seconds = (system.index[k].reshape(shape) for k in (first, second))
    # every profile of a slab must be the pair that its place says
    if (firsts != firsts[:, :, :1]).any() or (seconds != seconds[:, :1, :]).any():
        return None
    independent = independent_rows(system, slabs.key).mask(system.rows)
    places = [
        system.offsets[first] + firsts[:, :, 0].astype(np.int64),
        system.offsets[second] + seconds[:, 0, :].astype(np.int64),
    ]
    left_out = ~independent[places[1]]
    if not independent[places[0]].all() or (left_out.sum(axis=1) != 1).any():
        return None
    pairs = None
    if slabs.outside:
        pairs = _pairs(problem, slabs.outside[0], shape, independent)
        if pairs is None:
            return None
    heaviest = int(problem.targets[places[0]].sum(axis=1).argmax())
    return ProductBasis(problem, places[0], places[1], left_out.argmax(axis=1), pairs, heaviest)


def _pairs(
    problem: Problem, third: int, shape: tuple[int, int, int], independent: BoolArray
) -> tuple[IntArray, int, int] | None:
    """Return a constraint's rows by pairs, and the row and column of them that are not independent; None without."""
    of_pairs = problem.index[third].reshape(shape)
    block = problem.system.block(third)
    if block.stop - block.start != shape[1] * shape[2] or len(np.unique(of_pairs[0])) != shape[1] * shape[2]:
        return None
    if (of_pairs != of_pairs[0]).any():
        return None
    rows = block.start + of_pairs[0].astype(np.int64)
    # beside the two others, a table of pairs adds all of its rows but one row and one column of pairs
    dependent = ~independent[rows]
    i, j = int(dependent.all(axis=1).argmax()), int(dependent.all(axis=0).argmax())
    expected = np.zeros_like(dependent)
    expected[i], expected[:, j] = True, True
    return (rows, i, j) if np.array_equal(dependent, expected) else None
