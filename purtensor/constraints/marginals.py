"""Marginals that must hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias, overload

import numpy as np

from purtensor._options import items_of
from purtensor._typing import Table
from purtensor.constraints.ends import incidence, place_rows, read_ends
from purtensor.constraints.labelled import read_table
from purtensor.constraints.rows import Cells, RowBlock, RowConstraint
from purtensor.constraints.scopes import Scopes, read_scopes
from purtensor.errors import InvalidOptionError
from purtensor.tables.coded import CodedTable, domain_of, encode
from purtensor.tables.domain import as_attributes
from purtensor.tables.marginal import Marginals
from purtensor.tables.store.table import StoredTable, sum_stored


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """A constraint on a marginal: the sums over all other attributes equal `target`, or lie between two limits.

    Profiles that the target does not list have target 0. Profiles that `lower` does not list have the lower limit 0,
    and profiles that `upper` does not list have no upper limit.

    Parameters
    ----------
    target
        A table over the attributes of the scope, in counts or probabilities; all hard targets of one problem must have
        the same total. Negative targets must be soft (see `soft`).
    lower, upper
        Tables over the scope, instead of a target: one of them, or both.

    Raises
    ------
    InvalidTableError
        Not a table, NaN, a target together with `lower` or `upper`, none of the three, limits over different
        attributes, or a lower limit above the upper limit.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.Marginal(pt.marginal(counts, "sex")).scope
    ('sex',)
    >>> pt.Marginal(lower=0.9 * pt.marginal(counts, "sex"), upper=1.1 * pt.marginal(counts, "sex"))
    Marginal(sex: lower and upper ends)
    """

    target: Table = None  # type: ignore[assignment]  # only constraints with ends alone lack one
    lower: Table | None = field(default=None, kw_only=True)
    upper: Table | None = field(default=None, kw_only=True)
    groups: tuple[str, ...] = field(default=(), kw_only=True, repr=False)
    coded_target: CodedTable | None = field(init=False, repr=False)
    scope: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ends = None
        if self.target is None or self.lower is not None or self.upper is not None:
            for given in (self.lower, self.upper):
                _ = None if given is None else domain_of(given)  # which refuses what is not a table
            ends = read_ends(
                None, "a Marginal", target=self.target, lower=self.lower, upper=self.upper, unlisted=(0.0, math.inf)
            )
        # derived fields of a frozen dataclass
        object.__setattr__(self, "scope", domain_of(self.target).attributes if ends is None else ends.attributes)
        object.__setattr__(self, "coded_target", None if self.target is None else _encode_masses(self.target))

    @property
    def coded(self) -> CodedTable:
        """The target in codes.

        Raises
        ------
        InvalidOptionError
            It has ends instead of a target.
        InvalidTableError
            A negative target, or one without mass.
        """
        if self.target is None:
            raise InvalidOptionError(
                f"this function takes Marginals with targets, got {self!r}; intervals are accepted by "
                "purtensor.project and diagnose"
            )
        if self.coded_target is None:
            return encode(self.target)  # which refuses it, naming the profile
        return self.coded_target

    @property
    def name(self) -> str:
        """The constraint in words: its attributes."""
        return ", ".join(self.scope)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that cells must have: the scope."""
        return self.scope

    def rows(self, cells: Cells) -> RowBlock:
        """Return the rows over cells, aligned by label: one for each profile with mass in the cells or in the ends.

        Raises
        ------
        UnknownAttributeError
            The cells lack an attribute of the scope.
        UnknownCategoryError
            The cells lack a category that must have mass, or have one that the target does not know.
        """
        ends = read_ends(
            self.scope, self.name, target=self.target, lower=self.lower, upper=self.upper, unlisted=(0.0, math.inf)
        )
        default = (0.0, 0.0) if self.target is not None else (0.0, math.inf)
        placed = place_rows(ends, cells, None, self.name, unlisted=default)
        return RowBlock(
            name=self.name,
            labels=placed.labels,
            coefficients=cells.over_cells(incidence(placed)),
            lower=placed.lower,
            upper=placed.upper,
            index=placed.index,
            is_marginal=self.target is not None,
        )

    @property
    def total(self) -> float:
        """The mass of the target."""
        return self.coded.total

    def __repr__(self) -> str:
        what = " x ".join(self.scope)
        if self.target is None:
            return f"Marginal({what}: lower and upper ends)"
        if self.coded_target is None:
            return f"Marginal({what}: negative targets, total {float(self.target.sum()):g})"
        return f"Marginal({what}: {len(self.coded.values)} profiles, total {self.total:g})"


def _encode_masses(target: Table) -> CodedTable | None:
    """Return a target in codes, or None if it is negative or without mass; callers decide whether that is an error."""
    domain_of(target)
    values = np.asarray(target.values)
    finite = values.dtype.kind in "if" and values.size > 0 and bool(np.isfinite(values).all())
    if finite and ((values < 0).any() or not values.any()):
        read_table(target, "the target")  # refuses labels that are missing or repeated
        return None
    return encode(target)


