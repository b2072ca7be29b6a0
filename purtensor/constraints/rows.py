"""Constraints of any kind as rows: what each asks of the masses, in sparse coefficients and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from scipy import sparse

from purtensor._options import items_of
from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.labelled import Labelled, read_labelled
from purtensor.errors import InvalidOptionError, UnknownCategoryError
from purtensor.tables.coded import CodedTable
from purtensor.tables.domain import Domain, label_of


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What rows are written over: the profiles of a table, or the records of a frame.

    Attributes
    ----------
    domain
        Attributes and their categories.
    codes
        For each attribute the category code of every member.
    numbers
        Columns of numbers of the same length, such as an income; a table has none.
    aggregate
        Shape (cells, members): which members a cell sums up, as persons of households; None where each is a cell.
    """

    domain: Domain
    codes: tuple[IntArray, ...]
    numbers: Mapping[str, FloatArray] = field(default_factory=dict)
    aggregate: sparse.csr_array | None = None

    @property
    def members(self) -> int:
        """The number of profiles or records that have codes."""
        # records may have columns of numbers alone
        if self.codes:
            return len(self.codes[0])
        return len(next(iter(self.numbers.values()))) if self.numbers else 0

    @property
    def count(self) -> int:
        """The number of cells: the columns of all rows."""
        return self.members if self.aggregate is None else int(self.aggregate.shape[0])

    def columns(self, attributes: Sequence[str]) -> tuple[IntArray, ...]:
        """Return the codes of `attributes`, in the order asked; an attribute that is not there raises."""
        return tuple(self.codes[self.domain.position(name)] for name in attributes)

    def over_cells(self, coefficients: sparse.csr_array) -> sparse.csr_array:
        """Return rows over members, shape (rows, members), as rows over cells."""
        if self.aggregate is None:
            return coefficients
        # a cell's coefficient is the sum of its members'
        return (coefficients @ self.aggregate.T).tocsr()


def cells_of(coded: CodedTable) -> Cells:
    """Return the support of a table as cells."""
    return Cells(coded.domain, coded.codes)


def row_sizes(coefficients: sparse.csr_array) -> FloatArray:
    """Return the largest absolute coefficient of each row, 0 where it has none."""
    starts, found = coefficients.indptr[:-1], np.zeros(coefficients.shape[0])
    # reduceat would give an empty row an entry of the next one
    filled = np.diff(coefficients.indptr) > 0
    if filled.any():
        highest = np.maximum.reduceat(coefficients.data, starts[filled])
        lowest = np.minimum.reduceat(coefficients.data, starts[filled])
        found[filled] = np.maximum(np.abs(highest), np.abs(lowest))
    return found


def several_constraints(value: Any, function: str) -> list[Any]:
    """Return the constraints in an iterable of them.

    Raises
    ------
    InvalidOptionError
        No iterable, an empty one, or one with something else in it.
    """
    items = items_of(value)
    # strings are iterable, but never a list of constraints
    if not items or isinstance(value, str | bytes) or not all(hasattr(one, "rows") for one in items):
        raise InvalidOptionError(f"{function} takes a constraint, or an iterable of them, got {value!r:.60}")
    return items


