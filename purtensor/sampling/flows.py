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
from purtensor.sampling.chains import Chains
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
