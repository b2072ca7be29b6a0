"""Relaxed problems solved: Newton's method for each penalty, large strengths by way of smaller ones.

Where the constraints conflict, some potentials grow with the strength and some masses vanish. From the reference a
Newton step would empty the wrong ones; along a ladder of strengths the potentials are nearly straight lines, and each
rung starts where the last two point to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq

from purtensor._typing import FloatArray
from purtensor.solving.iterate import iterate_at
from purtensor.solving.soft_ascent import SoftEnding, SoftRun
from purtensor.solving.soft_barrier import Bounded, ascend_absolute
from purtensor.solving.soft_newton import ascend_smooth
from purtensor.solving.soft_penalty import SmoothPenalty
from purtensor.solving.soft_polish import polished
from purtensor.solving.soft_problem import SoftProblem

_RUNGS = 4.0
"""How much larger each strength of the ladder is; at 10 some problems were lost on the way."""

_FIRST_SMOOTH, _FIRST_ABSOLUTE = 100.0, 30.0
"""Up to these strengths problems are solved from the reference."""

_SETTLED = 1e-13
"""Misses that change no more between two rungs have reached their smallest sum, to rounding."""

_SLACK_MET = 1e-12
_MOST_TRIALS = 60
_LARGEST_LOGARITHM = 30.0

_Rung: TypeAlias = Callable[[float, "FloatArray | None", int], SoftRun]


def relax_smoothly(
    soft: SoftProblem,
    penalty: Callable[[float], SmoothPenalty],
    strength: float,
    *,
    tolerance: float,
    max_iterations: int,
    is_hopeless: Callable[[], bool],
) -> SoftRun:
    """Return the least of divergence and a smooth penalty, made by `penalty` of a strength."""

    def rung(level: float, start: FloatArray | None, left: int) -> SoftRun:
        return ascend_smooth(
            soft, penalty(level), tolerance=tolerance, max_iterations=left, is_hopeless=is_hopeless, start=start
        )

    return _up_the_ladder(soft, rung, _ladder(strength, _FIRST_SMOOTH), max_iterations, lambda before, now: False)


def relax_absolutely(
    soft: SoftProblem, strength: float, *, tolerance: float, max_iterations: int, is_hopeless: Callable[[], bool]
) -> SoftRun:
    """Return the least of divergence and strength times the misses; its `level` is the strength that was reached.

    The ladder ends early where the misses have their smallest sum: a larger strength changes no mass any more.
    """

    def rung(level: float, start: FloatArray | None, left: int) -> SoftRun:
        return ascend_absolute(
            soft,
            Bounded(strength=level),
            tolerance=tolerance,
            gap=tolerance**2,
            max_iterations=left,
            is_hopeless=is_hopeless,
            start=None if start is None else (start, level),
        )

    def settled(before: SoftRun, now: SoftRun) -> bool:
        return abs(_missed(soft, before) - _missed(soft, now)) <= _SETTLED * max(1.0, now.level)

    run = _up_the_ladder(soft, rung, _ladder(strength, _FIRST_ABSOLUTE), max_iterations, settled)
    try:
        return polished(soft, run, tolerance)
    except KeyboardInterrupt:
        return replace(run, ending=SoftEnding.INTERRUPTED)


def within_slack(
    soft: SoftProblem,
    slack: float,
    *,
    tolerance: float,
    max_iterations: int,
    is_hopeless: Callable[[], bool],
    start: SoftRun | None = None,
) -> SoftRun:
    """Return the least divergence where the soft rows' misses sum up to at most `slack`, the total mass being 1.

    Rows without a profile are not counted: what they miss is the same whatever happens. The `level` of the run is the
    multiplier of the slack; `start` is a run with another slack. Where the bordered equations lose the slack to
    rounding, next to the smallest misses there are, the strength that leaves it is searched for instead: the misses
    fall continuously as it grows.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C: a point with another slack is no answer.
    """
    run = ascend_absolute(
        soft,
        Bounded(slack=slack * soft.problem.total),
        tolerance=tolerance,
        gap=tolerance**2,
        max_iterations=max_iterations,
        is_hopeless=is_hopeless,
        start=None if start is None or not start.level else (start.point.potentials, start.level),
    )
    if run.ending is SoftEnding.INTERRUPTED:
        raise KeyboardInterrupt
    if run.ending is SoftEnding.CONVERGED:
        for candidate in (polished(soft, run, tolerance), run):  # next to a vertex the last digits are those of it
            if _is_used_up(_missed(soft, candidate) - slack, candidate.level, tolerance):
                return candidate
    known: dict[float, SoftRun] = {}

    def excess(logarithm: float) -> float:
        strength = math.exp(logarithm)
        known[logarithm] = relax_absolutely(
            soft, strength, tolerance=tolerance, max_iterations=max_iterations, is_hopeless=is_hopeless
        )
        if known[logarithm].ending is SoftEnding.INTERRUPTED:
            raise KeyboardInterrupt
        return _missed(soft, known[logarithm]) - slack

    low, high = _bracket(excess)
    found = brentq(excess, low, high, xtol=1e-14, maxiter=_MOST_TRIALS, disp=False) if low < high else low
    run = known[min(known, key=lambda logarithm: abs(logarithm - found))]
    missed = _missed(soft, run) - slack
    ending = SoftEnding.STALLED if missed > _SLACK_MET and run.ending is SoftEnding.CONVERGED else run.ending
    return replace(run, ending=ending, iterations=sum(one.iterations for one in known.values()))


def _is_used_up(excess: float, level: float, tolerance: float) -> bool:
    """Tell whether the misses are the slack, or so little less that it is worth nothing."""
    return -tolerance <= excess and abs(excess) * max(1.0 if excess > 0.0 else 0.0, level) <= _SLACK_MET


def _bracket(excess: Callable[[float], float]) -> tuple[float, float]:
    """Return logarithms of two strengths between which the excess changes its sign; twice the last if it does not."""
    low = high = 0.0
    width = 1.0
    if excess(0.0) > 0.0:
        while excess(high) > 0.0:
            if high >= _LARGEST_LOGARITHM:
                return high, high
            low, high, width = high, high + width, 2.0 * width
    else:
        while excess(low) <= 0.0:
            if low <= -_LARGEST_LOGARITHM:
                return low, low
            low, high, width = low - width, low, 2.0 * width
    return low, high


def _ladder(strength: float, first: float) -> list[float]:
    rungs = []
    while first < strength:
        rungs.append(first)
        first *= _RUNGS
    return [*rungs, strength]


def _missed(soft: SoftProblem, run: SoftRun) -> float:
    """Return the sum of the soft rows' misses, the total mass being 1."""
    return float(np.abs(run.point.sums[soft.rows] - soft.soft_targets).sum()) / soft.problem.total