@dataclass(frozen=True, slots=True, eq=False)
class StoredMarginal:
    """A constraint on a marginal whose target is computed from a stored table and stays on disk.

    Parameters
    ----------
    table
        The stored table whose marginal is the target.
    scope
        The attributes of the target.

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute.
    InvalidOptionError
        The scope is empty.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> stored = pt.store_table(counts, "counts.zarr")
    >>> pt.results.StoredMarginal(stored, ("age",)).in_memory()
    Marginal(age: 2 profiles, total 3)
    """

    table: StoredTable = field(repr=False)
    scope: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.table, StoredTable):
            raise InvalidOptionError(
                f"a StoredMarginal must be of a stored table, as store_table makes one, got "
                f"{type(self.table).__qualname__}; for a table in memory use marginals_of"
            )
        object.__setattr__(self, "scope", as_attributes(self.scope, self.table.domain))
        if not self.scope:
            raise InvalidOptionError(
                "a constraint must be over at least one attribute, got none: the total is kept by every projection"
            )

    @property
    def total(self) -> float:
        """The mass of the target."""
        return self.table.total

    def in_memory(self) -> Marginal:
        """Return the constraint with its target in memory."""
        return Marginal(sum_stored(self.table, self.scope))


Constraints: TypeAlias = "Marginal | Iterable[Marginal | Iterable[Marginal]]"
"""What every function takes: a Marginal, or any iterable of Marginals, flattened one level."""


@overload
def marginals_of(table: Table, scopes: Scopes) -> tuple[Marginal, ...]: ...
@overload
def marginals_of(table: StoredTable, scopes: Scopes) -> tuple[StoredMarginal, ...]: ...
def marginals_of(table: Table | StoredTable, scopes: Scopes) -> tuple[Marginal, ...] | tuple[StoredMarginal, ...]:
    """Return the marginals of a table over the scopes as constraints, in the order of the scopes.

    Parameters
    ----------
    table
        The table from which the targets are computed; those of a stored table stay on disk.
    scopes
        A list of scopes, each a tuple or list of attribute names or a single name; or all scopes in one string, such
        as "income sex | income age" or, as R writes it, "~ income*sex + income*age".

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute.
    InvalidOptionError
        The scopes cannot be read, or there are none.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.marginals_of(counts, "sex | age")
    (Marginal(sex: 2 profiles, total 3), Marginal(age: 2 profiles, total 3))
    """
    if isinstance(table, StoredTable):
        return tuple(StoredMarginal(table, as_attributes(scope, table.domain)) for scope in read_scopes(scopes))
    coded = encode(table, copy=False)
    read = [as_attributes(scope, coded.domain) for scope in read_scopes(scopes)]
    marginals = Marginals(coded, read)
    return tuple(Marginal(marginals.table(scope)) for scope in read)


def as_constraints(constraints: Any) -> tuple[Marginal, ...]:
    """Return the constraints as a tuple, flattened one level.

    Raises
    ------
    InvalidOptionError
        Something that is no Marginal with a target, or no constraint at all.
    InvalidTableError
        A target that is negative, or without mass.
    """
    flat: tuple[Marginal, ...] = flatten(constraints, Marginal)
    for constraint in flat:
        _ = constraint.coded  # refuses ends without a target, and targets that are not masses
    return flat


def flatten(constraints: Any, kinds: Any) -> tuple[Any, ...]:
    """Return constraints of these kinds as a tuple, flattened one level; errors as for `as_constraints`."""
    if isinstance(constraints, kinds):
        return (constraints,)
    nested = ([item] if isinstance(item, kinds) else _iterate(item) for item in _iterate(constraints))
    flat = tuple(chain.from_iterable(nested))
    wrong = [item for item in flat if not isinstance(item, kinds)]
    if wrong:
        raise _not_a_constraint(wrong[0])
    if not flat:
        raise InvalidOptionError("no constraint was given: give at least one")
    return flat


def _iterate(item: Any) -> list[Any]:
    # iterable, but never a list of constraints
    found = None if isinstance(item, (str, bytes, Table)) else items_of(item)
    if found is None:
        raise _not_a_constraint(item)
    return found


def _not_a_constraint(item: Any) -> InvalidOptionError:
    if isinstance(item, StoredMarginal):
        return InvalidOptionError(
            "a target on disk goes with a reference on disk, store_table(reference, path), in purtensor.project and "
            "diagnose; for others take its in_memory(), and to_table() of tables on disk"
        )
    if isinstance(item, RowConstraint):
        return InvalidOptionError(
            f"constraints must be Marginals with a target here and for tables on disk, got {item!r}; pass it to "
            "purtensor.project with a table in memory"
        )
    return InvalidOptionError(
        f"a constraint must be a purtensor.Marginal, got {type(item).__qualname__}; wrap a table as Marginal(table)"
    )
