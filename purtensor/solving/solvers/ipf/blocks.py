"""Block-exact iterative proportional fitting: exact projections on groups of constraints, one group after the other.

The projection on a group is separable over the attributes that its scopes share: slab by slab it is a small problem,
solved by Newton's method whose equations have no coupling rows (notes/block_ipf.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.slabs import in_slab_order
from purtensor.constraints.system import System
from purtensor.solving.chunked import rebuild
from purtensor.solving.convergence.friedrichs import pair_spectrum
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.iterate import Iterate, Record, Step, dual_at, residual_of
from purtensor.solving.problem import Problem

_CLOSE = 0.5
"""Groups are merged while the squared cosine between them is above this: below, alternating needs a few sweeps only."""

_MOST_WORK = 3e8
"""Operations that one inner Newton step may take on the slabs of a merged group."""

_MOST_INNER = 60

_INNER = 2.0**-46
"""The L1 miss, of a total mass of 1, at which a group counts as met exactly."""


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A group of several constraints as a problem of its own, whose profiles lie slab by slab.

    Attributes
    ----------
    problem
        Its reference is none: every projection starts from other masses.
    order
        Where its profiles stand among those of the whole problem.
    rows
        Its rows among those of the whole problem.
    """

    problem: Problem
    order: IntArray
    rows: IntArray

    @classmethod
    def of(cls, problem: Problem, block: Sequence[int]) -> _Group:
        """Return the group of these constraints."""
        own, rows = problem.system.of_constraints(block)
        arranged, slabs, order = in_slab_order(own)
        logs = None if problem.log_reference is None else problem.log_reference[order]
        inner = Problem(problem.reference[order], arranged, problem.total, slabs, log_reference=logs)
        hessian_of(inner)  # built now, once for all sweeps
        return cls(inner, order, rows)


@dataclass(slots=True, eq=False)
class BlockState:
    """What block-exact sweeps remember: their blocks, what projects on each, and what that has cost.

    Attributes
    ----------
    widest
        For each block its constraint whose scope contains the others' scopes; -1 where there is none.
    outer, inner
        The sweeps, and the Newton steps inside of them.
    """

    blocks: tuple[tuple[int, ...], ...]
    widest: tuple[int, ...]
    groups: tuple[_Group | None, ...]
    outer: int = 0
    inner: int = 0

    @classmethod
    def of(cls, problem: Problem, blocks: Sequence[Sequence[int]]) -> BlockState:
        """Return the state before the first sweep."""
        widest = tuple(_widest(problem.system, block) for block in blocks)
        groups = [_Group.of(problem, block) if wide < 0 else None for block, wide in zip(blocks, widest, strict=True)]
        return cls(tuple(map(tuple, blocks)), widest, tuple(groups))

    @property
    def note(self) -> str:
        """The blocks, in words."""
        groups = " then ".join("{" + ", ".join(map(str, block)) + "}" for block in self.blocks)
        return f"exact projections on the constraints {groups}"


def _widest(system: System, block: Sequence[int]) -> int:
    """Return the constraint whose scope contains all others of its block, -1 where there is none."""
    scopes = [set(system.scopes[k]) for k in block]
    return next((k for k, own in zip(block, scopes, strict=True) if all(scope <= own for scope in scopes)), -1)


def block_step(problem: Problem, iterate: Iterate, state: BlockState) -> Step:
    """Return the iterate after one sweep of exact projections on the blocks of the state."""
    potentials, masses, gained, touches = iterate.potentials.copy(), iterate.masses, 0.0, 0
    for wide, group in zip(state.widest, state.groups, strict=True):
        if group is None:
            block = problem.system.block(wide)
            sums: FloatArray = np.bincount(problem.index[wide], masses, block.stop - block.start).astype(np.float64)
            change, gain = _scaling(problem.targets[block], sums)
            potentials[block] += change
        else:
            change, gain, steps = _projection(group, masses[group.order])
            potentials[group.rows] += change
            state.inner += steps
            touches += steps * len(group.problem.index) * len(masses)
        gained += gain
        # made of the potentials: sweeps in groups are few, so this costs little, and nothing drifts
        masses = rebuild(problem, potentials)
    state.outer += 1
    touches += len(problem.index) * len(masses)
    moved = Iterate(potentials, masses, state)
    residual = residual_of(problem, masses)
    gained /= problem.total
    record = Record(1, residual.largest, residual.l1, gained, dual_at(problem, moved))
    note = state.note if state.outer == 1 else ""
    return Step(moved, 1, (record,), note, judged=True, touches=touches)


