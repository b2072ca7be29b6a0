"""The whole run: plain ascent first, and what else is tried where it lingers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.dual.ascent import AscentOptions, DualRun, ascend, point_at
from purtensor.solving.dual.certificate import certify
from purtensor.solving.dual.columns.squares import LinearCostColumns
from purtensor.solving.dual.first_order import IterativeScaling, LimitedMemory, sweep_rows
from purtensor.solving.dual.interior import InteriorPoint, interior_phase
from purtensor.solving.dual.problem import DualProblem
from purtensor.solving.dual.watch import StoppedError, Watch
from purtensor.solving.termination import Termination

_PATIENCE = 25
_POLISHING = 60
_LONG = 150
_FASTER = 4.0
_SLOWEST = 1.1
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.0)
_SETTLED = 1e-13
# so many slacks of linear cost, each of which bends the dual, hold plain ascent up
_MANY_KINKS = 10
_INTERIOR = 1e-10
# some 18 eps: what is left of a condition whose terms are as large as the strongest cost
_UNIT = 4e-15
_AT_THE_ANSWER = 1e-10
_STRONG = 10.0
"""Absolute penalties stronger than this many nats per unit are reached by way of weaker ones."""


def solve(
    problem: DualProblem,
    watch: Watch,
    *,
    tolerance: float = 1e-13,
    start: FloatArray | None = None,
    slack: FloatArray | None = None,
    method: str = "newton",
    memory: int = 10,
) -> DualRun:
    """Return the optimum of the dual, from potentials where they are given and, with them, from slacks near its own.

    `memory` is how many steps "lbfgs" remembers.

    Plain ascent takes most problems; conflicting absolute penalties and answers with very many active bounds go by way
    of an interior point, of weaker penalties, or of softened rows, and every way ends with an ascent of the problem as
    it was asked.
    """
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        try:
            if method == "newton":
                return _solve_by_newton(problem, watch, tolerance, start, slack)
            return _solve_by_first_order(problem, watch, tolerance, start, method, memory)
        except (StoppedError, KeyboardInterrupt) as error:
            # the watch keeps the potentials of the last step, so a run that is ended has a state to return
            last = np.zeros(problem.rows) if watch.potentials is None else watch.potentials
            point = point_at(problem, problem.columns, last)
            why = error.why if isinstance(error, StoppedError) else "interrupted"
            return DualRun(point, Termination.ITERATION_LIMIT, point.residual(problem.mass), stopped=why)


def _solve_by_first_order(
    problem: DualProblem, watch: Watch, tolerance: float, start: FloatArray | None, method: str, memory: int
) -> DualRun:
    """Return where a method without equations leads: it has no other way to try, and continues to the watch's limit."""
    if method == "ipf":
        return sweep_rows(problem, watch, tolerance=tolerance, start=start)
    step = LimitedMemory(memory) if method == "lbfgs" else IterativeScaling(problem)
    # one more than the watch allows, so that the watch ends the run and names the reason
    options = AscentOptions(tolerance=tolerance, most_steps=watch.max_iterations + 1, step=step)
    return replace(ascend(problem, start, options, watch), way=method)


def _solve_by_newton(
    problem: DualProblem, watch: Watch, tolerance: float, start: FloatArray | None, slack: FloatArray | None
) -> DualRun:
    linear = problem.columns.linear
    kinks = 0 if linear is None else len(linear.cost)
    strongest = 0.0 if linear is None else float(linear.cost.max(initial=0.0))
    best: DualRun | None = None
    # given potentials are of the answer nearby: plain ascent from there is tried whatever the costs
    if (kinks < _MANY_KINKS and strongest <= _STRONG) or start is not None:
        wide = 1.0 if slack is None else 10.0
        plain = AscentOptions(tolerance=tolerance, most_steps=_PATIENCE, sigma=wide, slack=slack)
        best = ascend(problem, start, plain, watch)
        if best.converged:
            return best
    for way in (_try_interior, _try_strengths):
        found = way(problem, tolerance, watch)
        if found is not None:
            # a phase may stand at the answer and still creep: the certificate knows
            best = _choose_better(best, _prove_converged(problem, found))
            if best.converged:
                return best
    return _choose_better(best, _soften_less_and_less(problem, tolerance, watch))


def _try_interior(problem: DualProblem, tolerance: float, watch: Watch) -> DualRun | None:
    """Return the ascent from an interior point; None where that has not come near."""
    inner = _find_interior_point(problem, watch)
    if not inner.usable:
        return None
    polish = _polish(tolerance, inner)
    return replace(ascend(problem, inner.potentials, polish, watch), way="interior")


def _polish(tolerance: float, inner: InteriorPoint) -> AscentOptions:
    return AscentOptions(tolerance=tolerance, most_steps=_POLISHING, sigma=10.0, slack=inner.x, sharp=True)


def _find_interior_point(problem: DualProblem, watch: Watch) -> InteriorPoint:
    """Return the interior point, as of a linear program where costs are strong."""
    linear = problem.columns.linear
    strongest = 0.0 if linear is None else float(linear.cost.max(initial=0.0))
    tolerance = max(_INTERIOR, _UNIT * strongest)  # costs so strong leave no more digits to what a cell lacks
    return interior_phase(problem, watch, tolerance=tolerance, most=_LONG, walled=strongest > _STRONG)


