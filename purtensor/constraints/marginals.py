"""Marginals that must hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from purtensor._typing import Table
from purtensor.constraints.scopes import Scopes, read_scopes
from purtensor.errors import InvalidOptionError
from purtensor.tables.coded import CodedTable, encode, like
from purtensor.tables.domain import named_attributes
from purtensor.tables.marginal import marginalize


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


Constraints: TypeAlias = "Marginal | Iterable[Marginal | Iterable[Marginal]]"
"""What every function takes: a Marginal, or any iterable of Marginals, flattened one level."""


def marginals_of(table: Table, scopes: Scopes) -> tuple[Marginal, ...]:
    """Return the marginals of a table over the scopes as constraints, in the order asked.

    Parameters
    ----------
    table
        Where the targets come from.
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
    if isinstance(constraints, Marginal):
        return (constraints,)
    flat: list[Marginal] = []
    for item in _iterated(constraints):
        flat.extend((item,) if isinstance(item, Marginal) else _iterated(item))
    wrong = [item for item in flat if not isinstance(item, Marginal)]
    if wrong:
        raise _not_a_constraint(wrong[0])
    if not flat:
        raise InvalidOptionError("no constraint was given; the projection would be the reference itself")
    return tuple(flat)


def _iterated(item: Any) -> list[Any]:
    if isinstance(item, (str, bytes, Table)) or not isinstance(item, Iterable):
        raise _not_a_constraint(item)
    return list(item)


def _not_a_constraint(item: Any) -> InvalidOptionError:
    return InvalidOptionError(
        f"a constraint is a purtensor.Marginal, this is {type(item).__qualname__}; wrap a table as Marginal(table)"
    )
