"""The masses of a table as a matrix: a row for each profile of some attributes, a column for each response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, UnknownAttributeError, UnknownCategoryError
from purtensor.tables.coded import encode
from purtensor.tables.domain import Domain, describe_profile, join_some
from purtensor.tables.grouping import group_profiles
from purtensor.tables.marginal import marginal
from purtensor.tables.store.table import StoredTable
from purtensor.tables.translate import find_profiles


@dataclass(frozen=True, slots=True, eq=False)
class ResponseTable:
    """Masses of responses in profiles of other attributes, such as the protected ones.

    Attributes
    ----------
    domain
        Of the response, then the other attributes.
    profiles
        For each of the other attributes its codes, shape (profiles,), in category order; only profiles with mass.
    masses
        Shape (profiles, responses), all categories of the response among them.
    """

    domain: Domain
    profiles: tuple[IntArray, ...]
    masses: FloatArray

    @classmethod
    def of(cls, table: Table | StoredTable, response: str, attributes: Sequence[str]) -> ResponseTable:
        """Return the masses of a table, summed over all attributes but the response and these."""
        coded = encode(marginal(table, [response, *attributes]))
        row, profiles = group_profiles(coded.codes[1:], coded.domain.sizes[1:])
        masses = np.zeros((len(profiles[0]), coded.domain.sizes[0]))
        masses[row, coded.codes[0]] = coded.values
        return cls(coded.domain, profiles, masses)

    @property
    def sizes(self) -> FloatArray:
        """The mass of each profile, shape (profiles,)."""
        return np.asarray(self.masses.sum(axis=1))

    @property
    def rates(self) -> FloatArray:
        """The conditional p(y | profile), shape (profiles, responses)."""
        return self.masses / self.sizes[:, None]

    def row_of(self, reference: Mapping[str, Any]) -> int:
        """Return the row of the profile that others are compared with; errors as in `find_profile`."""
        return find_profile(self.domain.select(self.domain.attributes[1:]), self.profiles, reference)


def find_profile(domain: Domain, profiles: Sequence[IntArray], reference: Mapping[str, Any]) -> int:
    """Return where among profiles one is that is given as a mapping from attributes to categories.

    Raises
    ------
    InvalidOptionError
        It is not a mapping.
    UnknownAttributeError
        It does not have one category for each attribute of the domain.
    UnknownCategoryError
        It has a category that is not there, or is not among the profiles.
    """
    if not isinstance(reference, Mapping):
        raise InvalidOptionError(
            "reference must be a mapping from protected attributes to categories, such as {'sex': 'male'}, "
            f"got {reference!r}"
        )
    for name in reference:
        if name not in domain.attributes:
            raise UnknownAttributeError.among(name, domain.attributes, "protected")
    missing = [name for name in domain.attributes if name not in reference]
    if missing:
        raise UnknownAttributeError(
            f"reference has no category for {join_some(missing)}; it must have one for each protected attribute"
        )
    codes = [domain.code(name, reference[name]) for name in domain.attributes]
    (row,) = find_profiles(profiles, [np.array([code]) for code in codes])
    if row < 0:
        raise UnknownCategoryError(
            f"the reference profile ({describe_profile(domain, codes)}) has no mass in this table; choose another one"
        )
    return int(row)
