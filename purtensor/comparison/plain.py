"""A problem as plain arrays, as other packages take it; and the judge of any answer, from sums alone.

Nothing here is shared with the solvers: numpy adds up the masses, and that is compared with the targets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from purtensor._typing import FloatArray, IntArray

# dense arrays of more cells are not made: several copies of them would fill the memory
_MOST_CELLS = 5 * 10**7


class NotApplicableError(Exception):
    """A solver cannot take a problem; the message says why."""


@dataclass(frozen=True, eq=False)
class PlainProblem:
    """A reference on M profiles of L attributes, and K marginals with D rows in all; both of total mass 1.

    Attributes
    ----------
    sizes
        The number of categories of each attribute.
    codes
        For each attribute the category of every profile of the support.
    masses
        Shape (M,): the reference, positive.
    axes
        For each constraint the positions of its attributes.
    index
        Shape (K, M): the row of each profile within each constraint.
    offsets
        Shape (K + 1,): where the rows of each constraint begin among all rows.
    targets
        Shape (D,).
    row_codes
        For each constraint and each of its attributes the category of every row.
    solution
        Shape (M,): a table that meets the constraints, for those who take their targets from one; None where there
        is none.
    """

    sizes: tuple[int, ...]
    codes: tuple[IntArray, ...]
    masses: FloatArray
    axes: tuple[tuple[int, ...], ...]
    index: IntArray
    offsets: IntArray
    targets: FloatArray
    row_codes: tuple[tuple[IntArray, ...], ...]
    solution: FloatArray | None = None

    def block(self, k: int) -> slice:
        """Return where the rows of constraint k stand among all rows."""
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))

    def sums(self, k: int, masses: FloatArray) -> FloatArray:
        """Return the sums of the masses over the profiles of each row of constraint k."""
        count = int(self.offsets[k + 1] - self.offsets[k])
        sums: FloatArray = np.bincount(self.index[k], weights=masses, minlength=count).astype(np.float64, copy=False)
        return sums

    def misses(self, masses: FloatArray) -> tuple[float, float]:
        """Return the largest miss of a target, and the sum of misses in the worst constraint."""
        largest = l1 = 0.0
        for k in range(len(self.axes)):
            miss = np.abs(self.sums(k, masses) - self.targets[self.block(k)])
            if not np.isfinite(miss).all():
                return math.nan, math.nan
            largest, l1 = max(largest, float(miss.max())), max(l1, float(miss.sum()))
        return largest, l1

    def dense(self, masses: FloatArray) -> FloatArray:
        """Return the masses as an array over the whole domain, zero outside of the support.

        Raises
        ------
        NotApplicableError
            The domain has more cells than anybody wants in an array.
        """
        cells = math.prod(self.sizes)
        if cells > _MOST_CELLS:
            raise NotApplicableError(f"it needs an array over all {cells:.3g} cells of the domain")
        whole = np.zeros(self.sizes)
        whole[self.codes] = masses
        return whole

    def on_support(self, whole: FloatArray) -> FloatArray:
        """Return the masses of the profiles of the support from an array over the whole domain."""
        return np.ascontiguousarray(whole[self.codes])

    def dense_target(self, k: int) -> tuple[tuple[int, ...], FloatArray]:
        """Return the axes of constraint k in ascending order, and its target as an array over them."""
        order = np.argsort(self.axes[k])
        axes = tuple(self.axes[k][place] for place in order)
        target = np.zeros([self.sizes[axis] for axis in axes])
        target[tuple(self.row_codes[k][place] for place in order)] = self.targets[self.block(k)]
        return axes, target

    def matrix_and_margins(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the reference as a matrix and the targets of its rows and columns, for solvers of transport.

        Raises
        ------
        NotApplicableError
            Another problem than two one-way marginals of a table of two attributes.
        """
        if len(self.sizes) != 2 or sorted(self.axes) != [(0,), (1,)]:
            raise NotApplicableError("it takes two one-way marginals of a table of two attributes")
        rows, columns = (self.dense_target(self.axes.index((axis,)))[1] for axis in (0, 1))
        return self.dense(self.masses), rows, columns

    @cached_property
    def kept(self) -> IntArray:
        """The profiles that no target of zero empties."""
        keep = np.ones(len(self.masses), dtype=bool)
        for k in range(len(self.axes)):
            keep &= self.targets[self.block(k)][self.index[k]] > 0.0
        return np.flatnonzero(keep)

    def matrix(self) -> tuple[sparse.csr_array, FloatArray]:
        """Return the coefficients C of the rows with positive targets on the profiles `kept`, and those targets."""
        # the index is of a small unsigned type, in which adding the offsets would wrap around
        rows = (self.index[:, self.kept].astype(np.int64) + self.offsets[:-1, None]).ravel()
        columns = np.tile(np.arange(len(self.kept)), len(self.axes))
        shape = (len(self.targets), len(self.kept))
        positive = self.targets > 0.0
        full = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        return full[positive], self.targets[positive]

    def spread(self, kept: FloatArray) -> FloatArray:
        """Return masses on the profiles `kept` as masses on the support."""
        masses = np.zeros(len(self.masses))
        masses[self.kept] = kept
        return masses
