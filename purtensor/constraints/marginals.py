"""Marginals that must hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, overload

from purtensor._options import items_of
from purtensor._typing import Table
from purtensor.constraints.scopes import Scopes, read_scopes
from purtensor.errors import InvalidOptionError
from purtensor.tables.coded import CodedTable, encode, like
from purtensor.tables.domain import named_attributes
from purtensor.tables.marginal import marginalize
from purtensor.tables.store.open_store import StoredTable, stored_marginal


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """A marginal that must hold: the sums over all other attributes equal `target`.

    Profiles that the target does not list have target 0: they will be empty.

    Parameters
    ----------
    target
        A table over the attributes of the scope, in counts or probabilities; all targets of one problem share
        their total.

    Raises
    ------
    InvalidTableError
        The target is no table, negative, not finite, or empty.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.Marginal(pt.marginal(counts, "sex")).scope
    ('sex',)
    """

    target: Table
    coded: CodedTable = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "coded", encode(self.target))

    @property
    def scope(self) -> tuple[str, ...]:
        """The attributes of the target, in its order."""
        return self.coded.domain.attributes

    @property
    def total(self) -> float:
        """The mass of the target."""
        return self.coded.total

    def __repr__(self) -> str:
        return f"Marginal({' x '.join(self.scope)}: {len(self.coded.values)} profiles, total {self.total:g})"


@dataclass(frozen=True, slots=True, eq=False)
class StoredMarginal:
    """A marginal of a stored table that must hold; `Marginal` made for tables that memory does not take.

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
    >>> import tempfile
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> stored = pt.store_table(counts, tempfile.mkdtemp() + "/counts.zarr")
    >>> pt.StoredMarginal(stored, ("age",)).in_memory()
    Marginal(age: 2 profiles, total 3)
    """

    table: StoredTable = field(repr=False)
    scope: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.table, StoredTable):
            raise InvalidOptionError(
                f"a StoredMarginal is of a stored table, as store_table makes one, this is "
                f"{type(self.table).__qualname__}; of a table in memory take marginals_of"
            )
        object.__setattr__(self, "scope", named_attributes(self.scope, self.table.domain))
        if not self.scope:
            raise InvalidOptionError("a constraint over no attribute is the total, which every projection has")

    @property
    def total(self) -> float:
        """The mass of the target."""
        return self.table.total

    def in_memory(self) -> Marginal:
        """Return the constraint with its target in memory."""
        return Marginal(stored_marginal(self.table, self.scope))


Constraints: TypeAlias = "Marginal | Iterable[Marginal | Iterable[Marginal]]"
"""What every function takes: a Marginal, or any iterable of Marginals, flattened one level."""


@overload
def marginals_of(table: Table, scopes: Scopes) -> tuple[Marginal, ...]: ...
@overload
def marginals_of(table: StoredTable, scopes: Scopes) -> tuple[StoredMarginal, ...]: ...
def marginals_of(table: Table | StoredTable, scopes: Scopes) -> tuple[Marginal, ...] | tuple[StoredMarginal, ...]:
    """Return the marginals of a table over the scopes as constraints, in the order asked.

    Parameters
    ----------
    table
        Where the targets come from; those of a stored table stay on disk.
    scopes
        A list of scopes, each a tuple or list of attribute names, or one name; or all scopes in one string, such as
        "income sex | income age" or, as R writes it, "~ income*sex + income*age".

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
        return tuple(StoredMarginal(table, named_attributes(scope, table.domain)) for scope in read_scopes(scopes))
    coded = encode(table)
    read = [named_attributes(scope, coded.domain) for scope in read_scopes(scopes)]
    return tuple(Marginal(like(table, *marginalize(coded, scope))) for scope in read)


def as_constraints(constraints: Any) -> tuple[Marginal, ...]:
    """Return the constraints as a tuple, flattened one level.

    Raises
    ------
    InvalidOptionError
        Something that is no Marginal, or no constraint at all.
    """
    return flattened(constraints, Marginal)


def flattened(constraints: Any, kinds: Any) -> tuple[Any, ...]:
    """Return constraints of these kinds as a tuple, flattened one level; errors as for `as_constraints`."""
    if isinstance(constraints, kinds):
        return (constraints,)
    flat: list[Any] = []
    for item in _iterated(constraints):
        flat.extend((item,) if isinstance(item, kinds) else _iterated(item))
    wrong = [item for item in flat if not isinstance(item, kinds)]
    if wrong:
        raise _not_a_constraint(wrong[0])
    if not flat:
        raise InvalidOptionError("no constraint was given; the projection would be the reference itself")
    return tuple(flat)


def _iterated(item: Any) -> list[Any]:
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
    return InvalidOptionError(
        f"a constraint is a purtensor.Marginal, this is {type(item).__qualname__}; wrap a table as Marginal(table)"
    )
