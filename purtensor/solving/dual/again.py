"""The same rows for one reference after another: what depends on the rows alone is made once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.dual.answer import Answer, start_from
from purtensor.solving.dual.columns.composite import CompositeColumns
from purtensor.solving.dual.prepare import Prepared, cells_of, prepare
from purtensor.solving.dual.question import Question
from purtensor.solving.dual.solve import solve
from purtensor.solving.dual.watch import Watch

_VANISHING = 1e-100
"""Cells without mass in a reference keep this share of the total, so that all references have the same cells."""
_MOST_STEPS = 50


@dataclass(frozen=True, slots=True, eq=False)
class SameRows:
    """A question whose reference and bounds are exchanged, solved from the potentials of its answer on."""

    question: Question
    prepared: Prepared
    start: FloatArray

    @classmethod
    def of(cls, question: Question, answer: Answer) -> SameRows:
        """Return the rows of a question that was answered."""
        prepared = prepare(question)
        return cls(question, prepared, start_from(prepared, answer.potentials))

    def masses(
        self, reference: FloatArray, lower: FloatArray, upper: FloatArray, tolerance: float
    ) -> FloatArray | None:
        """Return the nearest masses to another reference, shape (cells,); None where they are not found at once.

        The reference is on the scale of the question's, and may be 0, where the masses are then. What is not found,
        such as what has no answer, is left to those who ask the whole question and get its verdict. Ctrl-C ends it.
        """
        question, prepared = self.question, self.prepared
        empty = reference <= 0.0
        # a mass of 0 has no logarithm; what this leaves in a cell is below any tolerance
        f = np.where(empty, _VANISHING * question.total, reference)
        # and cannot grow: the ratio of such a cell may be no more than 2
        low, high = np.where(empty, 0.0, lower), np.where(empty, 2.0 * f, upper)
        own = replace(question, reference=f, lower=low, upper=high)
        kind = cells_of(own, prepared.cells, math.ldexp(1.0, -prepared.exponent))
        columns = CompositeColumns([kind, *prepared.problem.columns.blocks[1:]])
        run = solve(prepared.problem.with_columns(columns), Watch(_MOST_STEPS), start=self.start)
        if run.stopped == "interrupted":
            raise KeyboardInterrupt
        # quick, or not at all: the caller has a slower way that explains
        if not run.converged or run.residual > tolerance:
            return None
        found = np.zeros(len(reference))
        found[prepared.cells] = run.point.x[: prepared.problem.cells] * math.ldexp(1.0, prepared.exponent)
        found[empty] = 0.0
        return found
