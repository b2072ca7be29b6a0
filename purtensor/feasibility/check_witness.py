"""A witness checked again from the tables, label by label: no codes, no kernels, no solver.

Everything is Python's whole numbers and fractions, and dictionaries from labels, so that each line can be read as the
statement that it checks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from operator import itemgetter
from typing import Any, TypeAlias

from purtensor._typing import Profile, Table

Number: TypeAlias = "Fraction | int"
Whole: TypeAlias = "dict[Profile, int]"

ROUNDING = Fraction(64, 2**52)
"""Two numbers that differ by at most this share may be one number, rounded in two ways."""


def entries(table: Table) -> Iterator[tuple[Profile, Any]]:
    """Yield every profile that a table stores, as a tuple of labels, with its value."""
    if table.dims == ("profile",):
        yield from zip(map(tuple, table.indexes["profile"]), table.values.tolist(), strict=True)
    else:
        labels = product(*(list(table.indexes[name]) for name in table.dims))
        yield from zip(labels, table.values.reshape(-1).tolist(), strict=True)


def attributes_of(table: Table) -> tuple[str, ...]:
    """Return the attributes of a table, in its order."""
    return tuple(table.indexes["profile"].names) if table.dims == ("profile",) else tuple(map(str, table.dims))


def onto(attributes: Sequence[str], scope: Sequence[str]) -> Any:
    """Return the function that takes a profile over `attributes` to its labels over `scope`."""
    places = [attributes.index(name) for name in scope]
    # itemgetter of a single place returns no tuple
    if len(places) == 1:
        return lambda profile: (profile[places[0]],)
    return itemgetter(*places)


def support_of(reference: Table) -> set[Profile]:
    """Return the profiles where a table has mass."""
    return {profile for profile, mass in entries(reference) if mass > 0}


def costs_of(support: set[Profile], attributes: Sequence[str], certificate: Sequence[Table]) -> Whole:
    """Return C^T t at every profile of the support."""
    costs = dict.fromkeys(support, 0)
    for table in certificate:
        row, weights = onto(attributes, attributes_of(table)), {own: int(v) for own, v in entries(table) if v}
        for profile in support:
            costs[profile] += weights.get(row(profile), 0)
    return costs


def value_of(certificate: Sequence[Table], targets: Sequence[Whole]) -> tuple[int, int]:
    """Return b.t and b.|t|, in the units of the targets."""
    terms = [
        int(weight) * target.get(row, 0)
        for table, target in zip(certificate, targets, strict=True)
        for row, weight in entries(table)
        if weight
    ]
    return sum(terms), sum(map(abs, terms))


def stands_for(target: Table, exact: Whole, units: int) -> bool:
    """Return whether whole numbers of units are what the values of a target are, rounded, when both have mass 1."""
    stored = {row: Fraction(value) for row, value in entries(target) if value}
    total = sum(stored.values())
    # crosswise, without division: value / total against exact / units
    return stored.keys() == exact.keys() and all(
        abs(value * units - exact[row] * total) <= ROUNDING * exact[row] * total for row, value in stored.items()
    )


def meets(
    masses: dict[Profile, Number], attributes: Sequence[str], scope: Sequence[str], target: Whole, allowed: Fraction
) -> bool:
    """Return whether masses sum to a target in every row, up to what is allowed."""
    row = onto(attributes, scope)
    sums: dict[Profile, Number] = defaultdict(int)
    for profile, mass in masses.items():
        sums[row(profile)] += mass
    return sums.keys() == target.keys() and all(
        -allowed <= value - target[own] <= allowed for own, value in sums.items()
    )
