"""Explain a contradiction between rows and bounds: the values that rows can reach, compared with their targets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from purtensor._typing import FloatArray
from purtensor.feasibility.row_programs import reach
from purtensor.solving.dual.question import Question

_MISSED = 1e-9
_NAMED = 5
_TRIED = 40


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
        reached = side * _largest(side * own, question)
        if side * (target - reached) > _MISSED * question.total:
            found.append(say_reach(question.row_name(row), reached, target))
        columns, asked = columns + own, asked + target
    sides = {y for y in ray if y != 0}
    # weights of one size and sign make a plain sum, which words can name
    if found or len(sides) != 1:
        return found
    side = 1.0 if sides.pop() > 0 else -1.0
    together = side * _largest(side * columns, question)
    names = [question.row_name(row) for row in used]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return [say_reach(f"{', '.join(names[:8])}{more} together", together, asked)]


def _largest(coefficients: FloatArray, question: Question) -> float:
    """Return the most that a row comes to within the bounds."""
    used = np.flatnonzero(coefficients)
    ends = np.where(coefficients[used] > 0.0, question.upper[used], question.lower[used])
    return float(coefficients[used] @ ends)


def say_reach(name: str, reached: float, asked: float) -> str:
    """State which value a row can reach, and its target."""
    if reached < asked:
        return f"{name} can reach {reached:.6g}, target {asked:.6g}"
    return f"{name} cannot be less than {reached:.6g}, target {asked:.6g}"
