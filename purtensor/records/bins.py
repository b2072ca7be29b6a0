"""Bins of numbers as categories in ascending order."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.tables.coded import domain_of
from purtensor.tables.factorize import Factor
from purtensor.tables.labels import MISSING_CATEGORY

_BEGINS = re.compile(r"(?:>=)?(?P<edge>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:-.+)?", re.ASCII)
"""A label of a bin but the first, and the number at which it begins: '30-44', '30' of one year, '>=45'."""

AGE_GROUPS = ("young", "middle", "senior")


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of one attribute; an edge opens the bin above it.

    Attributes
    ----------
    edges
        Increasing numbers, one less than there are bins.
    labels
        What the bins are called, in ascending order.
    """

    edges: tuple[float, ...]
    labels: tuple[str, ...]

    def codes(self, numbers: FloatArray) -> IntArray:
        """Return the bin of each number, -1 where it is NaN."""
        # side="right": a number that is an edge lies in the bin above
        codes: IntArray = np.searchsorted(np.asarray(self.edges, dtype=np.float64), numbers, side="right")
        # searchsorted has put NaN into the last bin
        codes[np.isnan(numbers)] = -1
        return codes

    def factor(self, numbers: FloatArray) -> Factor:
        """Return numbers as a column of these bins."""
        return Factor(self.codes(numbers), pd.Index(self.labels))

    def __str__(self) -> str:
        return ",".join(map(_text, self.edges))


BinSpec = Sequence[float] | str | Bins
"""How a column is binned: the numbers at which a bin begins, "quantiles:4", or bins that were made before."""


def bins_in(table: Any) -> dict[str, Bins]:
    """Return the bins in which the attributes of a table, or of a result, are: other records are binned the same way.

    They are read from the labels, which files keep as well.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.records.bins import bins_in
    >>> first = pt.tabulate({"age": [20, 35, 41, 60]}, bins={"age": "quantiles:2"})
    >>> pt.tabulate({"age": [37.5, 44]}, bins=bins_in(first)).to_series().to_dict()
    {('<40',): 1.0, ('>=40',): 1.0}
    """
    domain = domain_of(getattr(table, "table", table))
    found = {name: bins_labelled(labels) for name, labels in zip(domain.attributes, domain.categories, strict=True)}
    return {name: bins for name, bins in found.items() if bins is not None}


def bins_labelled(labels: Iterable[Any]) -> Bins | None:
    """Return the bins that have such labels, whatever their order; None where they are no bins."""
    texts = [label for label in labels if label != MISSING_CATEGORY]
    if len(texts) < 2 or not all(isinstance(text, str) for text in texts):
        return None
    begins = [(_BEGINS.fullmatch(text), text) for text in texts if not text.startswith("<")]
    if len(begins) != len(texts) - 1 or not all(begin for begin, _ in begins):
        return None
    edges = tuple(sorted(float(begin["edge"]) for begin, _ in begins if begin))
    # bins only if one of the two forms gives exactly these labels back
    made = (tuple(labels_of(edges)) for labels_of in (year_labels, bin_labels))
    return next((Bins(edges, own) for own in made if set(own) == set(texts)), None)


def make_bins(spec: BinSpec, attribute: str, numbers: FloatArray, masses: FloatArray) -> Bins:
    """Return the bins that are given for an attribute with these numbers, each of some mass; NaN is not a number.

    Labels are '<30', '30-44', '>=45' where all edges and numbers are whole, else '<2.5', '2.5-4' (4 is not in it),
    '>=4'.

    Raises
    ------
    InvalidOptionError
        The edges do not increase, or the words are not "quantiles:" and a number.
    InvalidTableError
        An infinite number, or numbers that no quantile cuts.
    """
    if isinstance(spec, Bins):
        return spec
    known = ~np.isnan(numbers)
    if np.isinf(numbers).any():
        raise InvalidTableError(
            f"attribute {attribute!r} has an infinite number, which belongs to no bin", where=attribute
        )
    if isinstance(spec, str):
        edges = quantile_edges(numbers[known], masses[known], _quantiles(spec))
        if not edges:
            raise InvalidTableError(
                f"attribute {attribute!r} has too few different numbers for {spec}; give edges", where=attribute
            )
    else:
        edges = check_edges(spec, f"bins of {attribute!r}")
    # of whole numbers 30-44 has 44 in it; of others the upper edge is not in the bin
    whole = all(float(number).is_integer() for number in (*edges, *numbers[known].tolist()))
    return Bins(edges, tuple(year_labels(edges) if whole else bin_labels(edges)))


def bins_of_column(column: nw.Series[Any], attribute: str, spec: BinSpec) -> tuple[Factor, Bins]:
    """Return a column in memory as bins.

    Raises
    ------
    InvalidTableError
        It has something else than numbers.
    """
    numbers = numbers_to_bin(column, attribute)
    bins = make_bins(spec, attribute, numbers, np.ones(len(numbers)))
    return bins.factor(numbers), bins


