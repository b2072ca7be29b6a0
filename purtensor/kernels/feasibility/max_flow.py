"""Maximum flow with whole-number capacities, by blocking flows in layered networks (E. A. Dinitz, 1970).

Arc a leads to `head[a]` and can still carry `room[a]`; arc a ^ 1 is its reverse. The arcs out of node n are
`out[begin[n] : begin[n + 1]]`.
"""

from __future__ import annotations

from purtensor._typing import IntArray
from purtensor.kernels._jit import compiled


@compiled
def layers(
    head: IntArray, room: IntArray, begin: IntArray, out: IntArray, source: int, level: IntArray, queue: IntArray
) -> None:
    """Write each node's distance from the source along arcs with room, -1 where there is no way."""
    level[:] = -1
    level[source] = 0
    # breadth first: a level is the length of the shortest way
    queue[0] = source
    first, last = 0, 1
    while first < last:
        node = queue[first]
        first += 1
        for place in range(begin[node], begin[node + 1]):
            arc = out[place]
            if room[arc] > 0 and level[head[arc]] < 0:
                level[head[arc]] = level[node] + 1
                queue[last] = head[arc]
                last += 1


@compiled
def blocking_flow(
    head: IntArray,
    room: IntArray,
    begin: IntArray,
    out: IntArray,
    source: int,
    sink: int,
    level: IntArray,
    following: IntArray,
    path: IntArray,
    depth: int,
    steps: int,
) -> tuple[int, int, bool]:
    """Send flow along shortest ways until none is left, or so many steps are made; changes `room` in place.

    `following` is where each node's search goes on, and the first `depth` arcs of `path` lead from the source to where
    the search stands. They start as `begin` and 0, and go from one call to the next of the same layering.
    Returns the flow that was sent, the depth, and whether all is done.
    """
    sent = 0
    node = source if depth == 0 else head[path[depth - 1]]
    while steps > 0:
        steps -= 1
        # the least room along the path is sent, and the search goes on before the first arc that is full
        if node == sink:
            least = room[path[0]]
            for i in range(1, depth):
                least = min(least, room[path[i]])
            sent += least
            back = depth
            for i in range(depth - 1, -1, -1):
                room[path[i]] -= least
                # what was sent may be sent back along the reverse arc
                room[path[i] ^ 1] += least
                if room[path[i]] == 0:
                    back = i
            depth = back
            node = head[path[depth] ^ 1]
            continue
        if following[node] < begin[node + 1]:
            arc = out[following[node]]
            if room[arc] > 0 and level[head[arc]] == level[node] + 1:
                path[depth] = arc
                depth += 1
                node = head[arc]
            else:
                # this arc leads nowhere in this layering, now or later
                following[node] += 1
        elif depth > 0:
            depth -= 1
            node = head[path[depth] ^ 1]
            following[node] += 1
        else:
            return sent, depth, True
    return sent, depth, False
