"""Targets that contradict each other are refused before anything is solved."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from purtensor.constraints.labelled import Labelled, join_profiles
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InconsistentTargetsError
from purtensor.kernels.reductions import group_sums
from purtensor.tables.domain import describe_profile

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
    # the most attributes first: a miss there is named more exactly than in the total
    for attributes in sorted((s for s in shared if s), key=lambda s: (-len(s), sorted(s))):
        members = [constraint for constraint in given if attributes <= set(constraint.scope)]
        _check_marginal(members, [name for name in members[0].scope if name in attributes])
    check_totals(given)


def check_totals(given: Sequence[Marginal]) -> None:
    """Raise InconsistentTargetsError unless all targets have one total, to rounding."""
    # with one total each agrees with the first, and so with every other
    first = given[0]
    for other in given[1:]:
        if abs(first.total - other.total) > ROUNDING * max(first.total, other.total):
            one, two = _distinct_texts(first.total, other.total)
            raise InconsistentTargetsError(f"total {one} in {_scope(first)} but {two} in {_scope(other)}")


def _check_marginal(members: Sequence[Marginal], names: Sequence[str]) -> None:
    """Compare the marginal over `names` of the first target with that of all others."""
    targets = [constraint.coded for constraint in members]
    parts = [Labelled(target.domain.select(names), target.columns(names), target.values) for target in targets]
    domain, codes, places = join_profiles(parts)
    sums = [group_sums(part.values, place, len(codes[0])) for part, place in zip(parts, places, strict=True)]
    for other, values in zip(members[1:], sums[1:], strict=True):
        gaps = np.abs(values - sums[0])
        allowed = ROUNDING * max(members[0].total, other.total)
        if gaps.max() > allowed:
            worst = int(np.flatnonzero(gaps >= gaps.max() - allowed)[0])  # the first of equals, to rounding
            profile = describe_profile(domain, [code[worst] for code in codes])
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
    # 17 digits distinguish any two numbers of float64
    for digits in range(6, 18):
        texts = f"{one:.{digits}g}", f"{two:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts
