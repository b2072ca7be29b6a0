"""What a result claims, read from its labelled tables into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from purtensor._typing import BoolArray, FloatArray, IntArray, Table
from purtensor.errors import InvalidTableError, UnknownCategoryError
from purtensor.tables.coded import CodedTable, domain_of, encode, is_sparse, read_codes
from purtensor.tables.domain import Domain, describe_profile
from purtensor.tables.grouping import group_profiles
from purtensor.tables.translate import category_map, translate_codes

LongArray = npt.NDArray[np.longdouble]


class HasTarget(Protocol):
    """A constraint: anything with a target."""

    @property
    def target(self) -> Table:
        """The marginal that must hold."""
        ...


class Claims(Protocol):
    """What is verified: anything with the fields of a Projection that are read here."""

    @property
    def table(self) -> Table: ...  # noqa: D102
    @property
    def reference(self) -> Table: ...  # noqa: D102
    @property
    def reference_in(self) -> str: ...  # noqa: D102
    @property
    def constraints(self) -> Sequence[HasTarget]: ...  # noqa: D102
    @property
    def potentials(self) -> Sequence[Table]: ...  # noqa: D102
    @property
    def termination(self) -> Any: ...  # noqa: D102
    @property
    def converged(self) -> bool: ...  # noqa: D102
    @property
    def certified(self) -> bool: ...  # noqa: D102
    @property
    def residual(self) -> float: ...  # noqa: D102
    @property
    def residual_l1(self) -> float: ...  # noqa: D102
    @property
    def divergence(self) -> float: ...  # noqa: D102
    @property
    def bound(self) -> float: ...  # noqa: D102
    @property
    def tv_bound(self) -> float: ...  # noqa: D102
    @property
    def independent_rows(self) -> Sequence[Table] | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One constraint.

    Attributes
    ----------
    row
        Shape (M,): the row of each profile.
    targets
        One a row, 0 where the target lists none.
    potentials
        One a row, NaN where none is listed.
    named
        Whether the claims name a row as one of those whose targets are met; None where they name none.
    """

    row: IntArray
    targets: FloatArray
    potentials: FloatArray
    named: BoolArray | None = None

    def sums(self, masses: LongArray) -> LongArray:
        """Return the sum of the masses of each row."""
        order = np.argsort(self.row, kind="stable")
        rows, starts = np.unique(self.row[order], return_index=True)
        sums = np.zeros(len(self.targets), dtype=np.longdouble)
        if len(rows):
            # unlike bincount, reduceat sums in extended precision
            sums[rows] = np.add.reduceat(masses[order], starts)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """A projection problem and its answer on the M profiles of the reference's support.

    Attributes
    ----------
    reference, masses
        Shape (M,): the reference, and the table that is to be its projection, 0 where it has no mass.
    blocks
        One a constraint.
    stray
        The first profile where the table has mass and the reference has none, as text; empty if there is none.
    logarithms
        Shape (M,): what the logarithms of the reference add to those of `reference`; None where they add nothing.
    """

    reference: FloatArray
    masses: FloatArray
    blocks: tuple[Block, ...]
    stray: str
    logarithms: FloatArray | None = None

    @property
    def total(self) -> float:
        """The mass of the targets of the first constraint."""
        # the totals of the constraints agree to rounding: the first is the unit of all figures
        return float(np.sum(self.blocks[0].targets.astype(np.longdouble)))

    @property
    def excluded(self) -> BoolArray:
        """Whether a target of 0 says that a profile is empty."""
        zero = [block.targets[block.row] == 0 for block in self.blocks]
        return np.asarray(np.any(zero, axis=0))

    @property
    def exponents(self) -> LongArray:
        """C^T t: the sum of the potentials of each profile and of `logarithms`, NaN where one is missing."""
        each = [block.potentials[block.row].astype(np.longdouble) for block in self.blocks]
        if self.logarithms is not None:
            each.append(self.logarithms.astype(np.longdouble))
        return np.asarray(np.sum(each, axis=0))

    @property
    def largest_potential(self) -> float:
        """The largest absolute value of a finite potential, or of `logarithms`."""
        every = np.concatenate([block.potentials for block in self.blocks])
        if self.logarithms is not None:
            every = np.concatenate([every, self.logarithms])
        finite = np.abs(every[np.isfinite(every)])
        return float(finite.max()) if len(finite) else 0.0


def spacing_of(total: float) -> np.longdouble:
    """Return how much rounding may change tiny masses, for any power of two that scaled them."""
    # twice float64's least spacing, 2^-1074, or what that became when the masses were scaled back
    return np.longdouble(2.0) ** -1073 * max(1.0, total)


