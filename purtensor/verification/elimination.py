"""Exact elimination of 0-1 rows: which are independent, and what to add where so that all of them are met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from purtensor._typing import IntArray

MOST_WORK = 20_000_000
"""Rows squared times profiles up to which elimination in fractions takes tenths of a second."""

Row = dict[int, Fraction]


@dataclass(frozen=True, slots=True)
class Correction:
    """What meets the independent rows.

    Attributes
    ----------
    added
        What to add to a profile, by its number.
    independent
        The numbers of the rows that are independent.
    disagreement
        The largest miss that a dependent row keeps: what the targets contradict each other by.
    """

    added: Mapping[int, Fraction]
    independent: tuple[int, ...]
    disagreement: Fraction


def profiles_of(index: IntArray, count: int, among: IntArray) -> list[list[int]]:
    """Return which profiles, of some, each of `count` rows has; `index`, shape (K, M), is the rows of each profile."""
    found: list[list[int]] = [[] for _ in range(count)]
    for one in index:
        for profile in among.tolist():
            found[one[profile]].append(profile)
    return found


def correct(rows: Sequence[Sequence[int]], misses: Sequence[Fraction], weight: Sequence[Fraction]) -> Correction:
    """Return corrections that sum to misses[i] over the profiles of each row i, on one heavy profile a row.

    Parameters
    ----------
    rows
        For each row its profiles.
    misses
        What each row lacks.
    weight
        The mass of each profile: heavy ones take the corrections, so that none falls below 0.
    """
    reduced: list[tuple[int, Row, Fraction]] = []
    independent: list[int] = []
    disagreement = Fraction(0)
    for i, profiles in enumerate(rows):
        row, miss = dict.fromkeys(profiles, Fraction(1)), misses[i]
        # in the order of their making: an earlier row may bring in the pivot of a later one, never the reverse
        for pivot, other, other_miss in reduced:
            factor = row.get(pivot)
            if factor:
                miss -= factor * other_miss
                _subtract(row, other, factor)
        # 0 = miss: the row follows from those before, and keeps what it contradicts them by
        if not row:
            disagreement = max(disagreement, abs(miss))
            continue
        # not the largest entry, as floats would need: fractions do not round, and a heavy profile stays positive
        pivot = max(row, key=lambda profile: weight[profile])
        lead = row[pivot]
        reduced.append((pivot, {profile: value / lead for profile, value in row.items()}, miss / lead))
        independent.append(i)
    return Correction(_substitute(reduced), tuple(independent), disagreement)


def _subtract(row: Row, other: Row, factor: Fraction) -> None:
    """Take `factor` times another row from a row, in place; zeros are left out."""
    for profile, value in other.items():
        left = row.get(profile, 0) - factor * value
        if left:
            row[profile] = Fraction(left)
        else:
            row.pop(profile, None)


def _substitute(reduced: Sequence[tuple[int, Row, Fraction]]) -> dict[int, Fraction]:
    """Return the pivots' values, the last row first: a row knows only the pivots of later rows."""
    added: dict[int, Fraction] = {}
    for pivot, row, miss in reversed(reduced):
        # profiles that are no pivot of any row are left alone, which sets the free variables to 0
        known = (value * added[profile] for profile, value in row.items() if profile != pivot and profile in added)
        added[pivot] = miss - sum(known, Fraction(0))
    return added