@dataclass(frozen=True, slots=True, eq=False)
class Softness:
    """The cost of violating the rows of a constraint; arrays have one entry per row.

    Attributes
    ----------
    penalty
        "kl", "l1", "quadratic" or "huber".
    strength
        Nats per unit of mass; None where `sd` or `covariance` says what a miss costs.
    sd
        Standard errors of the targets, in the units of the rows.
    covariance
        Shape (rows, rows): of the targets' errors.
    k
        Huber's penalty is quadratic up to k standard errors, and linear beyond.
    """

    penalty: str
    strength: FloatArray | None = None
    sd: FloatArray | None = None
    covariance: FloatArray | None = None
    k: float = 1.345


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """The rows of one constraint: lower <= coefficients @ masses <= upper.

    Attributes
    ----------
    name
        The constraint in words, such as "age" or "total of persons by zone".
    labels
        One a row, such as "age=young"; "" for the only row.
    coefficients
        Shape (rows, cells), zeros not stored.
    lower, upper
        Shape (rows,); equal for a target, -inf and inf where there is no end.
    index
        The categories of every row, one level an attribute; None where rows have no categories.
    counts
        Shape (rows, cells), zeros and ones: the cells that a row is about. Numeric rows are centred by it where a hard
        constraint fixes what it counts.
    softness
        What missing the rows costs; None where they must hold.
    is_marginal
        Whether the rows are those of a marginal with a target: a partition of all cells.
    denominators, denominators_say
        Rows over cells that hard constraints must fix for the constraint to mean what it says, and how to say that they
        do not.
    """

    name: str
    labels: tuple[str, ...]
    coefficients: sparse.csr_array
    lower: FloatArray
    upper: FloatArray
    index: pd.MultiIndex | None = None
    counts: sparse.csr_array | None = None
    softness: Softness | None = None
    is_marginal: bool = False
    denominators: sparse.csr_array | None = None
    denominators_say: str = ""

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.lower)

    @property
    def equalities(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows must equal a number; none of soft ones."""
        hard = self.softness is None
        return np.asarray((self.lower == self.upper) & hard)

    def select_cells(self, chosen: IntArray) -> RowBlock:
        """Return the same rows over some of the cells."""
        names = ("coefficients", "counts", "denominators")
        parts = {name: matrix for name in names if (matrix := getattr(self, name)) is not None}
        return replace(self, **{name: sparse.csr_array(matrix[:, chosen]) for name, matrix in parts.items()})


@runtime_checkable
class RowConstraint(Protocol):
    """A labelled constraint: a name, the attributes it is about, and its rows over cells."""

    @property
    def name(self) -> str:
        """The constraint in words."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the cells must have."""

    def rows(self, cells: Cells) -> RowBlock:
        """Return the rows, aligned by label; errors name the attribute, category or label that does not fit."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Wrapped:
    """A constraint around another one, which it is named after."""

    constraint: Any

    @property
    def name(self) -> str:
        """The constraint in words."""
        return str(self.constraint.name)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the cells must have."""
        return tuple(self.constraint.attributes)


@dataclass(frozen=True, slots=True, eq=False)
class KnownRows:
    """Rows that are known already as a constraint, over cells that they know by position."""

    block: RowBlock
    attributes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The constraint in words."""
        return self.block.name

    def rows(self, cells: Cells) -> RowBlock:
        """Return the rows, which fit tables with the support that they were written for only."""
        # another support would give each coefficient to another profile
        if cells.count != self.block.coefficients.shape[1]:
            raise ValueError(f"the rows are over {self.block.coefficients.shape[1]} profiles, got {cells.count}")
        return self.block

    def __repr__(self) -> str:
        return f"<{self.name}: {self.block.count} stored rows>"


def numbers_on_rows(value: Any, block: RowBlock, what: str) -> FloatArray:
    """Return one number per row: the same for all, or by the labels of the rows.

    Raises
    ------
    InvalidTableError
        Neither, NaN, or over other attributes than the rows.
    UnknownCategoryError
        A row has no number.
    """
    count = len(block.labels)
    attributes = () if block.index is None else tuple(str(name) for name in block.index.names)
    read = read_labelled(value, attributes, what)
    if not isinstance(read, Labelled):
        return np.full(count, read)
    if block.index is None:
        raise UnknownCategoryError(f"{what} is by label, but the rows have no labels: give a number")
    # by labels, since the numbers may list categories in another order than the rows
    known = {label_of(read.domain, codes): k for k, codes in enumerate(zip(*read.codes, strict=True))}
    labels = [tuple(label) for label in block.index]
    lost = [label for label in labels if label not in known]
    if lost:
        raise UnknownCategoryError(f"{what} has no number for the row ({', '.join(map(str, lost[0]))})")
    return np.array([read.values[known[label]] for label in labels])
