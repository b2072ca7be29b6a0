"""The general problem in arrays with names: reference, general rows, bounds, and the units of misses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.rows import RowBlock, row_sizes
from purtensor.solving.dual.penalties import BlockCosts, block_costs

DISTANCES = ("kl", "linear", "logit")
"""The words for `distance`."""


@dataclass(frozen=True, eq=False)  # no slots: what is computed on demand lives in the instance's dict
class Question:
    """The nearest masses that rows of any kind allow (notes/one_dual.md, equation 1).

    Attributes
    ----------
    reference
        Shape (cells,): positive masses, scaled to the total where there is one.
    blocks
        The rows, constraint by constraint.
    lower, upper
        Shape (cells,): bounds on the masses.
    total
        T, what misses and penalties are measured by.
    distance
        "kl", "linear" (chi-squared) or "logit".
    size
        The size of the sample that standard errors are of; the total when None.
    signs
        Shape (cells,): the signs of a reference with negative masses, of which `reference` has the sizes; else None.
    fixed_total
        Whether a hard row makes the masses sum to `total`.
    describe
        Returns a cell in words.
    """

    reference: FloatArray
    blocks: tuple[RowBlock, ...]
    lower: FloatArray
    upper: FloatArray
    total: float
    distance: str = "kl"
    size: float | None = None
    signs: FloatArray | None = None
    fixed_total: bool = True
    describe: Callable[[int], str] = field(default=str, repr=False)

    @cached_property
    def coefficients(self) -> sparse.csr_array:
        """All rows over the cells; columns of negative references have their sign."""
        # a negative cell counts by its size, so its sign moves into the column
        stacked = sparse.vstack([block.coefficients for block in self.blocks], format="csr")
        return stacked if self.signs is None else (stacked @ sparse.diags_array(self.signs)).tocsr()

    @cached_property
    def costs(self) -> list[BlockCosts]:
        """What missing the rows costs, block by block; penalties that do not fit their rows raise an error."""
        return [block_costs(block, self.total, self.size or self.total) for block in self.blocks]

    @cached_property
    def row_sizes(self) -> FloatArray:
        """The largest absolute coefficient of each row."""
        return row_sizes(self.coefficients)

    @cached_property
    def row_lower(self) -> FloatArray:
        """The lower ends of all rows."""
        return np.concatenate([block.lower for block in self.blocks])

    @cached_property
    def row_upper(self) -> FloatArray:
        """The upper ends of all rows."""
        return np.concatenate([block.upper for block in self.blocks])

    @cached_property
    def offsets(self) -> IntArray:
        """Where the rows of each block begin among all."""
        return np.concatenate([[0], np.cumsum([block.count for block in self.blocks])]).astype(np.int64)

    @cached_property
    def hard(self) -> BoolArray:
        """Which rows must hold."""
        return np.concatenate([np.full(block.count, block.softness is None) for block in self.blocks])

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.offsets[-1])

    def block(self, k: int) -> slice:
        """Return where the rows of block k stand among all."""
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))

    def row_name(self, row: int) -> str:
        """Return a row in words, such as 'age=young' or 'total income, zone=z1'."""
        k = int(np.searchsorted(self.offsets, row, side="right")) - 1
        block = self.blocks[k]
        label = block.labels[row - int(self.offsets[k])]
        if block.is_marginal and label:
            return label
        return f"{block.name}, {label}" if label else block.name

    def sums(self, masses: FloatArray) -> FloatArray:
        """Return what the rows come to at masses (sizes, where the reference has signs)."""
        return np.asarray(self.coefficients @ masses)

    def misses(self, sums: FloatArray) -> FloatArray:
        """Return how far each row is outside of its interval: negative below it, positive above."""
        return np.where(sums < self.row_lower, sums - self.row_lower, np.maximum(sums - self.row_upper, 0.0))
