"""Rules that compare the rates of a response between groups: the four-fifths rule, and rates that only rise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from purtensor._options import is_number
from purtensor._typing import Attributes, IntArray, Table
from purtensor.constraints.ends import Ends, incidence, place_rows
from purtensor.constraints.linear import Linear
from purtensor.constraints.rows import Cells, RowBlock
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.fairness.conditional_parity import strata_of
from purtensor.fairness.response_table import find_profile
from purtensor.fairness.roles import Roles, roles_of
from purtensor.tables.coded import CodedTable, encode, sparse_table
from purtensor.tables.domain import Domain, describe_profile
from purtensor.tables.factorize import plain_index
from purtensor.tables.grouping import group_profiles
from purtensor.tables.marginal import marginalize

_Row: TypeAlias = tuple[str, tuple[int, ...], tuple[int, float], tuple[int, float]]
"""A row in words, its responses, and the two groups that it compares, by number, each with its coefficient."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RateComparison:
    """One-sided rows between rates of groups, whose sizes are those of the data; made by `ratio_parity`, `monotone`.

    The rows are linear only because the sizes of the groups are numbers: some hard constraint must fix them.
    """

    name: str
    linear: Linear
    groups: tuple[str, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the cells must have."""
        return self.linear.attributes

    def rows(self, cells: Cells) -> RowBlock:
        """Return the rows over cells, with the sizes that must be fixed."""
        every_group = Ends(self.groups, None, np.array([-np.inf]), np.array([np.inf]))
        sizes = incidence(place_rows(every_group, cells, None, self.name))
        scope = ", ".join(self.groups)
        say = (
            f"{self.name} compares rates within groups of ({scope}), whose sizes no hard constraint fixes: add their "
            f"marginal, such as purtensor.marginals_of(f, [({', '.join(repr(name) for name in self.groups)},)]) or "
            "purtensor.realism"
        )
        block = self.linear.rows(cells)
        return replace(block, name=self.name, denominators=cells.over_cells(sizes), denominators_say=say)

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.linear.ends.lower)} rows>"


def ratio_parity(
    f: Table,
    *,
    response: str | Mapping[str, Any],
    protected: Attributes,
    reference: Mapping[str, Any],
    at_least: float = 0.8,
) -> RateComparison:
    """Return the four-fifths rule as a constraint: a lower bound on the ratio of each group's rate to the reference's.

    The rows are q(y, s) / f(s) >= at_least q(y, s0) / f(s0), and are conditions on rates if a hard constraint, such as
    `realism`, fixes the sizes of the groups to those of f; otherwise `project` raises an error.

    Parameters
    ----------
    f
        The data, from which the sizes of the groups are taken, in any units.
    response
        The name of the response, to compare all its categories; or {name: category} or {name: list of categories},
        such as {"hired": "yes"}, to compare only these.
    protected
        One or more other attributes; their profiles are the groups.
    reference
        The group that the others are compared with, such as {"sex": "m"}.
    at_least
        The smallest allowed ratio, above 0 and at most 1.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError
        The table has no such attribute, category or group.
    InvalidOptionError
        A ratio outside of (0, 1], or incompatible attributes.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[4, 1, 3, 2])
    >>> pt.ratio_parity(f, response={"hired": "yes"}, protected="sex", reference={"sex": "m"})
    <rates of hired at least 0.8 of those of sex=m: 1 rows>
    """
    if not (is_number(at_least) and 0 < at_least <= 1):
        raise InvalidOptionError(f"at_least must be above 0 and at most 1, got {at_least!r}")
    coded = encode(f)
    name, wanted = _split_response(response)
    roles = roles_of(coded.domain, name, protected)
    domain, s, of_s = marginalize(coded, roles.protected)
    base = find_profile(domain, s, reference)
    others = np.flatnonzero(np.arange(len(of_s)) != base)
    if not len(others):
        raise InvalidTableError("there is only one group: nothing to compare it with")
    ys = (
        np.unique(coded.columns([name])[0]).tolist()
        if wanted is None
        else [coded.domain.code(name, label) for label in wanted]
    )
    rows: list[_Row] = []
    for y in ys:
        for other in others.tolist():
            group = describe_profile(domain, [c[other] for c in s])
            label = f"{describe_profile(coded.domain.select([name]), [y])}, {group}"
            # the condition times f(s), which makes it linear in q: q(y, s) - at_least f(s) / f(s0) q(y, s0) >= 0
            rows.append((label, (y,), (other, 1.0), (base, -float(at_least) * of_s[other] / of_s[base])))
    what = f"rates of {name} at least {at_least:g} of those of {describe_profile(domain, [c[base] for c in s])}"
    return _compare_rates(what, coded, roles, roles.protected, s, rows)


def monotone(
    f: Table, *, response: str, along: str, given: Attributes | None = (), decreasing: bool = False
) -> RateComparison:
    """Return the constraint that the response does not decrease along the ordered categories of another attribute.

    For every two neighbouring categories a < a' with mass and every category y but the first, q(Y >= y | a') is at
    least q(Y >= y | a); at most, where `decreasing`. The order is that of the categories. The sizes of the groups are
    those of f and must be fixed by a hard constraint; otherwise `project` raises an error.

    Parameters
    ----------
    f
        The data, from which the sizes of the groups are taken.
    response, along
        The names of two attributes with ordered categories.
    given
        Attributes within whose profiles the response must not decrease.
    decreasing
        Whether the response must not increase instead.

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute.
    InvalidOptionError
        An attribute with two roles, or no two categories with mass to compare.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.tabulate({"paid": [0, 1, 1, 0, 1], "grade": [1, 1, 2, 2, 3]})
    >>> pt.monotone(f, response="paid", along="grade")
    <paid rising along grade: 2 rows>
    """
    coded = encode(f)
    roles = roles_of(coded.domain, response, along)
    if len(roles.protected) != 1:
        raise InvalidOptionError(f"along must be the name of one attribute, got {along!r}")
    strata = strata_of(f, roles, given)
    groups = (*strata, *roles.protected)
    domain, a, of_a = marginalize(coded, groups)
    stratum = group_profiles(list(a[:-1]), domain.sizes[:-1])[0] if strata else np.zeros(len(of_a), dtype=np.int64)
    pairs = np.flatnonzero(stratum[1:] == stratum[:-1])  # groups are in category order, the last attribute fastest
    categories = coded.domain.categories[coded.domain.position(response)]
    rows: list[_Row] = []
    for low in pairs.tolist():
        # the condition on rates times f(a): q(Y >= y, a') f(a) / f(a') - q(Y >= y, a) >= 0
        ratio = of_a[low] / of_a[low + 1]
        sign = -1.0 if decreasing else 1.0
        for cut in range(1, len(categories)):
            ys = tuple(range(cut, len(categories)))
            label = f"{response}>={categories[cut]}, {describe_profile(domain, [column[low + 1] for column in a])}"
            rows.append((label, ys, (low + 1, sign * ratio), (low, -sign)))
    if not rows:
        raise InvalidOptionError(
            f"fewer than two categories of {along!r} have mass, or {response!r} has only one category"
        )
    what = f"{response} {'falling' if decreasing else 'rising'} along {along}"
    return _compare_rates(what, coded, roles, groups, a, rows)


def _compare_rates(
    what: str, coded: CodedTable, roles: Roles, groups: tuple[str, ...], codes: tuple[IntArray, ...], rows: list[_Row]
) -> RateComparison:
    """Return the rows, all to be at least 0, as a constraint."""
    entries = [
        (number, y, group, value) for number, (_, ys, *terms) in enumerate(rows) for group, value in terms for y in ys
    ]
    row, y, group, values = (np.array(column) for column in zip(*entries, strict=True))
    attributes = (roles.response, *groups)
    dimension = "row" if "row" not in attributes else "row of rates"
    labels = [label for label, *_ in rows]
    own = coded.domain.select(attributes)
    domain = Domain((dimension, *attributes), (plain_index(labels), *own.categories))
    table = sparse_table(domain, (row, y, *(column[group] for column in codes)), values, name="coefficient")
    zeros = Table(np.zeros(len(labels)), dims=dimension, coords={dimension: labels})
    return RateComparison(what, Linear(table, lower=zeros, name=what), groups)


def _split_response(response: str | Mapping[str, Any]) -> tuple[str, list[Any] | None]:
    if not isinstance(response, Mapping):
        return response, None
    if len(response) != 1:
        raise InvalidOptionError(f"response must name one attribute, got {dict(response)!r}")
    name, labels = next(iter(response.items()))
    return name, list(labels) if isinstance(labels, list | tuple) else [labels]
