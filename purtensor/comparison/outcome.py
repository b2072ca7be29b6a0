"""One run, judged: the numbers that a comparison records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._typing import FloatArray
from purtensor.comparison.peers.peer import Line
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.questions import Question
from purtensor.comparison.rule import Ending, Rule

# runs that take less are repeated until so many seconds have passed, and averaged
AT_LEAST_SECONDS = 2e-3

# a first run below so many seconds may have been compiling: it is made again before anything is measured
WARM_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave.

    Attributes
    ----------
    ending, note
        How it ended, and what there is to say about it.
    residual, residual_l1
        Of the returned table, by our own sums: the largest miss of a target, and the sum of misses in the worst
        constraint; total mass 1. NaN where no table came back, as in all numbers below.
    kl
        D(certified answer || returned table), in nats.
    dual_gap
        How far the dual is below its maximum, in nats; only for solvers that hand back potentials.
    iterations, cell_touches
        As the solver counts them; and how often a profile was visited, once a constraint for a sweep.
    seconds
        Of the run, from arrays in the solver's own format to the table.
    peak_bytes
        The rise of the resident memory.
    lines
        The trace.
    tv
        A proved bound on the total variation from the exact projection, by way of the certified answer.
    log_ratio
        The largest |log(table / certified answer)| of a profile, in nats: that of some rare one.
    """

    ending: Ending
    note: str = ""
    residual: float = math.nan
    residual_l1: float = math.nan
    kl: float = math.nan
    dual_gap: float = math.nan
    iterations: float = math.nan
    cell_touches: float = math.nan
    seconds: float = math.nan
    peak_bytes: float = math.nan
    lines: tuple[Line, ...] = ()
    tv: float = math.nan
    log_ratio: float = math.nan


def calls_for(seconds: float) -> int:
    """Return how many runs of so many seconds are averaged."""
    return max(1, math.ceil(AT_LEAST_SECONDS / max(seconds, 1e-7)))


def judge(
    question: Question, rule: Rule, masses: FloatArray, limit: Ending | None, *, lines: tuple[Line, ...], **others: Any
) -> Outcome:
    """Return the outcome of a run that handed back a table.

    Parameters
    ----------
    masses
        Shape (M,): the table on the support, total mass 1.
    limit
        How the run ended by its own account, if it gives one.
    lines
        The trace, one line at least.
    others
        Other attributes of the outcome.
    """
    residual, l1 = question.plain.misses(masses)
    tv, log_ratio = distances_to(question, masses)
    return Outcome(
        _ending(rule, residual, l1, limit),
        residual=residual,
        residual_l1=l1,
        kl=divergence_to(question.plain, masses),
        dual_gap=lines[-1].dual_gap,
        lines=lines,
        tv=tv,
        log_ratio=log_ratio,
        **others,
    )


def _ending(rule: Rule, residual: float, l1: float, limit: Ending | None) -> Ending:
    if limit is Ending.INTERRUPTED:
        return limit
    if math.isnan(residual):
        return Ending.NOT_FINITE
    if rule.is_met(residual, l1):
        return Ending.CONVERGED_ON_FACE if limit is Ending.CONVERGED_ON_FACE else Ending.CONVERGED
    if limit is None or limit.converged:
        return Ending.STOPPED_SHORT
    return limit


def divergence_to(problem: PlainProblem, masses: FloatArray) -> float:
    """Return D(certified answer || masses) in nats, summed from terms that are never negative; NaN without answer."""
    q = problem.solution
    if q is None or not np.isfinite(masses).all() or not masses.sum() > 0 or masses.min() < 0:
        return math.nan
    p = masses / masses.sum()
    if np.any(p[q > 0] == 0):
        return math.inf
    here = q > 0
    ratio = p[here] / q[here] - 1.0
    # r - log(1 + r) by its series where the difference would cancel
    small = np.abs(ratio) < 1e-4
    with np.errstate(divide="ignore"):
        terms = np.where(small, ratio**2 * (0.5 - ratio / 3.0), ratio - np.log1p(ratio))
    # the terms add r = p / q - 1, whose mean under q is minus the mass of p elsewhere
    return float((q[here] * terms).sum() + p[~here].sum())


def distances_to(question: Question, masses: FloatArray) -> tuple[float, float]:
    """Return `tv` and `log_ratio` of an `Outcome`: how far masses are from the certified answer; NaN without one."""
    q, answer = question.plain.solution, question.certified
    if q is None or answer is None or not np.isfinite(masses).all() or not masses.sum() > 0 or masses.min() < 0:
        return math.nan, math.nan
    p, here = masses / masses.sum(), q > 0
    with np.errstate(divide="ignore"):
        log_ratio = np.abs(np.log(p[here] / q[here])).max()
    # by the triangle inequality, over the certified answer
    return float(0.5 * np.abs(p - q).sum() + answer.tv_bound), float(log_ratio)
