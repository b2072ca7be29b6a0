"""Problems solved again from a neighbour's answer: with another reference, or with other prices of missed rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.dual.answer import Answer, conclude, start_from
from purtensor.solving.dual.ascent import DualRun
from purtensor.solving.dual.columns.composite import CompositeColumns
from purtensor.solving.dual.columns.squares import LinearCostColumns
from purtensor.solving.dual.prepare import Prepared, cells_of, prepare
from purtensor.solving.dual.problem import DualProblem
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


_FREELY = 1e20


@dataclass(frozen=True, slots=True, eq=False)
class AtStrength:
    """The answer at one strength, with its derivatives by the strength.

    Attributes
    ----------
    strength, missed
        The price in nats per unit, and the sum of what the priced rows miss, the total being 1.
    potentials, slacks
        Shape (rows,) and (columns,): the derivatives of the potentials, and of the slacks of linear cost.
    missed_rise
        The derivative of `missed`, 0 at most.
    """

    strength: float
    missed: float
    run: DualRun
    watch: Watch
    potentials: FloatArray
    slacks: FloatArray
    missed_rise: float


class Priced:
    """A problem with absolute penalties at a sequence of common strengths."""

    def __init__(self, question: Question, soft: int) -> None:
        self.question, self.soft = self._at_strength(question, soft, 1.0), soft
        self.prepared: Prepared = prepare(self.question)
        linear = self.prepared.problem.columns.linear
        if linear is None:
            raise TypeError("no row has an absolute penalty")
        self._unit, self._linear = linear.cost, linear

    def at(self, strength: float, near: AtStrength | None, most: int) -> AtStrength:
        """Return the answer at a strength, begun where one at another strength points to; Ctrl-C ends it."""
        problem, watch = self._problem(strength), Watch(most)
        start = slack = None
        if near is not None:
            further = strength - near.strength
            # along the tangent of the path, which is right to first order while the same rows are missed
            start = near.run.point.potentials + further * near.potentials
            slack = near.run.point.x + further * near.slacks
        run = solve(problem, watch, start=start, slack=slack)
        if run.stopped == "interrupted":
            raise KeyboardInterrupt
        own = problem.columns.linear_slice
        with np.errstate(all="ignore"):
            potentials, slacks = _derivatives(problem, run, self._unit)
        rise = float(self._unit @ slacks[own]) / problem.mass
        return AtStrength(strength, self._sum_misses(run), run, watch, potentials, slacks, rise)

    def answer(self, found: AtStrength, tolerance: float) -> Answer:
        """Return what was found as an answer, with its proof."""
        question = self._at_strength(self.question, self.soft, found.strength)
        prepared = replace(self.prepared, problem=self._problem(found.strength))
        return conclude(question, prepared, found.run, found.watch, tolerance)

    def _sum_misses(self, run: DualRun) -> float:
        """Return what the rows miss, those without a profile among them, the total being 1."""
        question, prepared = self.question, self.prepared
        masses = np.zeros(len(question.reference))
        masses[prepared.cells] = np.ldexp(run.point.x[: prepared.problem.cells], prepared.exponent)
        misses = question.misses(question.sums(masses))[question.block(self.soft)]
        return float(np.abs(misses).sum()) / question.total

    def _problem(self, strength: float) -> DualProblem:
        problem, linear = self.prepared.problem, self._linear
        priced = LinearCostColumns(strength * self._unit, linear.lower, linear.upper)
        return problem.with_columns(problem.columns.with_linear(priced))

    @staticmethod
    def _at_strength(question: Question, soft: int, strength: float) -> Question:
        blocks = list(question.blocks)
        block = blocks[soft]
        if block.softness is None:
            raise TypeError("a price is of a soft constraint")
        priced = replace(block.softness, strength=np.full(block.count, strength))
        blocks[soft] = replace(block, softness=priced)
        return replace(question, blocks=tuple(blocks))


def _derivatives(problem: DualProblem, run: DualRun, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of potentials and slacks by the strength, as long as the same rows are missed.

    The potentials of rows that are missed rise with their prices; those of the others follow, so that they stay met.
    """
    point, own = run.point, problem.columns.linear_slice
    inside, _ = problem.slacks_inside(point.x, point.z)
    places = own.start - problem.cells + np.flatnonzero(inside)
    rows, signs = problem.slack_rows[places], problem.slack_signs[places]
    ahead, give = np.zeros(problem.rows), point.give.copy()
    # a missed row's potential is its price, so it rises with the strength one for one
    ahead[rows] = signs * unit[inside]
    give[own] = 0.0
    pull = problem.times(give * problem.back(ahead))
    pull[rows] = 0.0
    held = give.copy()
    # rows with so free a slack do not change in the solve: their potentials are given
    held[own] = np.where(inside, _FREELY * problem.mass, 0.0)
    slacks = np.zeros(problem.columns.size)
    try:
        ahead = ahead - problem.equations(held).solver()(pull)
    except np.linalg.LinAlgError:
        return np.zeros(problem.rows), slacks
    sums = problem.times(give * problem.back(ahead))
    slacks[own.start + np.flatnonzero(inside)] = -signs * sums[rows]
    return ahead, slacks