def _up_the_ladder(
    soft: SoftProblem,
    rung: _Rung,
    strengths: list[float],
    max_iterations: int,
    settled: Callable[[SoftRun, SoftRun], bool],
) -> SoftRun:
    """Return the run at the last strength, or at the first where nothing changes any more or that fails."""
    runs: list[SoftRun] = []
    iterations = 0
    for level in strengths:
        start = _predicted(soft, strengths, runs, level)
        run = replace(rung(level, start, max_iterations - iterations), level=level)
        iterations += run.iterations
        runs.append(run)
        if run.ending is not SoftEnding.CONVERGED or (len(runs) > 1 and settled(runs[-2], run)):
            break
    return replace(runs[-1], iterations=iterations)


def _predicted(soft: SoftProblem, strengths: list[float], runs: list[SoftRun], level: float) -> FloatArray | None:
    """Return the potentials that the last two runs point to, those of the last where that overflows."""
    if not runs:
        return None
    last = runs[-1].point.potentials
    if len(runs) == 1:
        return last
    before, now = strengths[len(runs) - 2], strengths[len(runs) - 1]
    ahead: FloatArray = last + (level - now) / (now - before) * (last - runs[-2].point.potentials)
    mass = float(iterate_at(soft.problem, ahead).masses.sum())
    return ahead if 0.0 < mass < np.inf else last