def numbers_to_bin(column: nw.Series[Any], attribute: str) -> FloatArray:
    """Return the numbers of a column that is binned, NaN where there is none.

    Raises
    ------
    InvalidTableError
        It has something else than numbers.
    """
    if not (column.dtype.is_numeric() or column.is_null().all()):
        try:
            column = nw.from_native(
                pd.Series([float(v) if v is not None else v for v in column.to_list()]), series_only=True
            )
        except (TypeError, ValueError):
            raise InvalidTableError(
                f"attribute {attribute!r} is binned, but has {column.dtype} values",
                code="no-number-to-bin",
                where=attribute,
            ) from None
    if not column.dtype.is_numeric():
        return np.full(len(column), math.nan)
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _quantiles(spec: str) -> int:
    word, _, number = spec.partition(":")
    if word != "quantiles" or not number.isdecimal() or int(number) < 2:
        raise InvalidOptionError(
            f"bins must be increasing numbers, or 'quantiles:4' for four bins of equal weight, got {spec!r}"
        )
    return int(number)


def check_edges(edges: Iterable[float], option: str) -> tuple[float, ...]:
    """Return the edges of bins as a tuple; raise InvalidOptionError if they are empty or not increasing."""
    try:
        values = tuple(edges)
    except TypeError:
        values = ()
    numbers = all(isinstance(v, Real) and not isinstance(v, bool) and math.isfinite(v) for v in values)
    if not values or not numbers or any(a >= b for a, b in pairwise(values)):
        raise InvalidOptionError(
            f"{option} must be a sequence of at least one finite number, increasing, got {edges!r}"
        )
    return values


def bin_labels(edges: Sequence[float]) -> list[str]:
    """Return labels of half-open bins: '<5', '5-7.5' (5 is in it, 7.5 is not), '>=7.5'."""
    inner = [f"{_text(low)}-{_text(high)}" for low, high in pairwise(edges)]
    return [f"<{_text(edges[0])}", *inner, f">={_text(edges[-1])}"]


def age_labels(edges: Sequence[float]) -> list[str]:
    """Return labels of age groups: young, middle, senior for two edges, else '<30', '30-39', '>=40' (in full years)."""
    if len(edges) == 2:
        return list(AGE_GROUPS)
    return year_labels(edges) if all(float(edge).is_integer() for edge in edges) else bin_labels(edges)


def year_labels(edges: Sequence[float]) -> list[str]:
    """Return labels of bins of whole numbers: '<30', '30-39', '>=40'."""
    last_years = [_text(low) if high == low + 1 else f"{_text(low)}-{_text(high - 1)}" for low, high in pairwise(edges)]
    return [f"<{_text(edges[0])}", *last_years, f">={_text(edges[-1])}"]


def bin_values(values: Any, edges: Sequence[float], labels: Sequence[str]) -> pd.Categorical[Any]:
    """Return the bin of each value, an edge opening the bin above it; missing values stay missing."""
    numbers = np.asarray(values, dtype=np.float64)
    codes = Bins(tuple(edges), tuple(labels)).codes(numbers)
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels))


def _text(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))


MOST_BINS = 1_000_000


def quantile_edges(values: FloatArray, weights: FloatArray, bins: int) -> tuple[float, ...]:
    """Return at most bins - 1 increasing edges; an edge opens the bin above it.

    The k-th cut comes after the first distinct value at which k / bins of the weight is reached, so that weights
    and repeated rows do the same; between that value and the next one, the shortest decimal number is the edge.
    Equal cuts are one, and nothing is cut after the largest value.
    """
    # records without weight do not move the edges
    distinct, group = np.unique(values[weights > 0], return_inverse=True)
    reached = np.cumsum(np.bincount(group, weights=weights[weights > 0]))
    wanted = reached[-1] * np.arange(1, bins) / bins
    # a value that has more than one share of the weight cuts once
    after = np.unique(np.searchsorted(reached, wanted))
    return tuple(shortest_between(float(distinct[i]), float(distinct[i + 1])) for i in after if i + 1 < len(distinct))


def shortest_between(low: float, high: float) -> float:
    """Return a number in (low, high] with as few significant digits as there are."""
    middle = low + (high - low) / 2 if math.isfinite(high - low) else low / 2 + high / 2
    for digits in range(1, 18):
        step = 10.0 ** (math.floor(math.log10(max(abs(low), abs(high)))) - digits + 1)
        if not (step > 0 and math.isfinite(step)):
            break
        # the multiple nearest to the middle, else the largest that is not above
        for whole in (round(middle / step), math.floor(high / step)):
            # the product is rounded: the text has the digits that are meant
            candidate = float(f"{whole * step:.{digits}g}")
            if low < candidate <= high:
                # -0.0 becomes 0.0
                return candidate + 0.0
    return high
