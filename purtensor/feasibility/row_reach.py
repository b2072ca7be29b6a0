"""How far rows of any kind reach, in numbers and in words.

By the bounds and the total alone it takes one pass, and what is out of reach needs no program; how far a row of a
contradiction reaches while all other rows are met takes a linear program each.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.feasibility.linear_programs import reach
from purtensor.solving.dual.question import Question

_MISSED = 1e-9
_LARGEST = 2 * 10**7
"""Up to so many coefficients, zeros included, rows are examined one by one."""

_NAMED = 5
_TRIED = 40


@dataclass(frozen=True, slots=True, eq=False)
class OutOfReach:
    """A row whose target cannot be reached because of bounds and total.

    Attributes
    ----------
    row, side
        The row; 1 where it cannot come up to its lower end, -1 where it cannot come down to its upper one.
    reach
        What it comes to at most, or at least.
    weights
        Shape (rows,): the row, and the rows of the total, as they are to be combined to refute the question.
    """

    row: int
    side: int
    reach: float
    weights: FloatArray


def out_of_reach(question: Question) -> list[OutOfReach]:
    """Return the hard rows that cannot be met alone, the furthest from what it can reach first.

    They are all of one kind: those that fall short, unless those that cannot come down are much further off.
    """
    c = question.coefficients
    if not question.hard.any() or c.shape[0] * c.shape[1] > _LARGEST:
        return []
    totals = total_weights(question)
    total = None if totals is None else float(totals @ np.where(totals != 0.0, question.row_lower, 0.0))
    found: list[tuple[float, OutOfReach]] = []
    for row in np.flatnonzero(question.hard).tolist():
        # rows without cells are refused, with a better message, where the question is prepared
        if not np.diff(c.indptr)[row]:
            continue
        values = c[[row]].toarray().reshape(-1)
        for side, asked in ((1, question.row_lower[row]), (-1, question.row_upper[row])):
            if not np.isfinite(asked):
                continue
            most, level = _most(side * values, question.lower, question.upper, total)
            lack = (side * asked - most) / (np.abs(values).max() * question.total)
            if lack > _MISSED:
                weights = np.zeros(question.rows)
                weights[row] = side
                if totals is not None:
                    weights -= level * totals
                found.append((lack, OutOfReach(row, side, side * most, weights)))
    largest = max((lack for lack, _ in found), default=0.0)
    far = {one.side for lack, one in found if lack > 0.5 * largest}
    found.sort(key=lambda pair: -pair[0])
    return [one for _, one in found if one.side == max(far)]


def total_weights(question: Question) -> FloatArray | None:
    """Return weights of hard equalities that sum up to the total of all cells; None where no constraint fixes it."""
    weights = np.zeros(question.rows)
    cells = len(question.reference)
    for k, block in enumerate(question.blocks):
        own = question.block(k)
        if block.softness is not None or not block.equalities.all():
            continue
        if block.is_marginal and question.signs is None:
            weights[own] = 1.0
            return weights
    hard_equal = question.hard & (question.row_lower == question.row_upper)
    c = question.coefficients
    for row in np.flatnonzero(hard_equal).tolist():
        data = c.data[c.indptr[row] : c.indptr[row + 1]]
        if len(data) == cells and data[0] > 0.0 and np.all(data == data[0]):
            weights[row] = 1.0 / data[0]
            return weights
    return None


def _most(values: FloatArray, lower: FloatArray, upper: FloatArray, total: float | None) -> tuple[float, float]:
    """Return the most that a sum of values comes to within the bounds, and the value at which the total ends it.

    Cells are filled up in the order of their values; without a total, up to those of value 0.
    """
    with np.errstate(invalid="ignore"):
        # without the total every cell goes to the bound that helps: this bounds the sum with a total, too
        gains = np.where(values > 0.0, values * upper, np.where(values < 0.0, values * lower, 0.0))
    alone = float(gains.sum()), 0.0
    if total is None:
        return alone
    order: IntArray = np.argsort(-values, kind="stable")
    room = (upper - lower)[order]
    left = total - float(lower.sum())
    last = int(np.searchsorted(np.cumsum(room), left))
    if last >= len(values) or not left >= 0.0:  # the total itself is out of reach
        return alone
    # the price of the total: cells of larger values are full, those of smaller ones at their lower bounds
    level = float(values[order[last]])
    before = order[:last]
    most = float(values @ lower) + float(values[before] @ room[:last])
    return min(alone, (most + level * (left - float(room[:last].sum())), level))


def explain_conflict(question: Question, ray: tuple[Fraction, ...], misses: FloatArray) -> str:
    """Return in words how far rows of the contradiction can reach while all other hard rows are met.

    The rows that miss something where the sum of `misses` is the least are examined first.
    """
    hard = np.flatnonzero(question.hard)
    used = [row for row, y in enumerate(ray) if y != 0]
    missing = np.flatnonzero(np.abs(misses) > _MISSED * question.total).tolist()
    # the row is short where it is weighted upward, or missed from below
    sides = {row: 1 if ray[row] > 0 else -1 for row in used} | {row: 1 if misses[row] < 0 else -1 for row in missing}
    short: list[str] = []
    over: list[str] = []
    # each takes a linear program
    for row in [*missing, *(row for row in used if row not in missing)][:_TRIED]:
        side = sides[row]
        reached = reach(question, hard, row, side)
        if reached is None:
            continue
        asked = question.row_lower[row] if side > 0 else question.row_upper[row]
        if side * (asked - reached) > _MISSED * question.total:
            (short if side > 0 else over).append(say_reach(question.row_name(row), reached, float(asked)))
    found = short + over or _explain_by_bounds(question, ray)
    if found:
        return "; ".join(found[:_NAMED])
    more = f" and {len(used) - 8} more" if len(used) > 8 else ""
    names = ", ".join(question.row_name(row) for row in used[:8]) + more
    return f"these rows contradict each other: {names}"


def _explain_by_bounds(question: Question, ray: tuple[Fraction, ...]) -> list[str]:
    """Return in words what bounds alone leave to each row of the contradiction, or to all of them together."""
    found: list[str] = []
    asked = 0.0
    columns = np.zeros(len(question.reference))
    used = [row for row, y in enumerate(ray) if y != 0]
    for row in used:
        side = 1.0 if ray[row] > 0 else -1.0
        own = question.coefficients[[row]].toarray().reshape(-1)
        target = float(question.row_lower[row] if side > 0 else question.row_upper[row])
        reached = side * _most(side * own, question.lower, question.upper, None)[0]
        if side * (target - reached) > _MISSED * question.total:
            found.append(say_reach(question.row_name(row), reached, target))
        columns, asked = columns + own, asked + target
    sides = {y for y in ray if y != 0}
    # weights of one size and sign make a plain sum, which words can name
    if found or len(sides) != 1:
        return found
    side = 1.0 if sides.pop() > 0 else -1.0
    together = side * _most(side * columns, question.lower, question.upper, None)[0]
    names = [question.row_name(row) for row in used]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return [say_reach(f"{', '.join(names[:8])}{more} together", together, asked)]


def say_reach(name: str, reached: float, asked: float) -> str:
    """State which value a row can reach, and its target."""
    if reached < asked:
        return f"{name} can reach {reached:.6g}, target {asked:.6g}"
    return f"{name} cannot be less than {reached:.6g}, target {asked:.6g}"