def _try_strengths(problem: DualProblem, tolerance: float, watch: Watch) -> DualRun | None:
    """Return the ascent by way of weaker penalties; None where none is strong."""
    linear = problem.columns.linear
    if linear is None or linear.cost.max(initial=0.0) <= _STRONG:
        return None
    return _raise_strengths(problem, linear, tolerance, watch)


def _prove_converged(problem: DualProblem, phase: DualRun) -> DualRun:
    """Return a phase that did not end of itself as one that did, where a certificate shows that it is at the answer.

    Where rows hardly bend, slacks of strong costs creep to where they belong; the certificate puts them there at once.
    """
    if phase.converged or not np.isfinite(phase.residual):
        return phase
    proof = certify(problem, phase.point, advance=True)
    if not proof.distance <= _AT_THE_ANSWER * problem.mass:
        return phase
    point = point_at(problem, phase.point.columns, proof.potentials)
    return replace(phase, point=point, ending=Termination.CONVERGED, residual=point.residual(problem.mass))


def _choose_better(one: DualRun | None, other: DualRun) -> DualRun:
    if one is None or other.converged or other.residual < one.residual:
        return other
    return one


def _raise_strengths(problem: DualProblem, linear: LinearCostColumns, tolerance: float, watch: Watch) -> DualRun:
    """Return the ascent at the full strengths, reached by strengths that grow up to fourfold.

    From some strength on the misses are the least that there are, and the masses stay as they are: then potentials
    grow in proportion, and those of two strengths point to those of any other. A strength that fails is come to by
    smaller steps.
    """
    full, strength, way = float(linear.cost.max()), _STRONG, f"strengths from {_STRONG:g} on"
    known: list[tuple[float, FloatArray]] = []
    last: DualRun | None = None
    growth = _FASTER
    while True:
        # weaker costs keep their own strength: only those beyond are cut
        weaker = LinearCostColumns(np.minimum(linear.cost, strength), linear.lower, linear.upper)
        own = problem.with_columns(problem.columns.with_linear(weaker))
        found = _ascend_at_strength(own, _extrapolate(own, known, strength), last, tolerance, watch)
        if not found.converged:
            # back to the last strength that worked, and half the way in the logarithm
            growth = math.sqrt(growth)
            if not known or growth < _SLOWEST:
                return replace(found, way=way, ending=Termination.ITERATION_LIMIT)
            strength = growth * known[-1][0]
            continue
        if strength >= full:
            return replace(found, way=way)
        known.append((strength, found.point.potentials))
        cells = slice(0, problem.cells)
        # the misses are the least that there are: masses stay, and potentials go on in proportion to the full strength
        moved = np.inf if last is None else float(np.abs(found.point.x[cells] - last.point.x[cells]).max(initial=0.0))
        last, strength = found, full if moved <= _SETTLED * problem.mass else min(growth * strength, full)


def _ascend_at_strength(
    problem: DualProblem, start: FloatArray | None, last: DualRun | None, tolerance: float, watch: Watch
) -> DualRun:
    """Return the ascent at one strength, from what weaker ones point to, else by way of an interior point."""
    if last is not None:
        near = AscentOptions(tolerance=tolerance, most_steps=_PATIENCE, sigma=10.0, slack=last.point.x)
        found = ascend(problem, start, near, watch)
        if found.converged:
            return found
    inner = _find_interior_point(problem, watch)
    if inner.usable:
        return ascend(problem, inner.potentials, _polish(tolerance, inner), watch)
    slack = None if last is None else last.point.x
    return ascend(problem, start, AscentOptions(tolerance=tolerance, most_steps=_LONG, slack=slack), watch)


def _extrapolate(problem: DualProblem, known: list[tuple[float, FloatArray]], strength: float) -> FloatArray | None:
    """Return potentials on the line through the last two that are known, as far along it as the dual rises."""
    if not known:
        return None
    last, second = known[-1]
    if len(known) < 2:
        return second
    before, first = known[-2]
    whole = (strength - last) / (last - before) * (second - first)
    return max((second + share * whole for share in _SHARES), key=lambda at: _dual_of_cells(problem, at))


def _dual_of_cells(problem: DualProblem, potentials: FloatArray) -> float:
    """Return the dual without slacks, which linear costs add nothing to while potentials keep to them."""
    kind = problem.columns.blocks[0]
    z = problem.back(potentials)[: problem.cells]
    start = np.zeros_like(z)
    response, _ = kind.respond(start)
    gain = float(potentials @ problem.targets) - float(response @ z) - kind.loss(start, z, response)
    return gain if np.isfinite(gain) else -np.inf


def _soften_less_and_less(problem: DualProblem, tolerance: float, watch: Watch) -> DualRun:
    """Return the ascent of the problem as asked, reached by rows that are softened less and less."""
    potentials: FloatArray | None = None
    # a softened dual is strongly concave, so that every stage ends; each begins where the one before ended
    for exponent in np.arange(0.0, 13.1, 0.5):
        softened = AscentOptions(tolerance=1e-6, most_steps=_POLISHING, softening=float(10.0**-exponent) * problem.mass)
        found = ascend(problem, potentials, softened, watch)
        if found.converged:
            potentials = found.point.potentials
    last = ascend(problem, potentials, AscentOptions(tolerance=tolerance, most_steps=_POLISHING), watch)
    return replace(last, way="softened rows")
