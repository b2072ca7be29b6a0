"""Which constraints a flow can carry: those whose scopes form two chains of nested scopes."""

from __future__ import annotations

from collections.abc import Sequence

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
