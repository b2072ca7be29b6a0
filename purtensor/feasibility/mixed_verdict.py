"""Whether rows of any kind and bounds can be met together, with a proof in exact arithmetic where they cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.feasibility.mixed_explanation import explained, told
from purtensor.feasibility.row_programs import SmallestMiss, implied_bounds, smallest_miss
from purtensor.feasibility.row_proofs import excess_of, refuted
from purtensor.feasibility.row_reach import out_of_reach
from purtensor.feasibility.verdict import Verdict
from purtensor.solving.dual.question import Question

_MISSED = 1e-9
_MOST_ROWS = 40
_MOST_COEFFICIENTS = 10**6
"""Conflicts of more rows, or on more coefficients, are told as they were found."""

_NAMED = 5
_FEW = 3


@dataclass(frozen=True, eq=False)
class MixedVerdict:
    """A verdict on rows of any kind with bounds.

    Attributes
    ----------
    verdict
        Infeasible where the witness proves it; interior or boundary where a point was found that meets everything, and
        by whether some cells are at a bound in every such point; else open.
    explanation
        The verdict in words: which rows reach how far of what is asked, and what would do.
    conflict
        The rows of the contradiction in words: without any one of them it is gone. It may have more than it needs
        where rows are many.
    bounds
        The profiles in words whose bounds it needs, with the side.
    witness
        Shape (rows,): a fraction for each row; the rows so combined ask for more than the bounds allow. Empty
        otherwise.
    relaxation
        The smallest sum of misses of the hard rows, each over its largest coefficient.
    relaxations
        The rows that give way in it, in words, and by how much: positive where more is reached than asked.
    at_bound
        Shape (cells,): -1 and 1 for cells at their lower and upper bound in every solution.
    solution
        Masses that meet the rows to rounding; None where there are none.

    Examples
    --------
    >>> import purtensor as pt
    >>> people = pt.tabulate({"sex": ["f", "f", "m"], "age": ["old", "old", "young"]})
    >>> half = pt.total(1, by="sex", target={"f": 1.5, "m": 1.5})
    >>> told = pt.diagnose(people, half, ratio_bounds=(0.5, 1.2))
    >>> print(told.explanation.partition(";")[0])
    with weights between 0.5 and 1.2 times, count by sex, sex=m can reach 1.2 of the 1.5 asked
    >>> told.conflict, round(told.relaxation, 6)
    (('count by sex, sex=m',), 0.3)
    >>> told.bounds, told.verify()
    (('sex=m, age=young at most 1.2',), True)
    """

    verdict: Verdict
    explanation: str
    question: Question = field(repr=False)
    conflict: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    witness: tuple[Fraction, ...] = field(default=(), repr=False)
    relaxation: float = float("nan")
    relaxations: tuple[tuple[str, float], ...] = ()
    at_bound: IntArray | None = field(default=None, repr=False)
    solution: FloatArray | None = field(default=None, repr=False)

    @property
    def exact(self) -> str:
        """Which arithmetic proved it: "rational", of the floats as they are; "" where nothing is proved."""
        return "rational" if self.verdict is Verdict.INFEASIBLE else ""

    def verify(self) -> bool:
        """Tell whether the witness refutes the question, worked out again in fractions from the question's floats."""
        question = self.question
        if self.verdict is not Verdict.INFEASIBLE or len(self.witness) != question.rows:
            return False
        soft = any(y != 0 and not hard for y, hard in zip(self.witness, question.hard, strict=True))
        return not soft and _excess(question, self.witness) > 0

    def __str__(self) -> str:
        return f"{self.verdict}\n{self.explanation}"


def judge(question: Question, within: str = "") -> MixedVerdict:
    """Return the verdict on the hard rows and the bounds; `within` says the bounds in words.

    What one row reaches by the bounds and the total alone is looked at first: such a contradiction is the easiest to
    mend. Then a program finds the smallest misses, and the rows that prove it.
    """
    hard = np.flatnonzero(question.hard)
    alone = out_of_reach(question)
    found = smallest_miss(question, hard)
    ray = _refuted(question, alone[0].weights) if alone else None
    if ray is not None:
        asked = question.row_lower if alone[0].side > 0 else question.row_upper
        words = [told(question.row_name(one.row), one.reach, float(asked[one.row])) for one in alone[:_NAMED]]
        return _infeasible(question, ray, within + "; ".join(words), found, (question.row_name(alone[0].row),))
    if found is None:
        return MixedVerdict(Verdict.OPEN, Verdict.OPEN.sentence, question)
    if found.miss <= _MISSED * question.total:
        return _feasible(question, found)
    ray = _refuted(question, _spread(question, hard, found.weights))
    if ray is None:
        return MixedVerdict(Verdict.OPEN, Verdict.OPEN.sentence, question, relaxation=found.miss)
    ray = _smaller(question, ray)
    names = tuple(question.row_name(row) for row, y in enumerate(ray) if y != 0)
    misses = _spread(question, hard, found.misses)
    return _infeasible(question, ray, within + explained(question, ray, misses), found, names)


