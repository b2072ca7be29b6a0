"""Redundant rows, each with the whole-number combination of other rows that implies it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from purtensor._typing import IntArray
from purtensor.constraints.rank.exact_rank import Proof
from purtensor.constraints.rank.independence import Analysis, analyse
from purtensor.constraints.slabs import choose_key
from purtensor.constraints.system import System, joint_groups

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
        text = "".join(f" {_sign(weight)}({self.system.row_label(row)})" for row, weight in terms)
        more = f" and {len(self.rows) - _SHOWN} more terms" if len(self.rows) > _SHOWN else ""
        return f"{left} is {text.removeprefix(' + ').removeprefix(' ')}{more}"


def _sign(weight: int) -> str:
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
    analysis = analyse(system, choose_key(system) if key is None else key)
    return tuple(RedundantRow(*proof, system) for proof in proofs(system, analysis))


def proofs(system: System, analysis: Analysis) -> Iterator[Proof]:
    """Yield why each row is redundant that an analysis leaves out."""
    # a row without a profile is 0, and needs no other row
    nothing = np.empty(0, dtype=np.int64)
    for row in np.flatnonzero(~analysis.supported):
        yield Proof(int(row), 1, nothing, nothing)
    explained: tuple[int, ...] = ()
    if analysis.structure is not None:
        explained = analysis.structure.explained
        yield from analysis.structure.proofs()
    for k in analysis.order:
        if k not in explained:
            yield from _explain_shared(system, analysis, k)


def _explain_shared(system: System, analysis: Analysis, k: int) -> Iterator[Proof]:
    """Yield the rows of constraint k that follow from a marginal which it shares with an earlier constraint."""
    block = system.block(k)
    implied_by = analysis.faces.implied_by[block]
    rows = np.flatnonzero(implied_by >= 0)
    # a proof may use rows that are not independent if they come earlier: those with more raised categories
    rows = rows[np.argsort(-analysis.faces.raised[block][rows], kind="stable")]
    groups: dict[int, tuple[IntArray, list[IntArray], list[IntArray]]] = {}
    for row in rows.tolist():
        earlier = int(implied_by[row])
        # once for each pair of constraints
        if earlier not in groups:
            groups[earlier] = _group_shared_rows(system, analysis, k, earlier)
        group, own, other = groups[earlier]
        same = own[group[row]]
        same = same[same != row] + block.start
        equal = other[group[row]] + system.block(earlier).start
        # notes/independence.md, equation 2
        weights = np.repeat([1, -1], [len(equal), len(same)])
        yield Proof(row + block.start, 1, np.concatenate([equal, same]), weights)


def _group_shared_rows(
    system: System, analysis: Analysis, one: int, two: int
) -> tuple[IntArray, list[IntArray], list[IntArray]]:
    """Return which profile of the shared marginal each row of `one` belongs to, and both constraints' rows of each."""
    names = [name for name in system.scopes[one] if name in system.scopes[two]]
    group, counts = joint_groups(system, (one, two), names)
    found: list[Any] = []
    for k, part in zip((one, two), np.split(group, counts[:1]), strict=True):
        kept = np.flatnonzero(analysis.supported[system.block(k)])
        order = kept[np.argsort(part[kept], kind="stable")]
        ends = np.cumsum(np.bincount(part[kept], minlength=int(group.max()) + 1))
        found.append(np.split(order, ends[:-1]))
    return group[: counts[0]], found[0], found[1]
