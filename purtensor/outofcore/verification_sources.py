"""Stored tables and targets as what verification reads: profiles, piece by piece."""

from __future__ import annotations

from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.tables.store.open_store import StoredTable, read_profiles
from purtensor.verification.stored import Source, misses


def source_of(table: StoredTable) -> Source:
    """Return a stored table, read chunk by chunk."""
    return Source(table.domain, lambda: (read_profiles(table.path, begin, end) for begin, end in table.bounds))


def targets_of(constraint: Marginal | StoredMarginal) -> Source:
    """Return where a constraint's targets come from."""
    return Source.of(constraint.target) if isinstance(constraint, Marginal) else source_of(constraint.table)


def misses_of(table: StoredTable, constraint: Marginal | StoredMarginal) -> tuple[float, float]:
    """Return the largest miss of a constraint by a stored table, and the sum of its misses, total mass 1."""
    return misses(source_of(table), targets_of(constraint), constraint.scope)