def _scaling(targets: FloatArray, sums: FloatArray) -> tuple[FloatArray, float]:
    """Return log(target / sum), 0 for rows without mass, and what the dual gains by it: D(targets || sums)."""
    supported = sums > 0
    change, gain = np.zeros_like(targets), np.zeros_like(targets)
    relative = (targets[supported] - sums[supported]) / sums[supported]
    # log1p where target and sum are near, log where the quotient is small
    change[supported] = np.where(relative > -0.5, np.log1p(relative), np.log(targets[supported] / sums[supported]))
    near = np.abs(relative) < 1e-4  # the terms cancel to relative^2 / 2
    term = np.where(
        near, relative**2 * (0.5 - relative / 6.0 + relative**2 / 12.0), (1 + relative) * change[supported] - relative
    )
    gain[supported] = sums[supported] * term
    return change, float(gain.sum())


def _projection(group: _Group, masses: FloatArray) -> tuple[FloatArray, float, int]:
    """Return the potentials that project the masses on the group's constraints, the dual's gain, and the steps it took.

    The step length is one for all slabs: the first steps may be short, the last are quadratic in every slab.
    """
    from purtensor.solving.solvers.newton import best_step  # both sweep by IPF themselves, so they import this package
    from purtensor.solving.spaces.arrays import ArraySpace

    # potentials of 0 at the present masses: what is found is the change
    problem = replace(group.problem, reference=masses)
    space, gained = ArraySpace(problem), 0.0
    point = Iterate(np.zeros(problem.system.rows), masses)
    for steps in range(_MOST_INNER):
        residual_l1 = space.residual(point).l1
        found = None if residual_l1 <= _INNER else best_step(space, point, residual_l1)
        if found is None:  # met, or rounding leaves no better step
            return point.potentials, gained, steps
        point, gain = found
        gained += gain
    return point.potentials, gained, _MOST_INNER


def auto_blocks(problem: Problem, masses: FloatArray) -> tuple[tuple[int, ...], ...]:
    """Return constraints in groups: the closest two that share attributes are merged as long as it pays.

    Two groups are as close as the closest pair of their constraints; they are merged while the squared Friedrichs
    cosine of that pair exceeds 1/2, all scopes of the merged group share an attribute, and its slabs' equations take
    no more work than a budget.
    """
    system = problem.system
    groups: list[tuple[int, ...]] = [(k,) for k in range(len(system.scopes))]
    cosines = {}
    for pair in itertools.combinations(range(len(groups)), 2):
        # without a shared attribute there are no slabs to solve one by one
        if set(system.scopes[pair[0]]) & set(system.scopes[pair[1]]):
            spectrum = pair_spectrum(problem, masses, *pair, most_work=_MOST_WORK)
            if spectrum is not None:
                cosines[pair] = 1.0 - spectrum.gap
    while True:
        found = max(
            (
                (max(cosines.get((min(j, k), max(j, k)), 0.0) for j in one for k in other), one, other)
                for one, other in itertools.combinations(groups, 2)
                if _is_separable(system, one + other)
            ),
            default=(0.0, (), ()),
        )
        if found[0] <= _CLOSE:
            return tuple(groups)
        merged = tuple(sorted(found[1] + found[2]))
        groups = [group for group in groups if group not in found[1:]] + [merged]


def _is_separable(system: System, members: Sequence[int]) -> bool:
    """Return whether the constraints share attributes, over which their slabs' equations stay within the budget."""
    shared = set.intersection(*(set(system.scopes[k]) for k in members))
    if not shared:
        return False
    rows = sum(int(system.offsets[k + 1] - system.offsets[k]) for k in members)
    slabs = min(
        len(
            {
                *zip(
                    *(
                        codes
                        for name, codes in zip(system.scopes[k], system.row_codes[k], strict=True)
                        if name in shared
                    ),
                    strict=True,
                )
            }
        )
        for k in members[:1]
    )
    # Cholesky of every slab's rows
    return slabs * (rows / slabs) ** 3 / 3.0 <= _MOST_WORK
