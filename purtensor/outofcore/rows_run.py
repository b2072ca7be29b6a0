"""The loop of L-BFGS on a problem by its rows: it counts, judges and stops; there is no checkpoint."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from purtensor.kernels.compiling import wall_clock
from purtensor.outofcore.ascent import Place, place_at, step_from
from purtensor.outofcore.feasibility_check import Stage, gains_little
from purtensor.outofcore.rows_problem import RowProblem
from purtensor.solving.iterate import Record
from purtensor.solving.solvers.lbfgs import LBFGS, Pair, learn
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination
from purtensor.solving.trace_lines import TraceLine


def ascended(
    problem: RowProblem,
    place: Place,
    solver: LBFGS,
    stopping: Stopping,
    told: Callable[[Stage], Any] | None,
    is_hopeless: Callable[[], bool] | None = None,
) -> tuple[Place, list[TraceLine], Termination]:
    """Return where the steps lead, their trace, and how they end.

    `is_hopeless` is asked where a long run gains little, as in memory: whether it is proved that the run works for a
    point that does not exist.
    """
    started = wall_clock()
    pairs: deque[Pair] = deque(maxlen=solver.memory)
    lines = [_line(problem, place, 0, 0.0, 0.0)]
    while True:
        last = lines[-1]
        ending = _ending(last, stopping)
        if ending not in (None, Termination.ITERATION_LIMIT):
            return place, lines, ending
        try:
            if is_hopeless is not None and gains_little(lines, last.iteration) and is_hopeless():
                ending = Termination.HOPELESS
            if ending is not None:
                return place, lines, ending
            went = step_from(problem, place, pairs)
            if pairs and (went is None or _is_rounding(problem, went.gain)):
                pairs.clear()  # what was learnt may be rounding
                went = step_from(problem, place, pairs)
            if went is None:
                return place, lines, Termination.STALLED
            reached = place_at(problem, place.potentials + went.step)
        except KeyboardInterrupt:
            return place, lines, Termination.INTERRUPTED
        learn(pairs, went.step, went.bend, place.miss - reached.miss)
        place = reached
        line = _line(problem, place, last.iteration + 1, wall_clock() - started, went.gain / problem.total)
        lines.append(line)
        if _is_rounding(problem, went.gain):
            return place, lines, _ending(line, stopping, judged=True) or Termination.STALLED
        stage = Stage(line.iteration, line.seconds, line.record.residual, line.record.residual_l1)
        if told is not None and told(stage):
            return place, lines, Termination.INTERRUPTED


def _is_rounding(problem: RowProblem, gain: float) -> bool:
    return gain / problem.total <= len(problem.scopes) * 2.0**-100


def _line(problem: RowProblem, place: Place, iteration: int, seconds: float, gain: float) -> TraceLine:
    residual, residual_l1 = row_residuals(problem, place)
    linear = float(problem.targets @ place.potentials) / problem.total
    dual = linear - float(np.log(problem.total / problem.mass))
    return TraceLine(Record(1, residual, residual_l1, gain, dual), iteration, seconds)


def row_residuals(problem: RowProblem, place: Place) -> tuple[float, float]:
    """Return the largest miss of a target and the L1 miss of the worst constraint, total mass 1."""
    misses = np.abs(place.miss)
    l1 = [float(misses[problem.block(k)].sum()) for k in range(len(problem.scopes))]
    return float(misses.max()) / problem.total, max(l1) / problem.total


def _ending(line: TraceLine, stopping: Stopping, *, judged: bool = False) -> Termination | None:
    record = line.record
    if not np.isfinite(record.residual_l1):
        return Termination.NOT_FINITE
    if stopping.is_met_by(record.residual, record.residual_l1):
        return Termination.CONVERGED
    if judged:
        return None
    if line.seconds > stopping.max_seconds:
        return Termination.TIME_LIMIT
    return Termination.ITERATION_LIMIT if line.iteration >= stopping.max_iterations else None
