"""The least divergence where rows may be missed by a sum: its multiplier is the strength of an absolute penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from purtensor.solving.dual.answer import Answer
from purtensor.solving.dual.question import Question
from purtensor.solving.dual.warm_starts import AtStrength, Priced
from purtensor.solving.termination import Termination

_TOLERANCE = 1e-10
_MOST_ITERATIONS = 500
_MET = 1e-13
"""The largest loss in nats by the unused rest of a slack."""

_MOST_TRIALS = 60
# strengths from e^-30 to e^30 nats are tried
_LARGEST_LOGARITHM = 30.0
_FIRST_WIDTH = 1.0
_NARROWEST = 1e-15


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
        self._priced = Priced(question, soft)
        self._tried: dict[float, AtStrength] = {}
        self._iterations = 0

    def within(self, slack: float) -> Within:
        """Return the nearest masses whose soft rows miss by at most `slack` in all, the total being 1.

        The misses fall continuously as the strength grows, so that a root of their excess is the multiplier.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C: a point with another slack is not an answer.
        """
        self._iterations = 0
        found = self._root(slack)
        answer = self._priced.answer(found, _TOLERANCE)
        if answer.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt
        question = self._priced.question
        misses = question.misses(answer.sums)[question.block(self._priced.soft)]
        missed = float(np.abs(misses).sum()) / question.total
        return Within(answer, found.strength, missed - slack, self._iterations)

    def _at(self, logarithm: float) -> AtStrength:
        """Return the answer at a strength, begun from the nearest that is known."""
        if logarithm not in self._tried:
            done = [at for at, found in self._tried.items() if found.run.converged]
            near = self._tried[min(done, key=lambda at: abs(at - logarithm))] if done else None
            found = self._priced.at(math.exp(logarithm), near, _MOST_ITERATIONS)
            self._iterations += found.watch.iterations
            self._tried[logarithm] = found
        return self._tried[logarithm]

    def _excess(self, logarithm: float, slack: float) -> float:
        found = self._at(logarithm)
        excess = found.missed - slack
        return 0.0 if _is_used_up(excess, found.strength) else excess

    def _root(self, slack: float) -> AtStrength:
        """Return the answer where the slack is used up, or the last where no strength does that.

        Newton's steps on the strength, in logarithms at most as long as the bracket that doubles around them; where
        they leave the bracket, or the excess does not halve, it is cut in half.
        """
        known = {at: self._excess(at, slack) for at in self._tried}
        # the misses fall as the strength grows: an excess calls for a larger one
        low = max((at for at, excess in known.items() if excess > 0.0), default=-_LARGEST_LOGARITHM)
        high = min((at for at, excess in known.items() if excess <= 0.0), default=_LARGEST_LOGARITHM)
        # where an earlier search came nearest to this slack
        here = min(known, key=lambda at: abs(known[at]), default=0.0)
        width, last = _FIRST_WIDTH, math.inf
        for _ in range(_MOST_TRIALS):
            excess = self._excess(here, slack)
            low, high = (here, high) if excess > 0.0 else (low, here)
            if excess == 0.0 or high - low <= _NARROWEST * max(1.0, abs(here)):
                break
            ahead = _newton(self._at(here), excess)
            if math.isnan(ahead) or abs(ahead - here) > width:
                ahead = here + math.copysign(width, excess)
            if not low <= ahead <= high or abs(excess) > 0.5 * last:
                ahead = max(low, min(high, here + math.copysign(min(width, 0.5 * (high - low)), excess)))
            here, width, last = ahead, 2.0 * width, abs(excess)
        return self._at(min(self._tried, key=lambda at: (abs(self._excess(at, slack)), at)))


def _newton(found: AtStrength, excess: float) -> float:
    """Return the logarithm of the strength that Newton's step leads to, NaN where it leads below 0."""
    strength = found.strength - excess / found.missed_rise if found.missed_rise < 0.0 else 0.0
    return math.log(strength) if strength > 0.0 else math.nan


def _is_used_up(excess: float, strength: float) -> bool:
    """Return whether the misses are the slack, or so near to it that the rest is worth nothing."""
    # strength is the slope of the divergence over the slack: strength * excess is what the rest is worth
    return abs(excess) <= _TOLERANCE and abs(excess) * max(1.0 if excess > 0.0 else 0.0, strength) <= _MET
