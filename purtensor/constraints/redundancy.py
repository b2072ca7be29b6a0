"""Redundant rows, each with the whole-number combination of other rows that implies it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from purtensor._typing import IntArray
from purtensor.constraints.coupling import Coupled, Coupling, Forest
from purtensor.constraints.independence import Analysis, analyse
from purtensor.constraints.slabs import choose_key
from purtensor.constraints.system import System
from purtensor.tables.grouping import group_profiles

_SHOWN = 8


@dataclass(frozen=True, slots=True, eq=False)
class RedundantRow:
    """A row that other rows imply: `multiplier` times it is the sum of `weights` times `rows`.

    Without any rows it has no profile on the support. Printing it gives the labels.
    """

    row: int
    multiplier: int
    rows: IntArray
    weights: IntArray
    system: System = field(repr=False)

    def __str__(self) -> str:
        own = self.system.row_label(self.row)
        if not len(self.rows):
            return f"{own} has no profile"
        left = own if self.multiplier == 1 else f"{self.multiplier} ({own})"
        terms = zip(self.rows[:_SHOWN].tolist(), self.weights[:_SHOWN].tolist(), strict=True)
        text = "".join(f" {_signed(weight)}({self.system.row_label(row)})" for row, weight in terms)
        more = f" and {len(self.rows) - _SHOWN} more terms" if len(self.rows) > _SHOWN else ""
        return f"{left} is {text.removeprefix(' + ').removeprefix(' ')}{more}"


def _signed(weight: int) -> str:
    size = "" if abs(weight) == 1 else f"{abs(weight)} "
    return f"{'-' if weight < 0 else '+'} {size}"


def redundant(system: System, key: tuple[str, ...] | None = None) -> tuple[RedundantRow, ...]:
    """Return the rows that `independent_rows` leaves out, each with what implies it.

    The rows of a combination are independent, or redundant themselves and listed before.

    Raises
    ------
    TooLargeError
        As `independent_rows`.
    """
    analysis = analyse(system, choose_key(system) if key is None else key, explain=True)
    return tuple(RedundantRow(*proof, system) for proof in _proofs(system, analysis))


Proof = tuple[int, int, IntArray, IntArray]


def _proofs(system: System, analysis: Analysis) -> Iterator[Proof]:
    nothing = np.empty(0, dtype=np.int64)
    for row in np.flatnonzero(~analysis.supported):
        yield int(row), 1, nothing, nothing
    explained: Sequence[int] = analysis.order
    if analysis.forest is not None:
        explained = analysis.order[2:]
        yield from _components(system, analysis.forest)
        if analysis.coupling is not None and analysis.coupled is not None:
            yield from _coupled(system, analysis.coupling, analysis.coupled)
    for k in explained:
        yield from _shared(system, analysis, k)


def _components(system: System, forest: Forest) -> Iterator[Proof]:
    """Yield the roots: both constraints of a graph have the same sum over each component."""
    component = np.full(len(forest.parent), -1, dtype=np.int64)
    for node in forest.sequence:
        parent = forest.parent[node]
        component[node] = node if parent < 0 else component[parent]
    numbers = _node_rows(system, forest)
    order = np.argsort(component[forest.sequence], kind="stable")
    members = forest.sequence[order]
    begins = np.flatnonzero(np.diff(component[members], prepend=-1))
    for nodes in np.split(members, begins[1:]):
        root = component[nodes[0]]
        rest = np.sort(nodes[nodes != root])
        yield int(numbers[root]), 1, numbers[rest], np.where(rest < forest.first_rows, 1, -1)


def _node_rows(system: System, forest: Forest) -> IntArray:
    """Return the row number of every node."""
    return np.concatenate([np.arange(system.block(k).start, system.block(k).stop) for k in forest.constraints])


def _coupled(system: System, coupling: Coupling, coupled: Coupled) -> Iterator[Proof]:
    numbers = _node_rows(system, coupling.forest)
    leads = coupling.rows[coupled.independent]
    for place, relation in zip(coupled.dependent.tolist(), coupled.relations or [], strict=True):
        potentials = coupling.potentials(coupled.independent, place, relation)
        weights = _whole([*relation[1:], *potentials])
        used = np.flatnonzero(weights)
        yield int(coupling.rows[place]), relation[0], np.concatenate([leads, numbers])[used], weights[used]


def _whole(values: list[int]) -> IntArray:
    """Return whole numbers as int64, or as Python's own where they are beyond it."""
    fits = max(map(abs, values), default=0) < 2**62
    return np.array(values, dtype=np.int64 if fits else object)


def _shared(system: System, analysis: Analysis, k: int) -> Iterator[Proof]:
    """Yield the rows of constraint k that follow from a marginal which it shares with an earlier constraint."""
    block = system.block(k)
    implied_by = analysis.faces.implied_by[block]
    rows = np.flatnonzero(implied_by >= 0)
    rows = rows[np.argsort(-analysis.faces.raised[block][rows], kind="stable")]
    groups: dict[int, tuple[IntArray, list[IntArray], list[IntArray]]] = {}
    for row in rows.tolist():
        earlier = int(implied_by[row])
        if earlier not in groups:
            groups[earlier] = _shared_groups(system, analysis, k, earlier)
        group, own, other = groups[earlier]
        same = own[group[row]]
        same = same[same != row] + block.start
        equal = other[group[row]] + system.block(earlier).start
        weights = np.repeat([1, -1], [len(equal), len(same)])
        yield row + block.start, 1, np.concatenate([equal, same]), weights


def _shared_groups(
    system: System, analysis: Analysis, one: int, two: int
) -> tuple[IntArray, list[IntArray], list[IntArray]]:
    """Return which profile of the shared marginal each row of `one` belongs to, and both constraints' rows of each."""
    names = [name for name in system.scopes[one] if name in system.scopes[two]]
    counts = [system.block(k).stop - system.block(k).start for k in (one, two)]
    columns = [_codes(system, one, name, two) for name in names]
    group = group_profiles(columns, [int(c.max()) + 1 for c in columns])[0] if names else np.zeros(sum(counts), int)
    found: list[Any] = []
    for k, part in zip((one, two), np.split(group, counts[:1]), strict=True):
        kept = np.flatnonzero(analysis.supported[system.block(k)])
        order = kept[np.argsort(part[kept], kind="stable")]
        ends = np.cumsum(np.bincount(part[kept], minlength=int(group.max()) + 1))
        found.append(np.split(order, ends[:-1]))
    return group[: counts[0]], found[0], found[1]


def _codes(system: System, one: int, name: str, two: int) -> IntArray:
    return np.concatenate([system.row_codes[k][system.scopes[k].index(name)] for k in (one, two)])
