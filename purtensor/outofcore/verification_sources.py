"""Stored tables and targets as what verification reads: profiles, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.projection.result import Projection
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles
from purtensor.tables.store.open_store import StoredTable, read_profiles
from purtensor.tables.translate import category_map
from purtensor.verification.evidence import Block, Evidence
from purtensor.verification.stored import Source, misses
from purtensor.verification.stored_sums import Piece


def source_of(table: StoredTable) -> Source:
    """Return a stored table, read chunk by chunk."""
    return Source(table.domain, lambda: (read_profiles(table.path, begin, end) for begin, end in table.bounds))


def targets_of(constraint: Marginal | StoredMarginal) -> Source:
    """Return where a constraint's targets come from."""
    return Source.of(constraint.target) if isinstance(constraint, Marginal) else source_of(constraint.table)


def misses_of(table: StoredTable, constraint: Marginal | StoredMarginal) -> tuple[float, float]:
    """Return the largest miss of a constraint by a stored table, and the sum of its misses, total mass 1."""
    return misses(source_of(table), targets_of(constraint), constraint.scope)


def gather_from(
    pieces: Sequence[Piece], result: Projection[StoredTable], scopes: Sequence[tuple[str, ...]]
) -> tuple[Evidence, list[FloatArray]]:
    """Return the evidence of a projection on disk, in memory, and the witness of its bound, one array per constraint.

    Rows are matched by label; those without a witness have NaN.
    """
    domain = result.reference.domain
    codes = [
        np.concatenate([np.asarray(piece.codes[k], dtype=np.int64) for piece in pieces])
        for k in range(len(domain.attributes))
    ]
    blocks, witness = [], []
    for k, (scope, constraint) in enumerate(zip(scopes, result.constraints, strict=True)):
        own = domain.select(scope)
        target_codes, values = _list(targets_of(constraint), own)
        rows = [piece.rows[k] for piece in pieces]
        row_codes = [
            np.concatenate([np.asarray(one.codes[n], dtype=np.int64) for one in rows]) for n in range(len(scope))
        ]
        columns = [codes[domain.position(name)] for name in scope]
        joint = [np.concatenate(parts) for parts in zip(columns, target_codes, row_codes, strict=True)]
        group = group_profiles(joint, own.sizes)[0]
        profiles, listed, count = len(columns[0]), len(values), int(group.max(initial=-1)) + 1
        targets, potentials, made = np.zeros(count), np.full(count, np.nan), np.full(count, np.nan)
        np.add.at(targets, group[profiles : profiles + listed], values)  # of a table, they are its marginal
        potentials[group[profiles + listed :]] = np.concatenate([one.potentials for one in rows])
        made[group[profiles + listed :]] = np.concatenate([one.witness for one in rows])
        blocks.append(Block(group[:profiles], targets, potentials))
        witness.append(made)
    reference, masses = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("reference", "masses"))
    return Evidence(reference, masses, tuple(blocks), ""), witness


def _list(targets: Source, domain: Domain) -> tuple[list[IntArray], FloatArray]:
    """Return the codes of targets in a domain's categories, and their values; a target beyond them counts nowhere."""
    order = [targets.domain.position(name) for name in domain.attributes]
    maps = [
        category_map(targets.domain.categories[n], labels) for n, labels in zip(order, domain.categories, strict=True)
    ]
    columns: list[list[IntArray]] = [[] for _ in order]
    values = []
    for codes, masses in targets.profiles():
        moved = [m[np.asarray(codes[n], dtype=np.int64)] for n, m in zip(order, maps, strict=True)]
        listed = np.all([column >= 0 for column in moved], axis=0)
        for column, own in zip(columns, moved, strict=True):
            column.append(own[listed])
        values.append(np.asarray(masses, dtype=np.float64)[listed])
    return [np.concatenate(column) for column in columns], np.concatenate(values)
