"""Divergence, entropy and distance of tables, each divided by its total; natural logarithms throughout.

Every sum here is over terms that cannot be negative, or over exact differences, and is rounded once: small results
keep their digits, and neither the order nor the layout of the profiles moves a bit (notes/information.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from purtensor._typing import FloatArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.tables.domain import describe_profile
from purtensor.tables.masses import exact_sum
from purtensor.tables.paired_tables import SharedProfiles
from purtensor.tables.store.pairs import Read, match_tables, pair_batches
from purtensor.tables.store.table import StoredTable

_SERIES_REACH = 0.1
_SERIES = [0.0, 0.0] + [(-1.0) ** k / (k * (k - 1)) for k in range(2, 20)]  # 0.1^20 / 380 is below half an ulp


class HasReference(Protocol):
    """Anything with a table and the reference that it was projected from, such as a Projection."""

    @property
    def table(self) -> Any:
        """The projection."""
        ...

    @property
    def reference(self) -> Any:
        """What was projected."""
        ...


def kl_divergence(p: Table | StoredTable, q: Table | StoredTable) -> float:
    """Return the Kullback-Leibler divergence D(p || q) of the tables divided by their totals, in nats.

    Profiles are matched by attribute name and category label, independently of order and layout, on disk or in memory.
    A profile without mass in p contributes 0; a profile with mass in p and none in q, or not listed in q, makes the
    divergence infinite. The result is never negative and accurate to the last digits, for tables near to and far from
    each other.

    Raises
    ------
    UnknownAttributeError
        The tables are not over the same attributes.
    UnknownCategoryError
        One table has mass in a category that the other does not list; usually the labels were meant to be the same.

    Examples
    --------
    >>> import purtensor as pt
    >>> p = pt.tabulate({"sex": ["f", "m"]}, weights=[1, 3])
    >>> round(pt.kl_divergence(p, pt.uniform(p)), 6)
    0.130812
    """
    return divergence(pair_batches(p, q))


def divergence(batches: Iterable[SharedProfiles]) -> float:
    """Return D(p || q) of tables that come as shares of their totals, some profiles at a time."""
    sums = []
    for pair in batches:
        if np.any((pair.p > 0) & (pair.q == 0)):
            return math.inf
        on_p, off_p = pair.where(pair.p > 0), pair.where(pair.p == 0)
        sums.append(exact_sum(np.concatenate([_divergence_terms(on_p), off_p.q_scaled / off_p.q_total.high])))
    return math.fsum(sums)


def entropy(p: Table | StoredTable) -> float:
    """Return the entropy H[p] of the table divided by its total, in nats.

    Raises
    ------
    InvalidTableError
        `p` is not a valid table: negative, not finite, or without mass.

    Examples
    --------
    >>> import purtensor as pt
    >>> round(pt.entropy(pt.tabulate({"sex": ["f", "m"]})), 6)
    0.693147
    """
    table = Read(p)
    total = table.total()
    largest = max(float(values.max(initial=0)) for _, values in table.pieces())
    # near 1, the logarithm of a share needs what the others leave of 1
    others = [exact_sum(np.ldexp(values[values < largest], -total.exponent)) for _, values in table.pieces()]
    rest = math.fsum(others) / total.high
    has_most = rest < 0.5 < math.ldexp(largest, -total.exponent) / total.high  # then it is one profile's
    sums = []
    for _, values in table.pieces():
        shares = np.ldexp(values, -total.exponent) / total.high
        mantissa, power = np.frexp(values)
        logs = np.log(mantissa / total.high) + (power - float(total.exponent)) * math.log(2.0)
        if has_most:
            logs[values == largest] = math.log1p(-rest)
        sums.append(exact_sum(-shares * logs))
    return math.fsum(sums)


def total_variation(p: Table | StoredTable, q: Table | StoredTable) -> float:
    """Return the total variation distance of the tables divided by their totals: half the L1 distance, 0 to 1.

    It is symmetric in p and q; profiles that one table does not list have mass 0 there.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError
        As in `kl_divergence`.

    Examples
    --------
    >>> import purtensor as pt
    >>> p = pt.tabulate({"sex": ["f", "m"]}, weights=[1, 3])
    >>> pt.total_variation(p, pt.uniform(p))
    0.25
    """
    return min(1.0, math.fsum(exact_sum(np.abs(pair.difference())) for pair in pair_batches(p, q)) / 2)


def pythagorean_defect(p: Table | StoredTable, projection: HasReference) -> float:
    """Return D(p || reference) - D(p || table) - D(table || reference) of a projection, in nats: 0 where p is feasible.

    It is computed as the inner product of p - table with log(table / reference), the same number without the
    cancellation (notes/information.md, equation 5). It is -inf where p has mass that the projection excludes.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError
        As in `kl_divergence`.
    InvalidTableError
        p has mass where the reference has none: both of its divergences are infinite.

    Examples
    --------
    >>> import purtensor as pt
    >>> reference = pt.tabulate({"sex": ["f", "m", "f"], "age": ["old", "old", "young"]})
    >>> fixed = pt.tabulate({"sex": ["f", "m"]})
    >>> projection = pt.project(reference, pt.Marginal(fixed))
    >>> p = pt.tabulate({"sex": ["f", "m"], "age": ["young", "old"]})
    >>> abs(pt.pythagorean_defect(p, projection)) < 1e-15
    True
    """
    if not (hasattr(projection, "table") and hasattr(projection, "reference")):
        raise InvalidOptionError(
            f"projection must be the result of purtensor.project, got {type(projection).__qualname__}"
        )
    # the profiles of all three, batch by batch: memory is bounded for tables on disk
    reads = [Read(projection.table), Read(projection.reference), Read(p)]
    of_table, of_reference, of_p = (read.total() for read in reads)
    domain, sums, excluded = reads[0].domain, [], False
    for codes, (table, reference, feasible) in match_tables(reads, ("the table", "the reference", "p")):
        outside = np.flatnonzero((feasible > 0) & (reference == 0))
        if len(outside):
            label = describe_profile(domain, [code[outside[0]] for code in codes])
            raise InvalidTableError(
                f"p has mass at ({label}), where the reference has none; a feasible table has no mass outside of the "
                "support"
            )
        if np.any((table > 0) & (reference == 0)):
            raise InvalidTableError("the table has mass where its reference has none, so it is not a projection of it")
        excluded = excluded or bool(np.any((feasible > 0) & (table == 0)))
        on = table > 0
        kept = SharedProfiles(table[on], reference[on], of_table, of_reference)
        moved = SharedProfiles(table[on], feasible[on], of_table, of_p)
        sums.append(exact_sum(moved.difference() * kept.log_ratio()))
    return -math.inf if excluded else -math.fsum(sums)


def divergence_excess(ratio_less_one: FloatArray) -> FloatArray:
    """Return (1 + w) log(1 + w) - w for each w > -1: what a mass with p / q = 1 + w adds to D(p || q), per q.

    It is never negative, and for small w it comes from the series w^2 / 2 - w^3 / 6 + ... (notes/information.md,
    equation 2).
    """
    w = np.asarray(ratio_less_one, dtype=np.float64)
    small = np.abs(w) <= _SERIES_REACH
    inner = np.where(small, w, 0.0)
    outer = np.where(small, 1.0, w)
    series = np.polynomial.polynomial.polyval(inner, _SERIES)
    return np.asarray(np.where(small, series, (1.0 + outer) * np.log1p(outer) - outer))


def _divergence_terms(pair: SharedProfiles) -> FloatArray:
    """Return p log(p/q) - p + q of positive shares, each term right in itself (notes/information.md, equation 2)."""
    near = pair.relative_difference()
    close = np.abs(near) <= 0.5
    q_share = pair.q_scaled / pair.q_total.high
    far_terms = pair.p_scaled / pair.p_total.high * pair.log_ratio() - pair.difference()
    return np.where(close, q_share * divergence_excess(np.where(close, near, 0.0)), far_terms)
