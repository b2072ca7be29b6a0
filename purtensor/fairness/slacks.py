"""The least divergence where rows may be missed by a sum: its multiplier is the strength of an absolute penalty."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq

from purtensor._typing import FloatArray
from purtensor.solving.dual.answer import Answer, answer
from purtensor.solving.dual.question import Question
from purtensor.solving.termination import Termination

_TOLERANCE = 1e-10
_MOST_ITERATIONS = 500
_MET = 1e-13
"""So many nats may be lost by what is left of a slack."""

_MOST_TRIALS = 60
_LARGEST_LOGARITHM = 30.0
_FIRST_WIDTH = 1.0
_Excess: TypeAlias = Callable[[float], float]


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """The nearest masses within a slack.

    Attributes
    ----------
    answer
        Those at the strength that leaves the slack, with what is proved of them.
    strength
        The multiplier of the slack, in nats a unit of the total.
    excess
        What they miss beyond the slack, the total being 1.
    iterations
        Newton steps over all strengths that were tried.
    """

    answer: Answer
    strength: float
    excess: float
    iterations: int

    @property
    def converged(self) -> bool:
        """Whether the answer is one, and keeps to the slack."""
        return self.answer.termination.converged and self.excess <= _TOLERANCE

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        ending = self.answer.termination
        return "no strength leaves this slack" if ending.converged and not self.converged else ending.value


class Slacks:
    """Answers within one slack after the other: each search begins with the strengths that were tried before."""

    def __init__(self, question: Question, soft: int) -> None:
        self._question, self._soft = question, soft
        self._tried: dict[float, tuple[Answer, float]] = {}
        self._iterations = 0

    def within(self, slack: float) -> Within:
        """Return the nearest masses whose soft rows miss by at most `slack` in all, the total being 1.

        The misses fall continuously as the strength grows, so that a root of their excess is the multiplier.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C: a point with another slack is no answer.
        """
        self._iterations = 0

        def excess(logarithm: float) -> float:
            found = self._missed(logarithm) - slack
            return 0.0 if _is_used_up(found, math.exp(logarithm)) else found

        low, high = self._bracket(excess)
        root = low
        if low < high:
            root = brentq(excess, low, high, xtol=1e-15, rtol=1e-15, maxiter=_MOST_TRIALS, disp=False)
        best = min(self._tried, key=lambda logarithm: (abs(logarithm - root), logarithm))
        found, missed = self._tried[best]
        return Within(found, math.exp(best), missed - slack, self._iterations)

    def _missed(self, logarithm: float) -> float:
        """Return the sum of misses at a strength, the total being 1."""
        if logarithm not in self._tried:
            question = self._at(math.exp(logarithm))
            found = answer(
                question, tolerance=_TOLERANCE, max_iterations=_MOST_ITERATIONS, start=self._start(logarithm)
            )
            if found.termination is Termination.INTERRUPTED:
                raise KeyboardInterrupt
            self._iterations += found.iterations
            misses = question.misses(found.sums)[question.block(self._soft)]
            self._tried[logarithm] = found, float(np.abs(misses).sum()) / question.total
        return self._tried[logarithm][1]

    def _at(self, strength: float) -> Question:
        blocks = list(self._question.blocks)
        block = blocks[self._soft]
        if block.softness is None:
            raise TypeError("a slack is of a soft constraint")
        priced = replace(block.softness, strength=np.full(block.count, strength))
        blocks[self._soft] = replace(block, softness=priced)
        return replace(self._question, blocks=tuple(blocks))

    def _start(self, logarithm: float) -> FloatArray | None:
        """Return the potentials of the nearest weaker penalty, which a stronger one allows; else of a stronger one."""
        done = [at for at, (found, _) in self._tried.items() if found.termination.converged]
        weaker = [at for at in done if at <= logarithm]
        if not done:
            return None
        return self._tried[max(weaker) if weaker else min(done)][0].potentials

    def _bracket(self, excess: _Excess) -> tuple[float, float]:
        """Return logarithms of two strengths between which the excess changes its sign; one twice if it does not."""
        above = [at for at in self._tried if excess(at) > 0.0]
        below = [at for at in self._tried if excess(at) <= 0.0]
        if not above and not below:
            (above if excess(0.0) > 0.0 else below).append(0.0)
        width = _FIRST_WIDTH
        while not below:
            last = max(above)
            if last >= _LARGEST_LOGARITHM:
                return last, last
            (above if excess(last + width) > 0.0 else below).append(last + width)
            width *= 2.0
        while not above:
            last = min(below)
            if last <= -_LARGEST_LOGARITHM:
                return last, last
            (above if excess(last - width) > 0.0 else below).append(last - width)
            width *= 2.0
        return max(above), min(below)


def _is_used_up(excess: float, strength: float) -> bool:
    """Tell whether the misses are the slack, or so near to it that the rest is worth nothing."""
    return abs(excess) <= _TOLERANCE and abs(excess) * max(1.0 if excess > 0.0 else 0.0, strength) <= _MET
