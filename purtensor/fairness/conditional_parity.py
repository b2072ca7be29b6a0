"""Parity within strata, and parity that leaves the rates of the response free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.constraints.linear import Linear
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InvalidOptionError
from purtensor.fairness.roles import Roles
from purtensor.tables.coded import CodedTable, like, sparse_table
from purtensor.tables.domain import Domain, as_attributes, describe_profile
from purtensor.tables.factorize import plain_index
from purtensor.tables.grouping import group_profiles
from purtensor.tables.marginal import marginalize
from purtensor.tables.store.pairs import Read
from purtensor.tables.store.table import StoredTable


@dataclass(frozen=True, slots=True, eq=False)
class _Strata:
    """Pairs of a response y and a protected profile s that both occur in a stratum t, and what they have there.

    Attributes
    ----------
    domain, codes
        Over (y, *s, *t), one profile a pair.
    of_y, share
        f(y, t) and f(s, t) / f(t) for each pair.
    st
        The number of its (s, t).
    """

    domain: Domain
    codes: tuple[IntArray, ...]
    of_y: FloatArray
    share: FloatArray
    st: IntArray


def strata_of(f: Table | StoredTable, roles: Roles, given: Attributes | None) -> tuple[str, ...]:
    """Return the attributes of the strata, which must be neither the response nor protected."""
    names = () if given is None else as_attributes(given, Read(f).domain)
    taken = [name for name in names if name == roles.response or name in roles.protected]
    if taken:
        raise InvalidOptionError(
            f"{taken[0]!r} is in given and is also the response or protected; an attribute must have one role"
        )
    return names


def parity_within(coded: CodedTable, roles: Roles, given: tuple[str, ...]) -> Marginal:
    """Return the marginal f(y, t) f(s, t) / f(t): given t, the response is independent of the protected attributes."""
    pairs = _pairs(coded, roles, given)
    table = like(coded.template, pairs.domain, pairs.codes, pairs.of_y * pairs.share, name="parity")
    return Marginal(table, groups=(*roles.protected, *given))


def parity_of_free_rates(coded: CodedTable, roles: Roles, given: tuple[str, ...]) -> Linear:
    """Return rows q(y, s, t) - p(s | t) q(y, t) = 0, with p of the data: parity, whatever q(y, t) becomes."""
    pairs = _pairs(coded, roles, given)
    labels = [describe_profile(pairs.domain, codes) for codes in zip(*pairs.codes, strict=True)]
    scope = (roles.response, *given)
    same_response, _ = group_profiles(
        [pairs.codes[pairs.domain.position(name)] for name in scope], pairs.domain.select(scope).sizes
    )
    row, column = _join(same_response, same_response)
    # q(y, s, t), less p(s | t) times all that makes up q(y, t)
    values = np.where(row == column, 1.0, 0.0) - pairs.share[row]
    dimension = "row" if "row" not in pairs.domain.attributes else "row of parity"
    coefficients = _by_rows(pairs, labels, dimension, row, column, values)
    # the denominators of rates: f(s, t), summed over the responses
    base_row, base_column = _join(pairs.st, pairs.st)
    base = _by_rows(pairs, labels, dimension, base_row, base_column, np.ones(len(base_row)))
    target = xr.DataArray(np.zeros(len(labels)), dims=dimension, coords={dimension: labels})
    return Linear(coefficients, target, name="parity of free rates", base=base)


def _pairs(coded: CodedTable, roles: Roles, given: tuple[str, ...]) -> _Strata:
    _, yt, of_y = marginalize(coded, (roles.response, *given))
    _, st, of_s = marginalize(coded, (*roles.protected, *given))
    count = len(roles.protected)
    sizes = coded.domain.select(given).sizes
    together = [np.concatenate([a, b]) for a, b in zip(yt[1:], st[count:], strict=True)]
    group = np.zeros(len(of_y) + len(of_s), dtype=np.int64) if not given else group_profiles(together, sizes)[0]
    t_of_y, t_of_s = group[: len(of_y)], group[len(of_y) :]
    of_t = np.bincount(t_of_s, weights=of_s)
    s, y = _join(t_of_s, t_of_y)
    # lexsort takes the last key first: response, then protected attributes and stratum
    in_order = np.lexsort([*(column[s] for column in st[::-1]), yt[0][y]])
    y, s = y[in_order], s[in_order]
    domain = coded.domain.select((roles.response, *roles.protected, *given))
    codes = (yt[0][y], *(column[s] for column in st))
    return _Strata(domain, codes, of_y[y], of_s[s] / of_t[t_of_s[s]], s)


def _join(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """Return all pairs (i, j) with left[i] == right[j], i ascending: an inner join of two numberings of groups."""
    # the members of a group stand together in this order, from `first` on
    order = np.argsort(right, kind="stable")
    counts = np.bincount(right, minlength=int(left.max()) + 1)
    first = np.cumsum(counts) - counts
    times = counts[left]
    i = np.repeat(np.arange(len(left)), times)
    # 0, 1, 2, ... anew for each i
    within = np.arange(len(i)) - np.repeat(np.cumsum(times) - times, times)
    return i, order[first[left[i]] + within]


def _by_rows(
    pairs: _Strata, labels: list[str], dimension: str, row: IntArray, column: IntArray, values: FloatArray
) -> Table:
    """Return coefficients over the rows and the profiles as a sparse table."""
    domain = Domain((dimension, *pairs.domain.attributes), (plain_index(labels), *pairs.domain.categories))
    return sparse_table(domain, (row, *(codes[column] for codes in pairs.codes)), values, name="coefficient")
