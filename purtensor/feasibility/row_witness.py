"""Whether rows of any kind and bounds can be met together, with a proof in exact arithmetic where they cannot."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import xarray as xr

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.system import System
from purtensor.errors import InvalidOptionError
from purtensor.feasibility.diagnosis import Diagnosis, HeldProof
from purtensor.feasibility.explanation import Explanation
from purtensor.feasibility.farkas import combine, excess_of, refute
from purtensor.feasibility.linear_programs import SmallestMiss, find_implied_bounds, smallest_miss
from purtensor.feasibility.row_reach import explain_conflict, out_of_reach, say_reach
from purtensor.feasibility.verdict import Decision, Verdict
from purtensor.solving.dual.labelled import LabelledQuestion
from purtensor.solving.dual.question import Question

_MISSED = 1e-9
_MOST_ROWS = 40
_MOST_COEFFICIENTS = 10**6
"""Conflicts of more rows, or on more coefficients, are reported as they were found."""

_NAMED = 5
_FEW = 3


@dataclass(frozen=True, eq=False)
class RowWitness(HeldProof):
    """A witness on rows of any kind with bounds: see `Diagnosis` for each attribute.

    Attributes
    ----------
    multipliers
        Shape (rows,): fractions; the rows so combined ask for more than the bounds allow. Empty without such a proof.
    cells_at_bound
        Shape (cells,): -1 and 1 for cells at their lower and upper bound in every solution.
    masses
        Shape (cells,): masses that meet the rows to rounding; None where there are none.
    """

    labelled: LabelledQuestion
    explanation: Explanation
    multipliers: tuple[Fraction, ...] = ()
    cells_at_bound: IntArray | None = None
    masses: FloatArray | None = None

    @property
    def at_bound(self) -> Table:
        """-1 and 1 where a cell is at its lower and upper bound in every solution."""
        found = np.zeros(len(self.labelled.question.reference)) if self.cells_at_bound is None else self.cells_at_bound
        return self.labelled.table(found.astype(np.float64), "at_bound")

    @property
    def implied_zeros(self) -> Table:
        """The reference where every solution is empty, in its own layout."""
        question, zeros = self.labelled.question, np.zeros(len(self.labelled.question.reference), dtype=bool)
        if self.cells_at_bound is not None:
            zeros = (self.cells_at_bound < 0) & (question.lower == 0.0)
        return self.labelled.table(np.where(zeros, self.labelled.coded.values, 0.0), "implied zeros")

    @property
    def solution(self) -> Table | None:
        """A table that meets the rows to rounding."""
        return None if self.masses is None else self.labelled.table(self.masses * self.labelled.signs, "solution")

    @property
    def certificate(self) -> tuple[Table, ...]:
        """Whole numbers for each row, a table for each block of rows."""
        if not self.multipliers:
            return ()
        # times a common denominator; the sign is that of the certificates of marginals
        unit = lcm(*(y.denominator for y in self.multipliers))
        whole = np.array([int(-y * unit) for y in self.multipliers], dtype=object)
        question = self.labelled.question
        return tuple(
            xr.DataArray(
                whole[question.block(k)], dims="row", coords={"label": ("row", list(block.labels))}, name="certificate"
            )
            for k, block in enumerate(question.blocks)
        )

    def verify(self, diagnosis: Diagnosis) -> bool:
        """Return whether the certificate refutes the question, evaluated again in fractions from the floats asked."""
        question = self.labelled.question
        # from the certificate that is shown, as a reader would check it, not from the fractions kept beside it
        rows = tuple(Fraction(-int(t)) for table in diagnosis.certificate for t in table.values.tolist())
        if diagnosis.verdict is not Verdict.INFEASIBLE or len(rows) != question.rows:
            return False
        # a soft row may be missed, so it proves nothing
        soft = any(y != 0 and not hard for y, hard in zip(rows, question.hard, strict=True))
        return not soft and excess_of(question, rows) > 0

    def in_memory(self, what: str) -> tuple[System, Decision]:
        """Refuse: it is of marginals."""
        raise InvalidOptionError(
            f"{what} is of Marginals with targets alone: for rows of any kind see explanation.missing and .relaxations"
        )


def cells_at_bound(diagnosis: Diagnosis) -> IntArray | None:
    """Return -1 and 1 for the cells at their lower and upper bound in every solution; None where that is not known."""
    return diagnosis.evidence.cells_at_bound if isinstance(diagnosis.evidence, RowWitness) else None


def diagnose_rows(labelled: LabelledQuestion, within: str = "") -> Diagnosis:
    """Return the verdict on the hard rows and the bounds; `within` says the bounds in words.

    What one row reaches by the bounds and the total alone is examined first: such a contradiction is the easiest to
    mend. Then a program finds the smallest misses, and the rows that prove it.
    """
    question = labelled.question
    hard = np.flatnonzero(question.hard)
    alone = out_of_reach(question)
    # asked in any case: it also says which rows would have to give way, and by how much
    found = smallest_miss(question, hard)
    ray = refute(question, alone[0].weights) if alone else None
    if ray is not None:
        asked = question.row_lower if alone[0].side > 0 else question.row_upper
        words = [say_reach(question.row_name(one.row), one.reach, float(asked[one.row])) for one in alone[:_NAMED]]
        return _infeasible(labelled, ray, within + "; ".join(words), found, (question.row_name(alone[0].row),))
    if found is None:
        return _diagnosis(Verdict.OPEN, RowWitness(labelled, Explanation((Verdict.OPEN.sentence,))))
    # a linear program's solution is feasible to its tolerance of 1e-10 only
    if found.miss <= _MISSED * question.total:
        return _feasible(labelled, found)
    # the program's dual weights are a candidate; what counts is the proof in fractions
    ray = refute(question, _spread(question, hard, found.weights))
    if ray is None:
        return _diagnosis(Verdict.OPEN, RowWitness(labelled, Explanation((Verdict.OPEN.sentence,), missing=found.miss)))
    ray = _smaller(question, ray)
    names = tuple(question.row_name(row) for row, y in enumerate(ray) if y != 0)
    misses = _spread(question, hard, found.misses)
    return _infeasible(labelled, ray, within + explain_conflict(question, ray, misses), found, names)


def _diagnosis(verdict: Verdict, witness: RowWitness) -> Diagnosis:
    return Diagnosis(
        verdict=verdict,
        certificate=witness.certificate,
        exact="rational" if verdict is Verdict.INFEASIBLE else "nothing",
        reference=witness.labelled.reference,
        constraints=witness.labelled.constraints,
        evidence=witness,
    )


def _feasible(labelled: LabelledQuestion, found: SmallestMiss) -> Diagnosis:
    question, at = labelled.question, find_implied_bounds(labelled.question)
    verdict, text = Verdict.INTERIOR, "a point that meets the rows and the bounds exists"
    if at.any():
        stuck = np.flatnonzero(at)
        names = ", ".join(_bound_in_words(question, int(cell), int(at[cell])) for cell in stuck[:_NAMED])
        more = f" and {len(stuck) - _NAMED} more" if len(stuck) > _NAMED else ""
        verdict = Verdict.BOUNDARY
        text = f"points that meet the rows and the bounds exist; all of them are at these bounds: {names}{more}"
    explanation = Explanation((text,), missing=found.miss)
    return _diagnosis(verdict, RowWitness(labelled, explanation, cells_at_bound=at, masses=found.solution))


def _infeasible(
    labelled: LabelledQuestion, ray: tuple[Fraction, ...], text: str, found: SmallestMiss | None, names: tuple[str, ...]
) -> Diagnosis:
    question = labelled.question
    hard = np.flatnonzero(question.hard)
    relaxations: list[tuple[str, float]] = []
    if found is not None:
        missed = np.flatnonzero(np.abs(found.misses) > _MISSED * question.total)
        relaxations = [(question.row_name(int(hard[k])), float(found.misses[k])) for k in missed]
        if 0 < len(relaxations) <= _FEW:
            text += "; the least that must give way: " + ", ".join(f"{name} ({by:+.6g})" for name, by in relaxations)
    pulls = combine(question, ray)
    bounds = tuple(
        _bound_in_words(question, cell, 1 if pull > 0 else -1)
        for cell, pull in enumerate(pulls)
        # a lower bound of 0 goes without saying
        if pull > 0 or (pull < 0 and question.lower[cell] > 0.0)
    )
    explanation = Explanation(
        (text,),
        missing=float("nan") if found is None else found.miss,
        conflict=names,
        bounds=bounds,
        relaxations=tuple(relaxations),
    )
    return _diagnosis(Verdict.INFEASIBLE, RowWitness(labelled, explanation, ray))


def _bound_in_words(question: Question, cell: int, side: int) -> str:
    bound = question.upper[cell] if side > 0 else question.lower[cell]
    words = "empty" if bound == 0.0 else f"at {'most' if side > 0 else 'least'} {bound:g}"
    return f"{question.describe(cell)} {words}"


def _spread(question: Question, rows: IntArray, weights: FloatArray) -> FloatArray:
    whole = np.zeros(question.rows)
    whole[rows] = weights
    return whole


def _smaller(question: Question, ray: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Return a ray on a set of rows that is minimal as far as the linear programs show."""
    rows = np.array([row for row, y in enumerate(ray) if y != 0], dtype=np.int64)
    if not 1 < len(rows) <= _MOST_ROWS or question.coefficients.nnz > _MOST_COEFFICIENTS:
        return ray
    weights: FloatArray | None = None
    for row in rows.tolist():
        # one row after the other is left out for good where the rest still conflicts: a minimal set, not the smallest
        fewer = rows[rows != row]
        found = smallest_miss(question, fewer)
        if found is not None and found.miss > _MISSED * question.total:
            rows, weights = fewer, found.weights
    # programs decided what to leave out, so the smaller set is proved again
    smaller = None if weights is None else refute(question, _spread(question, rows, weights))
    return ray if smaller is None else smaller
