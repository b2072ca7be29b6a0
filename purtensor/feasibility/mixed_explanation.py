"""Why rows and bounds contradict each other, in words: how far rows can reach of what is asked of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.dual.question import Question

PROGRAM = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""Options of the linear programs behind verdicts."""
_MISSED = 1e-9


def explained(question: Question, hard: IntArray, ray: tuple[Fraction, ...], within: str) -> str:
    """Return in words how far rows of the contradiction can reach while all other hard rows are met."""
    used = [int(hard[k]) for k, y in enumerate(ray) if y != 0]
    short: list[str] = []
    over: list[str] = []
    for row in used:
        side = 1.0 if ray[int(np.searchsorted(hard, row))] > 0 else -1.0
        reach = _reach(question, hard, row, side)
        if reach is None:
            continue
        asked = question.row_lower[row] if side > 0 else question.row_upper[row]
        if (reach < asked) == (side > 0) and reach != asked:
            (short if side > 0 else over).append(_told(question.row_name(row), reach, float(asked)))
    found = short + over or _explained_by_bounds(question, hard, ray)
    if found:
        return within + "; ".join(found[:5])
    more = f" and {len(used) - 8} more" if len(used) > 8 else ""
    names = ", ".join(question.row_name(row) for row in used[:8]) + more
    return f"{within}these rows contradict each other: {names}"


def _explained_by_bounds(question: Question, hard: IntArray, ray: tuple[Fraction, ...]) -> list[str]:
    """Return in words what bounds alone leave to each row of the contradiction, or to all of them together."""
    found: list[str] = []
    asked = 0.0
    columns = np.zeros(len(question.reference))
    for k in np.flatnonzero([y != 0 for y in ray]):
        row, side = int(hard[k]), 1.0 if ray[k] > 0 else -1.0
        own = question.coefficients[[row]].toarray().reshape(-1)
        target = float(question.row_lower[row] if side > 0 else question.row_upper[row])
        reach = side * _largest(side * own, question)
        if side * (target - reach) > _MISSED * question.total:
            found.append(_told(question.row_name(row), reach, target))
        columns, asked = columns + own, asked + target
    sides = {y for y in ray if y != 0}
    if found or len(sides) != 1:
        return found
    side = 1.0 if sides.pop() > 0 else -1.0
    together = side * _largest(side * columns, question)
    names = [question.row_name(int(hard[k])) for k in np.flatnonzero([y != 0 for y in ray])]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return [_told(f"{', '.join(names[:8])}{more} together", together, asked)]


def _largest(coefficients: FloatArray, question: Question) -> float:
    """Return the most that a row comes to within the bounds."""
    used = np.flatnonzero(coefficients)
    ends = np.where(coefficients[used] > 0.0, question.upper[used], question.lower[used])
    return float(coefficients[used] @ ends)


def _told(name: str, reach: float, asked: float) -> str:
    if reach < asked:
        return f"{name} can reach {reach:.6g} of the {asked:.6g} asked"
    return f"{name} cannot come below {reach:.6g}, asked is {asked:.6g}"


def _reach(question: Question, hard: IntArray, row: int, side: float) -> float | None:
    k = int(np.searchsorted(question.offsets, row, side="right")) - 1
    own = question.block(k)
    others = hard[(hard < own.start) | (hard >= own.stop)] if question.blocks[k].is_marginal else hard[hard != row]
    c, total = question.coefficients, question.total
    lower, upper = question.row_lower[others] / total, question.row_upper[others] / total
    rest = c[others]
    if question.blocks[k].is_marginal:  # the other rows of a marginal would fix this one: their sum stays
        rest = sparse.vstack([rest, c[own.start : own.stop].sum(axis=0)[None, :]], format="csr")
        whole = question.row_lower[own].sum() / total
        lower, upper = np.append(lower, whole), np.append(upper, whole)
    above, below = np.isfinite(upper), np.isfinite(lower)
    solved = linprog(
        -side * c[[row]].toarray().reshape(-1),
        A_ub=sparse.vstack([rest[np.flatnonzero(above)], -rest[np.flatnonzero(below)]], format="csr"),
        b_ub=np.concatenate([upper[above], -lower[below]]),
        bounds=np.column_stack([question.lower / total, question.upper / total]),
        method="highs",
        options=PROGRAM,
    )
    return -side * float(solved.fun) * total if solved.status == 0 else None
