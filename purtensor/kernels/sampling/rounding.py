"""Unbiased rounding of a flow: fractions on the edges of a graph become whole, in and out stay equal at each node."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def next_edge(
    node: int, came_by: int, fraction: IntArray, one: int, begin: IntArray, end: IntArray, incident: IntArray
) -> int:
    """Return a fractional edge at the node other than the one it was reached by, or -1; forget whole ones for good."""
    place = begin[node]
    while place < end[node]:
        edge = incident[place]
        if fraction[edge] == 0 or fraction[edge] == one:
            end[node] -= 1
            # the last edge takes the place of a whole one: each is dropped once in the whole run
            incident[place] = incident[end[node]]
        elif edge == came_by:
            place += 1
        else:
            return int(edge)
    return -1


@compiled
def shift_cycle(
    edges: IntArray, forward: IntArray, first: int, last: int, fraction: IntArray, one: int, chance: float
) -> None:
    """Move a cycle up or down until an edge is whole, with the chances that keep every mean."""
    up = one
    down = one
    for i in range(first, last):
        value = fraction[edges[i]]
        if forward[i] == 1:
            up = min(up, one - value)
            down = min(down, value)
        else:
            up = min(up, value)
            down = min(down, one - value)
    # up with probability down / (up + down): every mean stays
    step = up if chance * (up + down) < down else -down
    for i in range(first, last):
        fraction[edges[i]] += step * forward[i]


@compiled
def round_flow(
    tail: IntArray,
    head: IntArray,
    fraction: IntArray,
    one: int,
    begin: IntArray,
    end: IntArray,
    incident: IntArray,
    chances: FloatArray,
    start: int,
    used: int,
    steps: int,
) -> tuple[int, int]:
    """Round the fractions in place to 0 or `one`, each keeping its mean, starting with the edge `start`.

    A walk along fractional edges must close a cycle, for no node has a single one: in minus out is whole. A cycle is
    shifted up or down at random until one of its edges is whole (L. H. Cox, J. Amer. Statist. Assoc. 82, 1987,
    520-524).

    Parameters
    ----------
    tail, head
        The nodes of each edge.
    fraction
        What each edge carries beyond its whole part, in units of 1 / one, from 0 to one; changed in place.
    begin, end, incident
        The edges at each node are incident[begin[node]:end[node]]; whole ones are taken out, in place.
    chances
        Uniform random numbers, one an edge; `used` of them are spent.
    steps
        After so many steps of the walk, and those that close the cycle, the function returns.

    Returns
    -------
    The edge to start with next (their number when all is whole), and how many chances are spent.
    """
    nodes = begin.size
    place = np.full(nodes, -1, dtype=np.int64)
    path = np.empty(nodes + 1, dtype=np.int64)
    edges = np.empty(nodes + 1, dtype=np.int64)
    forward = np.empty(nodes + 1, dtype=np.int64)
    for root_edge in range(start, tail.size):
        if fraction[root_edge] == 0 or fraction[root_edge] == one:
            continue
        depth = 0
        path[0] = tail[root_edge]
        place[path[0]] = 0
        while True:
            node = path[depth]
            edge = next_edge(node, edges[depth - 1] if depth else -1, fraction, one, begin, end, incident)
            if edge < 0:
                break
            steps -= 1
            edges[depth] = edge
            forward[depth] = 1 if tail[edge] == node else -1
            other = head[edge] if tail[edge] == node else tail[edge]
            if place[other] < 0:
                depth += 1
                path[depth] = other
                place[other] = depth
                continue
            first = place[other]
            shift_cycle(edges, forward, first, depth + 1, fraction, one, chances[used])
            used += 1
            for i in range(first + 1, depth + 1):
                # nodes of the cycle leave the path: the walk goes on from where the cycle began
                place[path[i]] = -1
            depth = first
            if steps <= 0:  # only now: a walk that is given up before its cycle is for nothing
                break
        for i in range(depth + 1):
            place[path[i]] = -1
        if steps <= 0:
            return root_edge, used
    return tail.size, used
