"""Targets that contradict each other are refused before anything is solved."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import IntArray
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InconsistentTargetsError
from purtensor.kernels.sums import group_sums
from purtensor.tables.coded import described
from purtensor.tables.domain import Domain, is_boolean
from purtensor.tables.grouping import group_profiles

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Two values of one marginal may differ by this share of the total: what sums of float64 lose, and no more."""


def check_consistency(constraints: Iterable[Marginal]) -> None:
    """Raise unless all targets agree on their total and on every marginal that two of them share.

    Values agree when they differ by at most 64 eps (1.4e-14) of the total, so the unit does not matter. Profiles
    are matched by label, for any order or layout; one that a target does not list has 0 there.

    Raises
    ------
    InconsistentTargetsError
        Names the profile that disagrees most, both values and both scopes. Of several shared marginals the one of
        most attributes is named; the total alone where two targets share nothing else.
    """
    given = tuple(constraints)
    shared = {frozenset(a.scope) & frozenset(b.scope) for a, b in itertools.combinations(given, 2)}
    unions: dict[str, _Union] = {}
    # the most attributes first: a miss there is told more exactly than in the total
    for attributes in sorted((s for s in shared if s), key=lambda s: (-len(s), sorted(s))):
        members = [constraint for constraint in given if attributes <= set(constraint.scope)]
        names = [name for name in members[0].scope if name in attributes]
        for name in names:
            if name not in unions:
                unions[name] = _Union.of(name, given)
        _check_marginal(members, names, unions)
    check_totals(given)


def check_totals(given: Sequence[Marginal]) -> None:
    """Raise InconsistentTargetsError unless all targets have one total, to rounding."""
    first = given[0]
    for other in given[1:]:
        if abs(first.total - other.total) > ROUNDING * max(first.total, other.total):
            one, two = _distinct_texts(first.total, other.total)
            raise InconsistentTargetsError(f"total {one} in {_scope(first)} but {two} in {_scope(other)}")


def _check_marginal(members: Sequence[Marginal], names: Sequence[str], unions: dict[str, _Union]) -> None:
    """Compare the marginal over `names` of the first target with that of all others."""
    joint = [np.concatenate([unions[name].codes(constraint) for constraint in members]) for name in names]
    group, codes = group_profiles(joint, [len(unions[name].labels) for name in names])
    ends = np.cumsum([len(constraint.coded.values) for constraint in members])
    parts = np.split(group, ends[:-1])
    sums = [group_sums(c.coded.values, part, len(codes[0])) for c, part in zip(members, parts, strict=True)]
    for other, values in zip(members[1:], sums[1:], strict=True):
        gaps = np.abs(values - sums[0])
        allowed = ROUNDING * max(members[0].total, other.total)
        if gaps.max() > allowed:
            worst = int(np.flatnonzero(gaps >= gaps.max() - allowed)[0])  # the first of equals, to rounding
            domain = Domain(tuple(names), tuple(unions[name].labels for name in names))
            profile = described(domain, [code[worst] for code in codes])
            _refuse(profile, (members[0], other), (sums[0][worst], values[worst]))


def _refuse(profile: str, pair: tuple[Marginal, Marginal], values: tuple[float, float]) -> None:
    one, two = _distinct_texts(*values)
    where = [_scope(constraint) for constraint in pair]
    if where[0] == where[1]:
        where = [f"the first target over {where[0]}", f"another over {where[1]}"]
    message = f"{profile!r} is {one} in {where[0]} but {two} in {where[1]}"
    if abs(pair[0].total - pair[1].total) > ROUNDING * max(pair[0].total, pair[1].total):
        one, two = _distinct_texts(pair[0].total, pair[1].total)
        message += f"; their totals are {one} and {two}"
    raise InconsistentTargetsError(message)


def _scope(constraint: Marginal) -> str:
    return f"({', '.join(constraint.scope)})"


def _distinct_texts(one: float, two: float) -> tuple[str, str]:
    """Return two different numbers with as few digits as distinguish them, six at least."""
    for digits in range(6, 18):
        texts = f"{one:.{digits}g}", f"{two:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


class _Union:
    """The categories of one attribute over all targets, and each target's codes in them."""

    def __init__(self, labels: pd.Index[Any], columns: dict[int, IntArray]) -> None:
        self.labels = labels
        self._columns = columns

    @classmethod
    def of(cls, name: str, constraints: Sequence[Marginal]) -> _Union:
        """Return the union of the categories that the constraints over attribute `name` know."""
        tables = {id(constraint): constraint.coded for constraint in constraints if name in constraint.scope}
        labels, maps = _unite([table.domain.categories[table.domain.position(name)] for table in tables.values()])
        columns = {}
        for (key, table), onto in zip(tables.items(), maps, strict=True):
            (own,) = table.columns([name])
            columns[key] = own if onto is None else onto[own]
        return cls(labels, columns)

    def codes(self, constraint: Marginal) -> IntArray:
        """Return for each profile of a target the code of this attribute in the united categories."""
        return self._columns[id(constraint)]


def _unite(indices: Sequence[pd.Index[Any]]) -> tuple[pd.Index[Any], list[IntArray | None]]:
    """Return the union of the categories, the first index's first, and each index's map into it (None: the same)."""
    first = indices[0]
    if all(index is first or (index.dtype == first.dtype != object and index.equals(first)) for index in indices[1:]):
        return first, [None] * len(indices)
    known: dict[tuple[bool, Any], int] = {}
    maps: list[IntArray | None] = [
        np.array([known.setdefault((is_boolean(label), label), len(known)) for label in index], dtype=np.int64)
        for index in indices
    ]
    labels = np.empty(len(known), dtype=object)
    labels[:] = [label for _, label in known]
    return pd.Index(labels, dtype=object), maps
