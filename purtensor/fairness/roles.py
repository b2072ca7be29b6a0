"""Which attribute is what: the response, the protected attributes, and the rest."""

from __future__ import annotations

from dataclasses import dataclass

from purtensor._typing import Attributes, Table
from purtensor.errors import InvalidOptionError
from purtensor.tables.domain import Domain, as_attributes
from purtensor.tables.store.pairs import Read
from purtensor.tables.store.table import StoredTable


@dataclass(frozen=True, slots=True)
class Roles:
    """The attributes of a domain by their roles; `unprotected` are all that are neither response nor protected."""

    response: str
    protected: tuple[str, ...]
    unprotected: tuple[str, ...]


def roles_of(of: Table | StoredTable | Domain, response: str, protected: Attributes) -> Roles:
    """Return the roles of all attributes of a table, in memory or on disk, or of a domain.

    Raises
    ------
    UnknownAttributeError
        The domain has no such attribute.
    InvalidOptionError
        Not one response, no protected attribute, or one that is both.
    """
    domain = of if isinstance(of, Domain) else Read(of).domain
    if not isinstance(response, str):
        raise InvalidOptionError(f"response must be the name of one attribute, got {response!r}")
    as_attributes(response, domain)
    names = as_attributes(protected, domain)
    if not names:
        raise InvalidOptionError("protected must name at least one attribute, got none")
    if response in names:
        raise InvalidOptionError(f"{response!r} is both the response and protected; an attribute must have one role")
    rest = tuple(name for name in domain.attributes if name != response and name not in names)
    return Roles(response, names, rest)
