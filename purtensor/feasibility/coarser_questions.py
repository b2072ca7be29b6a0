"""Coarser questions: attributes are summed out of the support and of every target.

A solution of the question is one of every coarser question, so a contradiction of fewer attributes, or of fewer
constraints, refutes it as well, and is easier to explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import IntArray
from purtensor.constraints.system import System, rows_of
from purtensor.feasibility.targets import ExactTargets
from purtensor.tables.grouping import group_profiles, smallest_unsigned


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A system with its exact targets, and which of the original constraints its constraints come from."""

    system: System
    targets: ExactTargets
    origin: tuple[int, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that some constraint is about, in the domain's order."""
        used = {name for scope in self.system.scopes for name in scope}
        return tuple(name for name in self.system.domain.attributes if name in used)


def with_constraints(question: Question, kept: Sequence[int]) -> Question:
    """Return the question with some of its constraints only."""
    system = question.system
    rows = rows_of(system.offsets, kept)
    fewer = replace(
        system,
        index=system.index[list(kept)],
        offsets=np.concatenate([[0], np.cumsum(np.diff(system.offsets)[list(kept)])]).astype(np.int64),
        targets=system.targets[rows],
        scopes=tuple(system.scopes[k] for k in kept),
        row_codes=tuple(system.row_codes[k] for k in kept),
    )
    return Question(fewer, question.targets.select(rows), tuple(question.origin[k] for k in kept))


def coarsen(question: Question, attributes: Sequence[str]) -> Question | None:
    """Return the question about some attributes only; None where no constraint is about any of them."""
    system, numerators = question.system, question.targets.numerators
    # a constraint without any of them is left with its total, which the others have, too
    kept = [k for k, scope in enumerate(system.scopes) if set(scope) & set(attributes)]
    if not kept:
        return None
    first = _distinct_profiles(system, attributes)
    indices, targets, exact, scopes, row_codes = [], [], [], [], []
    for k in kept:
        names = tuple(name for name in system.scopes[k] if name in set(attributes))
        columns = [system.row_codes[k][system.scopes[k].index(name)].astype(np.int64) for name in names]
        row, codes = group_profiles(columns, [int(column.max()) + 1 for column in columns])
        count = len(codes[0])
        sums = np.zeros(count, dtype=object)
        # summed exactly, as the contradiction may lie in the last unit
        np.add.at(sums, row, numerators[system.block(k)])
        exact.append(sums)
        targets.append(np.bincount(row, weights=system.targets[system.block(k)], minlength=count))
        indices.append(row[system.index[k][first]])
        scopes.append(names)
        row_codes.append(codes)
    sizes = [len(values) for values in targets]
    coarse = System(
        index=np.array(indices, dtype=smallest_unsigned(max(sizes))),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        targets=np.concatenate(targets),
        domain=system.domain,
        scopes=tuple(scopes),
        row_codes=tuple(row_codes),
    )
    summed = ExactTargets(np.concatenate(exact), question.targets.denominator, question.targets.exact)
    return Question(coarse, summed, tuple(question.origin[k] for k in kept))


def _distinct_profiles(system: System, attributes: Sequence[str]) -> IntArray:
    """Return one profile of the support for each combination that it has of the attributes."""
    columns = []
    for name in attributes:
        k = next((k for k, scope in enumerate(system.scopes) if name in scope), None)
        if k is not None:
            columns.append(system.row_codes[k][system.scopes[k].index(name)].astype(np.int64)[system.index[k]])
    group, distinct = group_profiles(columns, [int(column.max()) + 1 for column in columns])
    first = np.zeros(len(distinct[0]), dtype=np.int64)
    # backwards, so that the first profile of each group is written last and stays
    first[group[::-1]] = np.arange(system.profiles - 1, -1, -1)
    return first
