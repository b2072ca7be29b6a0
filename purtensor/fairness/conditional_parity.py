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
from purtensor.tables.coded import CodedTable, describe_profile, like, sparse_table
from purtensor.tables.domain import Domain, as_attributes
from purtensor.tables.factorize import plain_index
from purtensor.tables.grouping import group_profiles
from purtensor.tables.marginal import marginalize


@dataclass(frozen=True, slots=True, eq=False)
class _Strata:
    """Pairs of a response y and a protected profile s that both occur in a stratum t, and what they have there.

    Attributes
    ----------
    domain, codes
        Over (y, *s, *t), one profile a pair.
    of_y, of_s, of_t
        f(y, t), f(s, t) and f(t) for each pair.
    ys, st, t
        The numbers of its (y, t), (s, t) and t.
    """

    domain: Domain
    codes: tuple[IntArray, ...]
    of_y: FloatArray
    of_s: FloatArray
    of_t: FloatArray
    st: IntArray
    t: IntArray


def strata_of(roles: Roles, given: Attributes | None, domain: Domain) -> tuple[str, ...]:
    """Return the attributes of the strata, checked to be none of the response and the protected ones."""
    names = () if given is None else as_attributes(given, domain)
    taken = [name for name in names if name == roles.response or name in roles.protected]
    if taken:
        raise InvalidOptionError(
            f"{taken[0]!r} is in given and is also the response or protected; an attribute must have one role"
        )
    return names


def parity_within(coded: CodedTable, roles: Roles, given: tuple[str, ...]) -> Marginal:
    """Return the marginal f(y, t) f(s, t) / f(t): given t, the response is independent of the protected attributes."""
    pairs = _pairs(coded, roles, given)
    target = pairs.of_y * (pairs.of_s / pairs.of_t)
    table = like(coded.template, pairs.domain, pairs.codes, target, name="parity")
    return Marginal(table, groups=(*roles.protected, *given))


def parity_of_free_rates(coded: CodedTable, roles: Roles, given: tuple[str, ...]) -> Linear:
    """Return rows q(y, s, t) - p(s | t) q(y, t) = 0, with p of the data: parity, whatever q(y, t) becomes."""
    pairs = _pairs(coded, roles, given)
    labels = [describe_profile(pairs.domain, codes) for codes in zip(*pairs.codes, strict=True)]
    row, column = _within_strata(pairs, coded, roles, given)
    share = pairs.of_s / pairs.of_t
    # q(y, s, t), less p(s | t) times all that makes up q(y, t)
    values = np.where(row == column, 1.0, 0.0) - share[row]
    dimension = "row" if "row" not in pairs.domain.attributes else "row of parity"
    coefficients = _by_rows(pairs, labels, dimension, row, column, values)
    base_row, base_column = _of_one_group(pairs)
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
    # the responses of a stratum stand together in this order, from `first` on
    order = np.argsort(t_of_y, kind="stable")
    per_stratum = np.bincount(t_of_y, minlength=len(of_t))
    first = np.cumsum(per_stratum) - per_stratum
    # each s meets every response of its stratum
    times = per_stratum[t_of_s]
    s = np.repeat(np.arange(len(of_s)), times)
    # 0, 1, 2, ... anew for each s, over the responses of its stratum
    within = np.arange(len(s)) - np.repeat(np.cumsum(times) - times, times)
    y = order[first[t_of_s[s]] + within]
    # lexsort takes the last key first: response, then protected attributes and stratum
    in_order = np.lexsort([*(column[s] for column in st[::-1]), yt[0][y]])
    y, s = y[in_order], s[in_order]
    domain = coded.domain.select((roles.response, *roles.protected, *given))
    codes = (yt[0][y], *(column[s] for column in st))
    return _Strata(domain, codes, of_y[y], of_s[s], of_t[t_of_s[s]], s, t_of_s[s])


def _within_strata(
    pairs: _Strata, coded: CodedTable, roles: Roles, given: tuple[str, ...]
) -> tuple[IntArray, IntArray]:
    """Return all ordered pairs of profiles that share the response and the stratum."""
    names = (roles.response, *given)
    places = [pairs.domain.position(name) for name in names]
    group, _ = group_profiles([pairs.codes[place] for place in places], coded.domain.select(names).sizes)
    return _squares(group)


def _of_one_group(pairs: _Strata) -> tuple[IntArray, IntArray]:
    """Return all ordered pairs of profiles that share the protected profile and the stratum."""
    return _squares(pairs.st)


def _squares(group: IntArray) -> tuple[IntArray, IntArray]:
    """Return all ordered pairs (i, j) with the same group."""
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    first = np.cumsum(counts) - counts
    times = counts[group]
    left = np.repeat(np.arange(len(group)), times)
    # 0, 1, 2, ... anew for each left side
    within = np.arange(len(left)) - np.repeat(np.cumsum(times) - times, times)
    return left, order[first[group[left]] + within]


def _by_rows(
    pairs: _Strata, labels: list[str], dimension: str, row: IntArray, column: IntArray, values: FloatArray
) -> Table:
    """Return coefficients over the rows and the profiles as a sparse table."""
    domain = Domain((dimension, *pairs.domain.attributes), (plain_index(labels), *pairs.domain.categories))
    return sparse_table(domain, (row, *(codes[column] for codes in pairs.codes)), values, name="coefficient")
