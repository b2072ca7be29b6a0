"""Constraints named by themselves, or by their positions."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from purtensor._options import items_of
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InvalidOptionError


def soft_positions(constraints: Sequence[Marginal], soft: Any) -> tuple[int, ...]:
    """Return the positions of the constraints that `soft` names, ascending: one or more Marginals or positions.

    Raises
    ------
    InvalidOptionError
        What is not a constraint of these, or nothing at all.
    """
    several = None if isinstance(soft, Marginal | str) else items_of(soft)
    named = [soft] if several is None else several
    positions = {_position(constraints, item) for item in named}
    if not positions:
        raise InvalidOptionError(
            f"soft names no constraint; give constraints or their positions from 0 to {len(constraints) - 1}"
        )
    return tuple(sorted(positions))


def _position(constraints: Sequence[Marginal], item: Any) -> int:
    if isinstance(item, Marginal):
        # by identity: two constraints may have equal targets
        found = [k for k, constraint in enumerate(constraints) if constraint is item]
        if not found:
            raise InvalidOptionError(f"{item!r} in soft is not one of the constraints; pass the same object")
        return found[0]
    try:
        position = index(item)
    except TypeError:
        position = -1
    if isinstance(item, bool) or not 0 <= position < len(constraints):
        raise InvalidOptionError(
            f"soft must name constraints by themselves or by position from 0 to {len(constraints) - 1}, got {item!r}"
        )
    return position
