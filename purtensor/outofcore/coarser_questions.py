"""Coarser problems for stored tables: attributes are summed out until the rest fits into memory.

A solution of the question is one of every coarser question, so a contradiction there refutes the question itself, and
can be explained in few words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from purtensor.constraints.marginals import Marginal
from purtensor.feasibility.diagnose import diagnose_table
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore.targets import Constraint
from purtensor.tables.domain import Domain
from purtensor.tables.marginal import marginal
from purtensor.tables.store.table import StoredTable, sum_stored

_LARGEST = 1 << 13
"""Combinations of categories of a coarse question: so many are settled within a second or so."""


def coarse_contradiction(
    reference: StoredTable, constraints: Sequence[Constraint], outer: Sequence[str], key: Sequence[str]
) -> Diagnosis | None:
    """Return the diagnosis of a coarser question that cannot be met, None where none of those tried is such.

    Parameters
    ----------
    outer, key
        The attributes of the constraints that couple the slabs, and the slab key.
    """
    for attributes in _questions(reference.domain, outer, key):
        coarse = [found for c in constraints if (found := _sum_over(c, attributes)) is not None]
        diagnosis = diagnose_table(sum_stored(reference, attributes), coarse)
        if diagnosis.verdict is Verdict.INFEASIBLE:
            return diagnosis
    return None


def _questions(domain: Domain, outer: Sequence[str], key: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the attributes of coarser questions: those outside of the key, with one of the key or with all that fit."""
    sizes = dict(zip(domain.attributes, domain.sizes, strict=True))
    # slabs contradict each other in the rows that couple them: their attributes are in every question
    base = [name for name in outer if name not in key]
    rest = [name for name in domain.attributes if name not in key and name not in base]
    if math.prod(sizes[name] for name in base + rest) <= _LARGEST:
        base += rest
    chosen: set[tuple[str, ...]] = set()
    by_size = sorted(key, key=lambda name: (sizes[name], name))
    several: list[str] = []
    for name in by_size:
        if math.prod(sizes[other] for other in [*base, *several, name]) <= _LARGEST:
            several.append(name)
    # the most attributes first: finer questions refute more; then single ones, which are easier to explain
    for extra in ([several] if several else []) + [[name] for name in by_size]:
        names = tuple(name for name in domain.attributes if name in base or name in extra)
        if names and names not in chosen and math.prod(sizes[name] for name in names) <= _LARGEST:
            chosen.add(names)
            yield names


def _sum_over(constraint: Constraint, attributes: Sequence[str]) -> Marginal | None:
    """Return the marginal of a target over some attributes; None where it is about none of them."""
    names = tuple(name for name in constraint.scope if name in attributes)
    if not names:
        return None
    if isinstance(constraint, Marginal):
        return Marginal(marginal(constraint.target, names))
    return Marginal(sum_stored(constraint.table, names))
