"""Unbiased rounding under two chains of constraints, as a flow.

The total flows from a source through the rows of the first chain, from small scopes to large ones, over the profiles
to the rows of the second chain, and through them, from large scopes to small ones, into a sink. Every sum that is to be
rounded is what one edge carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import IntArray
from purtensor.kernels.engine import engine_for
from purtensor.kernels.sampling.rounding import round_flow
from purtensor.sampling.fixed_point import FixedPoint, Units

_STEPS_AT_A_TIME = 1_000_000

_SLOWER = 300
"""An edge takes plain Python as long as numpy takes so many profiles."""


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    tail: IntArray
    head: IntArray
    fraction: Units
    nodes: int


def round_along_chains(
    masses: FixedPoint, index: Sequence[IntArray], rows: Sequence[int], chains: Chains, rng: np.random.Generator
) -> Units:
    """Return whole numbers, each at most one from its mass, with its mean, and so for every sum of the two chains.

    Parameters
    ----------
    masses
        What each profile has; the sum is whole.
    index, rows
        For each constraint the row of every profile, and the number of rows.
    chains
        Two lists of constraints, each from the smallest scope to the largest.
    """
    edges = _edges(masses, index, rows, chains)
    ends = np.concatenate([edges.tail, edges.head])
    # every edge stands twice among the ends, len(tail) places apart
    incident = np.argsort(ends, kind="stable") % len(edges.tail)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=edges.nodes))])
    begin, end = bounds[:-1], bounds[1:].copy()
    chances = rng.random(len(edges.tail))
    start = used = 0
    with engine_for(_SLOWER * len(edges.tail)):
        while start < len(edges.tail):
            start, used = round_flow(
                edges.tail,
                edges.head,
                edges.fraction,
                masses.one,
                begin,
                end,
                incident,
                chances,
                start,
                used,
                _STEPS_AT_A_TIME,
            )
    # profiles are the first edges; a fraction is now 0 or one
    return masses.whole() + (edges.fraction[: len(masses.units)] >> masses.bits)


def _edges(masses: FixedPoint, index: Sequence[IntArray], rows: Sequence[int], chains: Chains) -> _Edges:
    source, sink, nodes = 0, 1, 2
    ends: list[IntArray] = []
    tails, heads, fractions = [], [], [masses.fraction()]
    # mass flows from the source through the rows of one chain to the profiles, and through the other to the sink
    for chain, outer, outwards in ((chains[0], source, True), (chains[1], sink, False)):
        reached = np.full(len(masses.units), outer, dtype=np.int64)
        for k in chain:
            inner = nodes + np.arange(rows[k])
            nodes += rows[k]
            before = np.full(rows[k], outer, dtype=np.int64)
            # scopes are nested, so that the profiles of a row all come from one row of the scope before
            before[index[k]] = reached
            tails.append(before if outwards else inner)
            heads.append(inner if outwards else before)
            fractions.append(masses.sum_groups(index[k], rows[k]).fraction())
            reached = inner[index[k]]
        ends.append(reached)
    return _Edges(
        np.concatenate([ends[0], *tails]), np.concatenate([ends[1], *heads]), np.concatenate(fractions), nodes
    )


Chains = tuple[list[int], list[int]]


def two_chains(scopes: Sequence[frozenset[str]], weights: Sequence[int]) -> Chains:
    """Return constraints of two chains, each from the smallest scope to the largest; heavy constraints come first.

    Scopes that are nested in one another can share a chain, so two chains are a colouring in two colours of the graph
    that joins scopes that are not nested. When there is none for all constraints, those are left out, lightest first,
    that would close an odd cycle.
    """
    taken: list[int] = []
    colours: dict[int, int] = {}
    for candidate in sorted(range(len(scopes)), key=lambda k: -weights[k]):
        found = _colouring([*taken, candidate], scopes)
        if found is not None:
            taken.append(candidate)
            colours = found
    chains: Chains = ([], [])
    for k in sorted(taken, key=lambda k: len(scopes[k])):
        chains[colours[k]].append(k)
    return chains


def _colouring(members: Sequence[int], scopes: Sequence[frozenset[str]]) -> dict[int, int] | None:
    colours: dict[int, int] = {}
    for start in members:
        if start in colours:
            continue
        colours[start] = 0
        waiting = [start]
        while waiting:
            k = waiting.pop()
            for other in members:
                if scopes[k] <= scopes[other] or scopes[other] <= scopes[k]:
                    continue
                if other not in colours:
                    colours[other] = 1 - colours[k]
                    waiting.append(other)
                elif colours[other] == colours[k]:
                    return None
    return colours
