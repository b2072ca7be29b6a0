"""Parity, utility and realism with two responses as a maximum flow, and its minimum cut as the contradiction.

The mass of one response at each x flows to the protected profiles s: no more than f(s, x) fits between x and s, and
parity wants f(y) f(s) to arrive at s. What cannot be sent is the deficit: both responses miss it at two protected
profiles each, so the smallest L1 violation of parity is four times as large (notes/feasibility.md, equation 7).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.system import System, group_rows, joint_groups
from purtensor.feasibility.targets import ExactTargets
from purtensor.kernels.feasibility.max_flow import blocking_flow, layers

# capacities stay below, so that sums of two fit int64
_LARGEST = 2**61
_STEPS = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Triangle:
    """Three constraints over two of three groups of attributes each, (y, s), (y, x) and (s, x), whatever these are.

    Attributes
    ----------
    parity, utility, realism
        Constraint numbers; parity is the one whose groups are independent, else the one of the fewest rows.
    response, protected
        The attributes that parity shares with utility, and with realism.
    """

    parity: int
    utility: int
    realism: int
    response: tuple[str, ...]
    protected: tuple[str, ...]


def triangle_of(system: System) -> Triangle | None:
    """Return the three groups of attributes that three constraints pair, else None; a binary group is the response."""
    if len(system.scopes) != 3:
        return None
    rows = np.diff(system.offsets)
    scopes = [frozenset(scope) for scope in system.scopes]
    found: list[tuple[bool, bool, int, Triangle]] = []
    for parity, utility, realism in itertools.permutations(range(3)):
        response, protected = scopes[parity] & scopes[utility], scopes[parity] & scopes[realism]
        key = scopes[utility] & scopes[realism]
        apart = not (response & protected or response & key or protected & key)
        if not (apart and response and protected and scopes[parity] == response | protected):
            continue
        if scopes[utility] != response | key or scopes[realism] != protected | key:
            continue
        names = tuple(name for name in system.scopes[parity] if name in response)
        others = tuple(name for name in system.scopes[parity] if name in protected)
        triangle = Triangle(parity, utility, realism, names, others)
        apart = _is_independent(system, parity, names)
        found.append((not apart, _responses(system, triangle) is None, int(rows[parity]), triangle))
    return min(found, key=lambda entry: entry[:3])[3] if found else None


def is_binary(system: System, triangle: Triangle) -> bool:
    """Return whether there are two responses."""
    return _responses(system, triangle) is not None


def _is_independent(system: System, k: int, names: tuple[str, ...]) -> bool:
    """Return whether the target of a constraint is the product of its marginals over `names` and over the others."""
    shares = system.targets[system.block(k)] / system.targets[system.block(k)].sum()
    product = np.ones(len(shares))
    for part in (names, tuple(name for name in system.scopes[k] if name not in names)):
        group, _ = group_rows(system, [k], part)
        product *= np.bincount(group, weights=shares)[group]
    return bool(np.all(np.abs(product - shares) <= 1e-9 * shares))


def _responses(system: System, triangle: Triangle) -> tuple[BoolArray, BoolArray] | None:
    """Return the rows of the rarer response in parity and in utility as masks; None where there are not two of them."""
    group, (rows, _) = joint_groups(system, (triangle.parity, triangle.utility), triangle.response)
    if group.max() != 1:
        return None
    block = system.block(triangle.parity)
    masses = np.bincount(group[:rows], weights=system.targets[block], minlength=2)
    chosen = group == int(np.argmin(masses))
    return chosen[:rows], chosen[rows:]


def minimum_cut(system: System, targets: ExactTargets, triangle: Triangle) -> IntArray | None:
    """Return the cut that the maximum flow leaves; None where the response is not binary, or has profiles of its own.

    It is given by its weights -1, 0 and 1 on all rows: b.t is minus the share of the mass that cannot be sent.

    Capacities are the targets' whole numbers, rounded to 61 bits where they are larger; the cut is judged exactly.
    """
    masks = _responses(system, triangle)
    if masks is None:
        return None
    sent = masks[1][system.index[triangle.utility]]
    realism = system.index[triangle.realism].astype(np.int64)
    rows = system.block(triangle.realism).stop - system.block(triangle.realism).start
    carries, other = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool)
    carries[realism[sent]] = True
    other[realism[~sent]] = True
    # where no other response occurs the arc's mass is fixed, not only capped
    if np.any(carries & ~other):
        return None
    tails, heads = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    tails[realism[sent]] = system.index[triangle.utility][sent]
    heads[realism[sent]] = system.index[triangle.parity][sent]
    arcs = np.flatnonzero(carries)
    from_x, to_s = _reach(system, targets, triangle, masks, arcs, tails[arcs], heads[arcs])
    weights = np.zeros(system.rows, dtype=np.int64)
    # the mass of x on the source's side has to go to the s reached there, or through the arcs that are cut
    weights[system.block(triangle.utility)][from_x] = -1
    weights[system.block(triangle.parity)][to_s] = 1
    weights[system.block(triangle.realism)][arcs[from_x[tails[arcs]] & ~to_s[heads[arcs]]]] = 1
    return weights


def balance(system: System, triangle: Triangle, cut: IntArray) -> IntArray | None:
    """Return weights of -1 and 1 on all rows of parity with the same C^T t and b.t as four times the cut's weights.

    They prove that parity is violated by four times the deficit: no row of it can give more than its own miss.
    """
    masks = _responses(system, triangle)
    if masks is None:
        return None
    parity, utility, realism = (system.block(k) for k in (triangle.parity, triangle.utility, triangle.realism))
    group, (rows, _) = joint_groups(system, (triangle.parity, triangle.realism), triangle.protected)
    full = np.zeros(int(group.max()) + 1, dtype=bool)
    full[group[:rows][cut[parity] > 0]] = True
    weights = 4 * cut
    weights[parity] -= 2 * full[group[:rows]] + np.where(masks[0], 1, -1)
    weights[realism] += 2 * full[group[rows:]]
    weights[utility] += np.where(masks[1], 1, -1)
    return weights


def _reach(
    system: System,
    targets: ExactTargets,
    triangle: Triangle,
    masks: tuple[BoolArray, BoolArray],
    arcs: IntArray,
    tails: IntArray,
    heads: IntArray,
) -> tuple[BoolArray, BoolArray]:
    """Return the rows of utility and of parity on the source's side of the minimum cut."""
    demand, supply = (np.flatnonzero(mask) for mask in masks)
    node_x, node_s = np.zeros(len(masks[1]), np.int64), np.zeros(len(masks[0]), np.int64)
    node_x[supply] = 1 + np.arange(len(supply))
    node_s[demand] = 1 + len(supply) + np.arange(len(demand))
    sink = 1 + len(supply) + len(demand)
    # lower bits are cut off for the search only: the deficit of its cut is summed from the whole numbers
    bits = max(0, int(targets.denominator).bit_length() - _LARGEST.bit_length())
    numbers = [
        (targets.numerators[system.block(k)][rows] >> bits).astype(np.int64)
        for k, rows in ((triangle.utility, supply), (triangle.realism, arcs), (triangle.parity, demand))
    ]
    start = np.concatenate([np.zeros(len(supply), np.int64), node_x[tails], node_s[demand]])
    end = np.concatenate([node_x[supply], node_s[heads], np.full(len(demand), sink)])
    level = _maximum_flow(start, end, np.concatenate(numbers), sink)
    from_x, to_s = np.zeros(len(node_x), dtype=bool), np.zeros(len(node_s), dtype=bool)
    from_x[supply] = level[node_x[supply]] >= 0
    to_s[demand] = level[node_s[demand]] >= 0
    return from_x, to_s


def _maximum_flow(start: IntArray, end: IntArray, capacity: IntArray, sink: int) -> IntArray:
    """Return the last layering of a maximum flow from node 0: -1 beyond the minimum cut."""
    nodes = sink + 1
    tail = np.stack([start, end], axis=1).reshape(-1)
    head = np.stack([end, start], axis=1).reshape(-1)
    # arcs and their reverses alternate, so that arc a and a ^ 1 belong together
    room = np.stack([capacity, np.zeros_like(capacity)], axis=1).reshape(-1)
    out = np.argsort(tail, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=nodes))])
    level, queue = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    path = np.empty(nodes, dtype=np.int64)
    while True:
        layers(head, room, begin, out, 0, level, queue)
        # no path is left: what the source still reaches is its side of the minimum cut (Dinitz, 1970)
        if level[sink] < 0:
            return level
        following = begin[:-1].copy()
        depth, done = 0, False
        while not done:
            # in portions of _STEPS, so that Ctrl-C is heard between them
            _, depth, done = blocking_flow(head, room, begin, out, 0, sink, level, following, path, depth, _STEPS)
