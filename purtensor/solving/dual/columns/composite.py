"""All columns of a problem, block by block: the composite answers what a kind answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from purtensor._typing import BoolArray, FloatArray
from purtensor.solving.dual.columns.kind import ColumnKind
from purtensor.solving.dual.columns.squares import LinearCostColumns


class CompositeColumns:
    """Blocks of columns side by side: the cells first, then slacks by kind.

    Attributes
    ----------
    blocks
        The kinds, in the order of the columns; linear costs are the last block where there are any.
    lower, upper
        Shape (columns,): the bounds of all.
    """

    def __init__(self, blocks: Sequence[ColumnKind]) -> None:
        self.blocks = tuple(blocks)
        ends = np.cumsum([len(block.lower) for block in self.blocks])
        self.slices = tuple(slice(int(end) - len(b.lower), int(end)) for end, b in zip(ends, self.blocks, strict=True))
        self.size = int(ends[-1])
        self.lower = np.concatenate([block.lower for block in self.blocks])
        self.upper = np.concatenate([block.upper for block in self.blocks])

    @property
    def linear(self) -> LinearCostColumns | None:
        """The block of linear costs, which the solver anchors anew."""
        last = self.blocks[-1]
        return last if isinstance(last, LinearCostColumns) else None

    @property
    def linear_slice(self) -> slice:
        """Where the linear costs stand; empty where there are none."""
        return self.slices[-1] if self.linear is not None else slice(self.size, self.size)

    def anchor_at(self, anchor: FloatArray, width: FloatArray) -> CompositeColumns:
        """Return the same columns with the proximal term of linear costs moved; themselves where there are none."""
        linear = self.linear
        return self if linear is None else self.with_linear(linear.anchor_at(anchor, width))

    def with_linear(self, linear: LinearCostColumns) -> CompositeColumns:
        """Return the same columns with another block of linear costs."""
        return CompositeColumns([*self.blocks[:-1], linear])

    def respond(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the responses to z and their derivatives."""
        x, give = np.empty(self.size), np.empty(self.size)
        for block, own in zip(self.blocks, self.slices, strict=True):
            x[own], give[own] = block.respond(z[own])
        return x, give

    def loss(self, z: FloatArray, change: FloatArray, x: FloatArray) -> float:
        """Return the sum of the columns' losses along `change`."""
        return sum(block.loss(z[own], change[own], x[own]) for block, own in zip(self.blocks, self.slices, strict=True))

    def gap(self, other: FloatArray, z: FloatArray) -> FloatArray:
        """Return for each column h(other) + h*(z) - z other."""
        return self._gather(lambda block, own: block.gap(other[own], z[own]))

    def slope(self, x: FloatArray) -> FloatArray:
        """Return h'(x), of linear costs without a proximal term."""
        return self._gather(
            # the proximal term is the solver's own, and no part of the problem
            lambda block, own: block.cost if isinstance(block, LinearCostColumns) else block.slope(x[own])
        )

    def give(self, x: FloatArray) -> FloatArray:
        """Return 1 / h''(x), as if there were no bounds."""
        return self._gather(lambda block, own: block.give(x[own]))

    @property
    def repelled_below(self) -> BoolArray:
        """Whether the cost keeps a column off its lower bound."""
        return np.concatenate([block.repelled_below for block in self.blocks])

    @property
    def repelled_above(self) -> BoolArray:
        """Whether the cost keeps a column off its upper bound."""
        return np.concatenate([block.repelled_above for block in self.blocks])

    def _gather(self, ask: Callable[[ColumnKind, slice], FloatArray]) -> FloatArray:
        found = np.empty(self.size)
        for block, own in zip(self.blocks, self.slices, strict=True):
            found[own] = ask(block, own)
        return found