def _feasible(question: Question, found: SmallestMiss) -> MixedVerdict:
    at = implied_bounds(question)
    if not at.any():
        text = "a point that meets the rows and the bounds exists"
        return MixedVerdict(
            Verdict.INTERIOR, text, question, relaxation=found.miss, at_bound=at, solution=found.solution
        )
    stuck = np.flatnonzero(at)
    names = ", ".join(_bound_in_words(question, int(cell), int(at[cell])) for cell in stuck[:_NAMED])
    more = f" and {len(stuck) - _NAMED} more" if len(stuck) > _NAMED else ""
    text = f"points that meet the rows and the bounds exist; all of them are at these bounds: {names}{more}"
    return MixedVerdict(Verdict.BOUNDARY, text, question, relaxation=found.miss, at_bound=at, solution=found.solution)


def _infeasible(
    question: Question, ray: tuple[Fraction, ...], text: str, found: SmallestMiss | None, names: tuple[str, ...]
) -> MixedVerdict:
    hard = np.flatnonzero(question.hard)
    relaxations: list[tuple[str, float]] = []
    if found is not None:
        missed = np.flatnonzero(np.abs(found.misses) > _MISSED * question.total)
        relaxations = [(question.row_name(int(hard[k])), float(found.misses[k])) for k in missed]
        if 0 < len(relaxations) <= _FEW:
            text += "; the least that must give way: " + ", ".join(f"{name} ({by:+.6g})" for name, by in relaxations)
    pulls = _combined(question, ray)
    bounds = tuple(
        _bound_in_words(question, cell, 1 if pull > 0 else -1)
        for cell, pull in enumerate(pulls)
        if pull > 0 or (pull < 0 and question.lower[cell] > 0.0)
    )
    return MixedVerdict(
        Verdict.INFEASIBLE,
        text,
        question,
        conflict=names,
        bounds=bounds,
        witness=ray,
        relaxation=float("nan") if found is None else found.miss,
        relaxations=tuple(relaxations),
    )


def _bound_in_words(question: Question, cell: int, side: int) -> str:
    bound = question.upper[cell] if side > 0 else question.lower[cell]
    words = "empty" if bound == 0.0 else f"at {'most' if side > 0 else 'least'} {bound:g}"
    return f"{question.describe(cell)} {words}"


def _spread(question: Question, rows: IntArray, weights: FloatArray) -> FloatArray:
    whole = np.zeros(question.rows)
    whole[rows] = weights
    return whole


def _refuted(question: Question, weights: FloatArray) -> tuple[Fraction, ...] | None:
    q = question
    return refuted(q.coefficients, q.row_lower, q.row_upper, q.lower, q.upper, weights)


def _excess(question: Question, ray: tuple[Fraction, ...]) -> Fraction:
    q = question
    used = np.array([row for row, y in enumerate(ray) if y != 0], dtype=np.int64)
    columns = q.coefficients[used].tocsc()
    return excess_of(columns, used, [ray[r] for r in used], q.row_lower, q.row_upper, q.lower, q.upper)


def _combined(question: Question, ray: tuple[Fraction, ...]) -> list[Fraction]:
    """Return C^T y."""
    pulls = [Fraction(0)] * len(question.reference)
    c = question.coefficients
    for row, y in enumerate(ray):
        if y == 0:
            continue
        own = slice(c.indptr[row], c.indptr[row + 1])
        for cell, value in zip(c.indices[own].tolist(), c.data[own].tolist(), strict=True):
            pulls[cell] += y * Fraction(value)
    return pulls


def _smaller(question: Question, ray: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Return a ray on rows none of which can be left out, as far as the programs tell."""
    rows = np.array([row for row, y in enumerate(ray) if y != 0], dtype=np.int64)
    if not 1 < len(rows) <= _MOST_ROWS or question.coefficients.nnz > _MOST_COEFFICIENTS:
        return ray
    weights: FloatArray | None = None
    for row in rows.tolist():
        fewer = rows[rows != row]
        found = smallest_miss(question, fewer)
        if found is not None and found.miss > _MISSED * question.total:
            rows, weights = fewer, found.weights
    smaller = None if weights is None else _refuted(question, _spread(question, rows, weights))
    return ray if smaller is None else smaller
