"""The general problem in arrays with names: reference, rows, bounds, and what soft rows cost, in nats times mass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.rows import RowBlock, Softness, row_sizes
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.solving.dual.columns.kind import bregman_entropy


@dataclass(frozen=True, slots=True, eq=False)
class BlockCosts:
    """What missing the rows of a block costs, one entry a row, as in RowCosts.

    Attributes
    ----------
    absolute, variance, divergence
        As in RowCosts: a cost per unit, the variance of a quadratic one, the strength of a kl one.
    whitening
        The rows are to be multiplied by this before; None where the errors of the targets are independent.
    """

    absolute: FloatArray
    variance: FloatArray
    divergence: FloatArray
    whitening: FloatArray | None = None


def block_costs(block: RowBlock, total: float, size: float) -> BlockCosts:
    """Return the costs of a block's rows (notes/one_dual.md, equation 2); they must fit what the rows ask."""
    count = block.count
    never, nothing, none = np.full(count, np.inf), np.zeros(count), np.full(count, np.nan)
    soft = block.softness
    if soft is None:
        return BlockCosts(never, nothing, none)
    if soft.penalty == "kl":
        _require_divergence(block)
        return BlockCosts(never, nothing, _strength(block, soft))
    if soft.penalty == "l1":
        return BlockCosts(_strength(block, soft), nothing, none)
    unit = size / total  # standard errors count (T / size) r^2 / (2 sd^2) against T times the divergence
    if soft.penalty == "huber":
        if soft.sd is None:  # refused by `soft`, but a file may say anything
            raise InvalidOptionError(f"{block.name}: penalty='huber' needs sd=, the standard error of each target")
        # Huber, with v = unit sd^2: quadratic up to k sd, then k sd / v per unit (notes/one_dual.md)
        return BlockCosts(soft.k / (soft.sd * unit), unit * soft.sd**2, none)
    if soft.covariance is not None:
        return BlockCosts(never, np.full(count, unit), none, _whitening(block, soft.covariance))
    variance = unit * soft.sd**2 if soft.sd is not None else total / _strength(block, soft)
    return BlockCosts(never, np.broadcast_to(variance, (count,)).astype(np.float64), none)


def penalty_paid(block: RowBlock, sums: FloatArray, costs: BlockCosts) -> float:
    """Return what the rows of a soft block cost where they come to `sums`, in nats times mass."""
    if block.softness is None:
        return 0.0
    if block.softness.penalty == "kl":
        return float((costs.divergence * bregman_entropy(np.maximum(sums, 0.0), block.upper)).sum())
    if costs.whitening is None:
        size = np.abs(np.where(sums < block.lower, sums - block.lower, np.maximum(sums - block.upper, 0.0)))
    else:
        size = np.abs(costs.whitening @ (sums - block.lower))
    with np.errstate(divide="ignore", invalid="ignore"):
        # quadratic up to here, linear beyond (Huber); either part may be missing
        bent = np.where(costs.variance > 0.0, np.minimum(size, costs.absolute * costs.variance), 0.0)
        curved = np.where(bent > 0.0, bent**2 / (2.0 * costs.variance), 0.0)
        beyond = np.where(size > bent, costs.absolute * (size - bent), 0.0)
    return float((curved + beyond).sum())


def pull_at_nothing(block: RowBlock, costs: BlockCosts) -> FloatArray:
    """Return the potentials of rows that no cell can reach: minus the slope of their penalty where they come to 0."""
    miss = np.where(block.lower > 0.0, block.lower, np.minimum(block.upper, 0.0))
    if block.softness is None:
        return np.zeros(block.count)
    if block.softness.penalty == "kl":
        # the slope of x log(x / b) at 0
        return np.where(miss > 0.0, np.inf, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # a variance of 0, of absolute penalties, makes any miss cost its full price
        return np.where(miss == 0.0, 0.0, np.clip(miss / costs.variance, -costs.absolute, costs.absolute))


def _strength(block: RowBlock, soft: Softness) -> FloatArray:
    if soft.strength is None:
        raise InvalidOptionError(f"{block.name}: penalty={soft.penalty!r} needs strength=, in nats per unit of mass")
    return np.broadcast_to(np.asarray(soft.strength, dtype=np.float64), (block.count,)).astype(np.float64)


def _require_divergence(block: RowBlock) -> None:
    if not np.array_equal(block.lower, block.upper):
        raise InvalidOptionError(
            f"{block.name}: penalty='kl' needs targets, got an interval; use penalty='quadratic' or 'l1'"
        )
    negative = np.flatnonzero(block.upper < 0.0)
    if len(negative):
        raise InvalidTableError(
            f"{block.name}: the target of {block.labels[negative[0]] or 'the row'} is {block.upper[negative[0]]:g}; "
            "penalty='kl' needs targets that are not negative: use sd=, or penalty='l1'"
        )
    if len(block.coefficients.data) and block.coefficients.data.min() < 0.0:
        raise InvalidTableError(
            f"{block.name} has negative coefficients; penalty='kl' compares masses: use sd=, or penalty='l1'"
        )


def _whitening(block: RowBlock, covariance: FloatArray) -> FloatArray:
    if not np.array_equal(block.lower, block.upper):
        raise InvalidOptionError(f"{block.name}: covariance= needs targets, got an interval; use sd= for a dead zone")
    if covariance.shape != (block.count, block.count):
        raise InvalidOptionError(
            f"{block.name}: covariance must have shape {(block.count, block.count)}, got {covariance.shape}"
        )
    try:
        # with covariance L L^T the errors L^-1 r are independent, of variance 1
        return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)))
    except np.linalg.LinAlgError:
        raise InvalidOptionError(f"{block.name}: covariance must be symmetric and positive definite") from None


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