def measure_membership(masses: FloatArray, members: LongArray, total: float) -> float:
    """Return the largest relative distance of positive masses to the members of the family, but for such rounding."""
    if not np.all(np.isfinite(members) & (members > 0)):
        return float("inf")
    apart = np.abs(masses.astype(np.longdouble) - members) - spacing_of(total)
    return float((np.maximum(apart, 0) / members).max(initial=0))


def gather(claims: Claims) -> Evidence:
    """Return the evidence in the tables of a result.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError
        The tables of the result do not fit together.
    InvalidTableError
        As many potentials as constraints are needed; or a table that is not a distribution.
    """
    if len(claims.potentials) != len(claims.constraints):
        raise InvalidTableError(
            f"the result has {len(claims.constraints)} constraints, but {len(claims.potentials)} tables of potentials"
        )
    logarithms = None
    if claims.reference_in == "mass":
        reference = encode(claims.reference)
    else:
        given = np.asarray(claims.reference.values, dtype=np.float64)
        # as masses they may underflow: the reference becomes ones, and the logarithms join the exponents
        reference = encode(claims.reference.copy(data=np.where(np.isneginf(given), 0.0, 1.0)))
        logarithms = given.reshape(-1)[reference.positions]
    masses, stray = _masses_on(reference, encode(claims.table, allow_empty=True))
    # results of other software need not name the rows
    named = getattr(claims, "independent_rows", None)
    if named is not None and len(named) != len(claims.constraints):
        raise InvalidTableError(f"independent_rows must be {len(claims.constraints)} tables, got {len(named)}")
    blocks = tuple(
        _block(reference, encode(constraint.target), potentials, own)
        for constraint, potentials, own in zip(
            claims.constraints, claims.potentials, named or [None] * len(claims.constraints), strict=True
        )
    )
    return Evidence(reference.values, masses, blocks, stray, logarithms)


def _masses_on(reference: CodedTable, table: CodedTable) -> tuple[FloatArray, str]:
    codes = _require_known(translate_codes(table, reference.domain), reference.domain, "the table")
    group = _groups([reference.codes, codes], reference.domain)
    count = len(reference.values)
    at = np.full(int(group.max()) + 1, -1, dtype=np.int64)
    at[group[:count]] = np.arange(count)
    place = at[group[count:]]
    masses = np.zeros(count)
    masses[place[place >= 0]] = table.values[place >= 0]
    strays = np.flatnonzero(place < 0)
    return masses, describe_profile(reference.domain, [code[strays[0]] for code in codes]) if len(strays) else ""


def _block(reference: CodedTable, target: CodedTable, potentials: Table, named: Table | None) -> Block:
    domain = reference.domain.select(target.domain.attributes)
    target_codes = _require_known(translate_codes(target, domain), domain, "a target")
    codes, found = _on_rows(potentials, domain)
    named_codes, names = _on_rows(potentials if named is None else named, domain)
    group = _groups([reference.columns(domain.attributes), target_codes, codes, named_codes], domain)
    ends = np.cumsum([len(reference.values), len(target.values), len(found)])
    profiles, targets, listed, marked = np.split(group, ends)
    # a row that the target does not list has the target 0; one without a potential is NaN, never 0
    values, own = np.zeros(int(group.max()) + 1), np.full(int(group.max()) + 1, np.nan)
    values[targets], own[listed] = target.values, found
    if named is None:
        return Block(profiles, values, own)
    marks = np.zeros(len(values), dtype=bool)
    marks[marked] = names != 0
    return Block(profiles, values, own, marks)


def _on_rows(table: Table, domain: Domain) -> tuple[list[IntArray], FloatArray]:
    """Return the codes and values of what a table over rows lists, in the categories of a domain."""
    own = domain_of(table)
    stored = read_codes(table, own) if is_sparse(table) else _every_code(table)
    maps = [
        category_map(own.select([name]).categories[0], labels)
        for name, labels in zip(domain.attributes, domain.categories, strict=True)
    ]
    columns = [mapping[stored[own.position(name)]] for name, mapping in zip(domain.attributes, maps, strict=True)]
    listed = np.all([column >= 0 for column in columns], axis=0)
    return [column[listed] for column in columns], np.asarray(table.values, dtype=np.float64).reshape(-1)[listed]


def _groups(parts: Sequence[Sequence[IntArray]], domain: Domain) -> IntArray:
    joint = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    return group_profiles(joint, domain.sizes)[0]


def _every_code(table: Table) -> tuple[IntArray, ...]:
    return tuple(np.asarray(code) for code in np.unravel_index(np.arange(table.size), table.shape))


def _require_known(columns: tuple[IntArray, ...], domain: Domain, what: str) -> tuple[IntArray, ...]:
    for name, column in zip(domain.attributes, columns, strict=True):
        if len(column) and column.min() < 0:
            raise UnknownCategoryError(f"{what} has mass in a category of {name!r} that the reference does not list")
    return columns
