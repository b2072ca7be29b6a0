"""The options of iterative proportional fitting, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from purtensor._options import is_count, is_number, items_of
from purtensor._typing import IntArray
from purtensor.errors import InvalidOptionError


def check_order(order: Any) -> tuple[int, ...] | None:
    """Return the positions of the constraints as a tuple."""
    if order is None:
        return None
    if not _are_positions(order):
        raise InvalidOptionError(f"order must be the positions of the constraints, such as (2, 0, 1), got {order!r}")
    return tuple(int(position) for position in order)


def check_relaxation(relaxation: Any, acceleration: Any) -> float | Literal["auto"]:
    """Return the exponent of a step, or "auto", which excludes acceleration."""
    if isinstance(relaxation, str) and relaxation == "auto":
        if acceleration is not None:
            raise InvalidOptionError("relaxation='auto' cannot be combined with acceleration: give a number")
        return "auto"
    if not (is_number(relaxation) and 0.0 < relaxation < 2.0):
        raise InvalidOptionError(f"relaxation must be 'auto' or an exponent in (0, 2), 1 for none, got {relaxation!r}")
    return float(relaxation)


def check_acceleration(depth: Any) -> int | Literal["anderson"] | None:
    """Return how many earlier sweeps an extrapolation uses."""
    if depth is None:
        return None
    if isinstance(depth, str) and depth == "anderson":
        return "anderson"
    if not (is_count(depth) and depth >= 1):
        raise InvalidOptionError(
            f"acceleration must be None, 'anderson', or how many earlier sweeps to use, at least 1, got {depth!r}"
        )
    return int(depth)


def check_blocks(blocks: Any) -> tuple[tuple[int, ...], ...] | Literal["auto"] | None:
    """Return the groups of positions of constraints as tuples."""
    if blocks is None:
        return None
    if isinstance(blocks, str) and blocks == "auto":
        return "auto"
    groups = items_of(blocks)
    if not groups or not all(_are_positions(group) and len(group) for group in groups):
        raise InvalidOptionError(
            f"blocks must be 'auto' or groups of positions of constraints, such as [(0,), (1, 2)], got {blocks!r}"
        )
    return tuple(tuple(int(k) for k in group) for group in groups)


def order_of(order: Sequence[int] | None, constraints: int) -> IntArray:
    """Return the order of the sweep over so many constraints, which an order given must be a permutation of."""
    if order is None:
        return np.arange(constraints)
    if sorted(order) != list(range(constraints)):
        raise InvalidOptionError(
            f"order must be a permutation of 0 .. {constraints - 1}, one number per constraint, got {tuple(order)}"
        )
    return np.array(order, dtype=np.int64)


def _are_positions(order: object) -> bool:
    if isinstance(order, np.ndarray):
        order = order.tolist()  # of no axis, a number
    return isinstance(order, Sequence) and not isinstance(order, str | bytes) and all(map(is_count, order))
