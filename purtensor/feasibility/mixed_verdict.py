"""Whether rows of any kind and bounds can be met together, with a proof in exact arithmetic where they cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.feasibility.mixed_explanation import PROGRAM, explained
from purtensor.feasibility.verdict import Verdict
from purtensor.solving.dual.question import Question

_DENOMINATORS = (1, 2, 6, 60, 5040, 10**6, 10**9, None)
_MISSED = 1e-9


@dataclass(frozen=True, eq=False)
class MixedVerdict:
    """A verdict on rows of any kind with bounds.

    Attributes
    ----------
    verdict
        Infeasible where the witness proves it; interior where a point was found that meets everything; else open.
    explanation
        The verdict in words: which rows reach how far of what is asked.
    witness
        Shape (rows,): a fraction for each row; the rows so combined ask for more than the bounds allow. Empty
        otherwise.
    relaxation
        The smallest sum of misses of the hard rows, each over its largest coefficient.
    solution
        Masses that meet the rows to rounding; None where there are none.
    """

    verdict: Verdict
    explanation: str
    witness: tuple[Fraction, ...] = field(repr=False)
    relaxation: float
    solution: FloatArray | None = field(repr=False)

    @property
    def exact(self) -> str:
        """Which arithmetic proved it: "rational", of the floats as they are; "" where nothing is proved."""
        return "rational" if self.verdict is Verdict.INFEASIBLE else ""

    def __str__(self) -> str:
        return f"{self.verdict}\n{self.explanation}"


def judge(question: Question, within: str = "") -> MixedVerdict:
    """Return the verdict on the hard rows and the bounds; `within` says the bounds in words."""
    hard = np.flatnonzero(question.hard)
    c = question.coefficients[hard]
    units = np.asarray(abs(c).max(axis=1).todense()).reshape(-1)
    units = np.where(units > 0.0, units, 1.0)
    lower, upper = question.row_lower[hard], question.row_upper[hard]
    total = question.total
    scaled = (sparse.diags_array(1.0 / units) @ c).tocsr()
    found = _smallest_miss(
        scaled, lower / units / total, upper / units / total, question.lower / total, question.upper / total
    )
    if found is None:
        return MixedVerdict(Verdict.OPEN, Verdict.OPEN.sentence, (), float("nan"), None)
    miss, weights, solution = found
    if miss <= _MISSED:
        return MixedVerdict(
            Verdict.INTERIOR, "a point that meets the rows and the bounds exists", (), miss * total, solution * total
        )
    ray = refuted(c, lower, upper, question.lower, question.upper, weights / units)
    if ray is None:
        return MixedVerdict(Verdict.OPEN, Verdict.OPEN.sentence, (), miss * total, None)
    witness = [Fraction(0)] * question.rows
    for row, value in zip(hard.tolist(), ray, strict=True):
        witness[row] = value
    text = explained(question, hard, ray, within)
    return MixedVerdict(Verdict.INFEASIBLE, text, tuple(witness), miss * total, None)


def _smallest_miss(
    c: sparse.csr_array, lower: FloatArray, upper: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, FloatArray, FloatArray] | None:
    """Return the smallest sum of misses, a weight for each row that proves it, and masses that reach it."""
    rows, cells = c.shape
    eye = sparse.eye_array(rows, format="csr")
    wide = sparse.hstack([c, eye, -eye], format="csr")
    above, below = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
    if not len(above) + len(below):
        return 0.0, np.zeros(rows), low
    solved = linprog(
        np.concatenate([np.zeros(cells), np.ones(2 * rows)]),
        A_ub=sparse.vstack([wide[above], -wide[below]], format="csr"),
        b_ub=np.concatenate([upper[above], -lower[below]]),
        bounds=np.column_stack(
            [np.concatenate([low, np.zeros(2 * rows)]), np.concatenate([high, np.full(2 * rows, np.inf)])]
        ),
        method="highs",
        options=PROGRAM,
    )
    if solved.status != 0:
        return None
    weights = np.zeros(rows)
    marginals = solved.ineqlin.marginals
    weights[above] += marginals[: len(above)]
    weights[below] -= marginals[len(above) :]
    return float(solved.fun), weights, solved.x[:cells]


def refuted(
    c: sparse.csr_array,
    lower: FloatArray,
    upper: FloatArray,
    low: FloatArray,
    high: FloatArray,
    weights: FloatArray,
) -> tuple[Fraction, ...] | None:
    """Return fractions y near the weights for which y's rows ask for more than the bounds allow; None without any.

    It is a proof in exact arithmetic of the floats as they are (notes/one_dual.md, 16): the sum of lower y+ - upper y-
    is above that of high z+ - low z-, z = C^T y.
    """
    size = np.abs(weights).max(initial=0.0)
    if not size > 0.0:
        return None
    used = np.flatnonzero(np.abs(weights) > 1e-9 * size)
    columns = c[used].tocsc()
    unbounded = np.flatnonzero(np.isinf(high))
    for denominator in _DENOMINATORS:
        ray = [_near(float(weights[r] / size), denominator) for r in used]
        ray = [
            Fraction(0) if (y > 0 and lower[r] == -np.inf) or (y < 0 and upper[r] == np.inf) else y
            for y, r in zip(ray, used, strict=True)
        ]
        for lifted in _lifted(c, used, ray, upper, unbounded):
            if _excess(columns, used, lifted, lower, upper, low, high) > 0:
                full = [Fraction(0)] * c.shape[0]
                for r, y in zip(used, lifted, strict=True):
                    full[int(r)] = y
                return tuple(full)
    return None


def _near(value: float, denominator: int | None) -> Fraction:
    exact = Fraction(value)
    return exact if denominator is None else exact.limit_denominator(denominator)


def _lifted(
    c: sparse.csr_array, used: IntArray, ray: list[Fraction], upper: FloatArray, unbounded: IntArray
) -> list[list[Fraction]]:
    """Return the ray, and those lowered by a row that is positive on all unbounded cells, until none rises there."""
    tried = [ray]
    if not len(unbounded):
        return tried
    columns = c[used].tocsc()
    over = max((_combined(columns, int(i), ray) for i in unbounded), default=Fraction(0))
    if over <= 0:
        return tried
    dense = c[used][:, unbounded]
    for k, r in enumerate(used):
        own = dense[[k]].toarray().reshape(-1)
        if np.isfinite(upper[r]) and (own > 0.0).all():
            lower = list(ray)
            lower[k] -= over / Fraction(float(own.min()))
            tried.append(lower)
    return tried


def _combined(columns: sparse.csc_array, cell: int, ray: list[Fraction]) -> Fraction:
    own = slice(columns.indptr[cell], columns.indptr[cell + 1])
    pairs = zip(columns.indices[own], columns.data[own], strict=True)
    return sum((ray[int(k)] * Fraction(float(value)) for k, value in pairs), Fraction(0))


def _excess(
    columns: sparse.csc_array,
    used: IntArray,
    ray: list[Fraction],
    lower: FloatArray,
    upper: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> Fraction:
    """Return by how much the rows ask for more than the bounds allow; negative where the ray proves nothing."""
    excess = Fraction(0)
    for y, r in zip(ray, used, strict=True):
        if y > 0:
            excess += y * Fraction(float(lower[r]))
        elif y < 0:
            if upper[r] == np.inf:
                return Fraction(-1)
            excess += y * Fraction(float(upper[r]))
    for cell in range(columns.shape[1]):
        z = _combined(columns, cell, ray)
        if z > 0:
            if high[cell] == np.inf:
                return Fraction(-1)
            excess -= z * Fraction(float(high[cell]))
        elif z < 0:
            if low[cell] == -np.inf:
                return Fraction(-1)
            excess -= z * Fraction(float(low[cell]))
    return excess


def implied_zeros(question: Question, solution: FloatArray) -> BoolArray:
    """Return the cells that are empty in every solution, by a program that gives as many as it can some mass."""
    hard = np.flatnonzero(question.hard)
    total, cells = question.total, len(question.reference)
    free = np.flatnonzero((question.lower == 0.0) & (question.upper > 0.0))
    c = question.coefficients[hard]
    # q = rest + least with 0 <= least <= 1e-3 of the mean mass: the sum of `least` is the largest
    cap = 1e-3 * total / cells
    own = c[:, free]
    wide = sparse.hstack([c, own], format="csr")
    lower, upper = question.row_lower[hard] / total, question.row_upper[hard] / total
    above, below = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
    slack = 1e-12
    solved = linprog(
        np.concatenate([np.zeros(cells), -np.ones(len(free))]),
        A_ub=sparse.vstack([wide[above], -wide[below]], format="csr"),
        b_ub=np.concatenate([upper[above] + slack, -lower[below] + slack]),
        bounds=np.column_stack(
            [
                np.concatenate([question.lower / total, np.zeros(len(free))]),
                np.concatenate([question.upper / total, np.full(len(free), cap / total)]),
            ]
        ),
        method="highs",
        options=PROGRAM,
    )
    zeros = np.zeros(cells, dtype=bool)
    if solved.status == 0:
        mass = solved.x[:cells].copy()
        mass[free] += solved.x[cells:]
        zeros[free] = mass[free] <= 1e-3 * cap / total
    return zeros
