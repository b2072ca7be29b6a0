"""Constraints in groups that share a pass over the masses: which ones, and the cells of each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._threads import Chunk, chunks_of
from purtensor._typing import IntArray
from purtensor.kernels.ipf.grouped_sweeps import Groups
from purtensor.kernels.ipf.layouts import find_pattern, join_codes, replace_joint
from purtensor.kernels.ipf.steps import COPIES, FEW_ROWS, is_crowded
from purtensor.kernels.simd import WIDTH
from purtensor.solving.problem import Problem
from purtensor.tables.grouping import smallest_unsigned

SMALLEST = 1 << 12
"""Fewer profiles are swept in less time than it takes to find groups."""

MOST_CELLS = 1 << 14
"""The sums and factors of so many cells fit the second cache."""

MOST_OCTETS = 1 << 7
"""The sums and factors of so many octets fit the first cache."""

PROFILES_PER_CELL = 64
"""A table with so many profiles a cell costs little beside a pass over them."""

OCTETS_PER_CELL = 256
"""The same where a pass takes eight profiles at a time."""

SUMS_PER_PROFILE = 0.5
"""So many sums of a group, those of all chunks counted, a profile: with more a pass reads sums rather than masses."""

_MOST_PAIRS = 1 << 22
"""More pairs of joint rows and rows are not listed."""

IN_CHUNKS = {1: (1 << 19, 1 << 18), WIDTH: (1 << 22, 1 << 20)}
"""For each width from how many profiles on passes are made in chunks, which threads share, and how large those are."""

_SECONDS_PER_UNIT = 2.2e-9
"""Of one unit, of one profile or eight, and one group."""


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Groups of constraints for one problem and one order.

    Attributes
    ----------
    groups
        The kernels' own tuple.
    width
        The profiles of a unit: 8 or 1.
    chunks
        Ranges of units that threads can work on side by side; one where the problem is small.
    """

    groups: Groups
    width: int
    chunks: tuple[Chunk, ...]

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(self.groups.sizes)

    @property
    def sweep_arithmetic(self) -> float:
        """The estimated seconds of a sweep's arithmetic."""
        return _SECONDS_PER_UNIT * self.count * self.chunks[-1][1]


def merge_constraints(problem: Problem, order: tuple[int, ...]) -> Merged | None:
    """Return the groups for sweeps in this order, None where merging gains nothing; kept while the system lives."""
    return problem.system.remember(("layout", "groups", order), lambda: _build(problem, order))


def _build(problem: Problem, order: tuple[int, ...]) -> Merged | None:
    profiles = len(problem.reference)
    if profiles < SMALLEST:
        return None
    patterns = _patterns(problem)
    width = 1 if patterns is None else WIDTH
    units = profiles // width
    found = _group(
        problem,
        order,
        width,
        min(MOST_CELLS, units // PROFILES_PER_CELL) if patterns is None else min(MOST_OCTETS, units // OCTETS_PER_CELL),
    )
    # every constraint alone: nothing is gained over plain sweeps
    if width == 1 and len(found) == len(order):
        return None
    smallest, per_chunk = IN_CHUNKS[width]
    chunks = chunks_of(units, per_chunk // width if profiles >= smallest else units)
    if len(chunks) * width * max(group.size for group in found) > SUMS_PER_PROFILE * profiles:
        return None
    return Merged(_as_groups(found, patterns), width, chunks)


def _patterns(problem: Problem) -> list[IntArray] | None:
    """Return for each constraint the rows of the eight profiles that each row begins; None if unknown."""
    if len(problem.reference) % WIDTH:
        return None
    patterns = []
    for row, size in zip(problem.index, np.diff(problem.offsets), strict=True):
        pattern = np.empty((size, WIDTH), dtype=np.int32)
        if not find_pattern(row, pattern):
            return None
        patterns.append(pattern)
    return patterns


@dataclass(slots=True, eq=False)
class _Group:
    """Constraints whose joint rows are few: the joint row of each unit, and each joint row's in every constraint."""

    joint: IntArray
    size: int
    rows: dict[int, IntArray]

    def take_in(self, k: int, code: IntArray, size: int, most: int, number: IntArray) -> bool:
        """Add a constraint unless there would be more than `most` joint rows; return whether it was added."""
        # more pairs than `number` has room for would take long to clear at every constraint
        if self.size * size > len(number):
            return False
        found = join_codes(self.joint, self.size, code, size, most, number)
        if found < 0:
            return False
        replace_joint(self.joint, code, size, number)
        # numbers ascend with the pairs, so these are the joint rows in their order
        before, own = np.divmod(np.flatnonzero(number[: self.size * size] >= 0), size)
        self.rows = {step: rows[before] for step, rows in self.rows.items()} | {k: own}
        self.size = found
        return True


def _group(problem: Problem, order: tuple[int, ...], width: int, most: int) -> list[_Group]:
    """Return the groups: each constraint joins the one before where that stays small."""
    sizes = np.diff(problem.offsets)
    number = np.empty(max(_MOST_PAIRS, int(sizes.max())), dtype=np.int32)
    groups: list[_Group] = []
    for k in order:
        # one code for eight profiles, where the first tells the rows of all
        code = np.ascontiguousarray(problem.index[k][::width])
        if not (groups and groups[-1].take_in(k, code, int(sizes[k]), most, number)):
            alone = _Group(np.zeros(len(code), dtype=np.int32), 1, {})
            alone.take_in(k, code, int(sizes[k]), len(code), number)
            groups.append(alone)
    return groups


def _as_groups(found: list[_Group], patterns: list[IntArray] | None) -> Groups:
    sizes = np.array([group.size for group in found])
    steps = np.array([k for group in found for k in group.rows])
    if patterns is None:
        lanes = np.ones(len(found), dtype=np.int64)
        rows = [rows for group in found for rows in group.rows.values()]
    else:
        in_lanes = [{k: patterns[k][rows] for k, rows in group.rows.items()} for group in found]
        # rows that all eight profiles share take one sum instead of eight
        lanes = np.array([1 if all(np.all(r == r[:, :1]) for r in own.values()) else WIDTH for own in in_lanes])
        rows = [r[:, :n].reshape(-1) for own, n in zip(in_lanes, lanes, strict=True) for r in own.values()]
    code = np.array([group.joint for group in found], dtype=smallest_unsigned(int(sizes.max())))
    # few sums that are often hit in a row: copies keep additions from waiting for each other
    copies = [COPIES if size <= FEW_ROWS and is_crowded(own) else 1 for size, own in zip(sizes, code, strict=True)]
    return Groups(
        code=code,
        sizes=sizes,
        lanes=lanes,
        step_ptr=_begins([len(group.rows) for group in found]),
        steps=steps,
        row_ptr=_begins([len(own) for own in rows]),
        rows=np.concatenate(rows).astype(np.int32),
        copies=np.array(copies),
    )


def _begins(counts: list[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)])
