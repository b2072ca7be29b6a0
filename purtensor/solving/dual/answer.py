"""From a question to its answer: what zero targets empty, the dual, the proof, and the way back to all rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse.linalg import spsolve

from purtensor._typing import FloatArray, IntArray
from purtensor.solving.dual.ascent import DualRun
from purtensor.solving.dual.certificate import certify
from purtensor.solving.dual.columns.kind import bregman_entropy
from purtensor.solving.dual.prepare import Prepared, cells_of, prepare
from purtensor.solving.dual.question import Question, penalty_paid, pull_at_nothing
from purtensor.solving.dual.remainder import is_only_estimated
from purtensor.solving.dual.solve import solve
from purtensor.solving.dual.watch import StepLine, Watch
from purtensor.solving.termination import Termination

_L1_FACTOR = 100.0
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
_EXACT = 1e-13
_AHEAD = 0.1
"""Methods without equations meet rows to this share of the tolerance, which the misses of whole constraints share."""

_STOPPED = {
    "iterations": Termination.ITERATION_LIMIT,
    "seconds": Termination.TIME_LIMIT,
    "callback": Termination.INTERRUPTED,
    "interrupted": Termination.INTERRUPTED,
    "refuted": Termination.STALLED,
}


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The nearest masses, with what is proved of them.

    Attributes
    ----------
    masses
        Shape (cells,): sizes, where the reference has signs.
    potentials
        Shape (rows,), in nats per unit of the row: -inf where a target of 0 empties its cells.
    at_bound, bound_potentials
        Shape (cells,): -1 and 1 at a lower and an upper bound, and what the bound takes off the potentials' sum there.
    sums
        Shape (rows,): what the rows come to.
    residual, residual_l1
        The largest miss of a hard row over its unit, and the largest sum of a constraint's, total mass 1.
    objective, divergence
        What was minimised, and KL(masses || reference) of both divided by their totals, in nats.
    bound, tv_bound
        The objective is within `bound` of the least, the masses within `tv_bound` of the answer in total variation.
    refuted
        Whether the run ended because its potentials show that there is no answer.
    """

    masses: FloatArray
    potentials: FloatArray
    at_bound: IntArray
    bound_potentials: FloatArray
    sums: FloatArray
    residual: float
    residual_l1: float
    objective: float
    divergence: float
    bound: float
    tv_bound: float
    termination: Termination
    iterations: int
    seconds: float
    notes: tuple[str, ...]
    lines: tuple[StepLine, ...] = field(repr=False)
    refuted: bool = False

    @property
    def certified(self) -> bool:
        """Whether the bounds are proved."""
        return bool(np.isfinite(self.bound))


def answer(
    question: Question,
    *,
    tolerance: float = 1e-10,
    stop_on: str = "residual",
    max_iterations: int = 2000,
    max_seconds: float = float("inf"),
    callback: Callable[[StepLine], bool] | None = None,
    start: FloatArray | None = None,
    certificate: bool = True,
    method: str = "newton",
    memory: int = 10,
    refute: bool = True,
) -> Answer:
    """Return the answer of a question; `start` has potentials of all rows.

    `method` is "newton", "ipf", "gis" or "lbfgs", and `memory` is how many steps the last of these remembers.

    With `refute` a run ends as soon as its potentials show, but for rounding, that nothing meets the rows.

    Raises
    ------
    InfeasibleError
        A hard row without any cell that must not come to 0.
    InvalidOptionError, InvalidTableError
        Penalties that do not fit their rows.
    """
    prepared = prepare(question)
    watch = Watch(max_iterations, max_seconds, callback, refute=refute)
    begin = None if start is None else start_from(prepared, start)
    # Newton's steps are quadratic, so rounding costs a step more than any tolerance
    exact = _EXACT if method == "newton" else max(_EXACT, _AHEAD * tolerance)
    run = solve(prepared.problem, watch, start=begin, tolerance=exact, method=method, memory=memory)
    return conclude(question, prepared, run, watch, tolerance, stop_on=stop_on, certificate=certificate)


def conclude(
    question: Question,
    prepared: Prepared,
    run: DualRun,
    watch: Watch,
    tolerance: float,
    *,
    stop_on: str = "residual",
    certificate: bool = True,
) -> Answer:
    """Return where a run ended as an answer of its question, proved where that is requested and can be."""
    problem = prepared.problem
    proof, interrupted = None, run.stopped == "interrupted"
    if certificate and run.stopped not in ("interrupted", "refuted"):
        try:
            proof = certify(problem, run.point, advance=run.converged)
        except KeyboardInterrupt:  # the state is worth keeping, but is not an answer that was proved
            interrupted = True
    scale = math.ldexp(1.0, prepared.exponent)
    found, x = run.point.potentials, run.point.x[: problem.cells]
    # the certificate's potentials are Newton's next step: nearer, and what the bound is about
    if proof is not None and proof.proved:
        found, x = proof.potentials, proof.cells
    masses = np.zeros(len(question.reference))
    masses[prepared.cells] = x * scale
    potentials = np.concatenate(
        [pull_at_nothing(b, cost) for b, cost in zip(question.blocks, question.costs, strict=True)]
    )
    # back from combined and scaled rows: C^T y must be the same on the cells
    potentials[prepared.rows] = prepared.mixing.T @ (found * problem.row_scales)
    # the limit of potentials that empty their cells
    potentials[prepared.emptying] = -np.inf
    at_bound, held = _bounds(question, prepared, problem.back(found)[: problem.cells])
    sums = question.sums(masses)
    residual, residual_l1 = residuals(question, prepared, masses, sums)
    mass = float(np.abs(masses).sum())
    bound, tv_bound = float("inf"), 1.0
    estimated = is_only_estimated(problem)
    if proof is not None and proof.proved and not estimated:
        bound = proof.gap * scale / question.total
        apart = proof.distance * scale
        if question.fixed_total:
            # distributions of equal totals: half of the L1 distance, and what the totals differ by
            apart = 0.5 * (apart + abs(mass - question.total) + _ROUNDING * question.total)
        tv_bound = min(1.0, apart / mass)
    met = residual <= tolerance and residual_l1 <= _L1_FACTOR * tolerance
    if stop_on == "tv_bound":
        met = tv_bound <= tolerance
    if interrupted:
        termination = Termination.INTERRUPTED
    elif run.stopped and not (met and run.converged):
        termination = _STOPPED[run.stopped]
    elif met and (run.converged or tv_bound <= tolerance):
        termination = Termination.CONVERGED
    else:
        termination = Termination.STALLED if np.isfinite(residual) else Termination.NOT_FINITE
    emptied = len(question.reference) - len(prepared.cells)
    notes = [f"via {run.way}"] if run.way else []
    if emptied:
        notes.append(f"targets and bounds of 0 exclude {emptied} profiles")
    if estimated:
        notes.append("no bounds are proved: the rows are too many to prove how far masses are that meet them exactly")
    return Answer(
        masses=masses,
        potentials=potentials,
        at_bound=at_bound,
        bound_potentials=held,
        sums=sums,
        residual=residual,
        residual_l1=residual_l1,
        objective=_objective(question, masses, sums),
        divergence=_divergence(masses, question.reference),
        bound=bound,
        tv_bound=tv_bound,
        termination=termination,
        iterations=watch.iterations,
        seconds=watch.seconds,
        notes=tuple(notes),
        lines=tuple(watch.lines),
        refuted=run.stopped == "refuted",
    )


def residuals(question: Question, prepared: Prepared, masses: FloatArray, sums: FloatArray) -> tuple[float, float]:
    """Return the largest miss of a hard row over its unit, and the largest sum of a constraint's, total mass 1.

    The unit is the row's largest coefficient. Where the count of its group is fixed, both are of the centred row, which
    alone has the digits.
    """
    units = question.row_sizes
    misses = np.abs(question.misses(sums)) / (question.total * np.where(units > 0.0, units, 1.0))
    x = masses[prepared.cells] * math.ldexp(1.0, -prepared.exponent)
    rows, of_centred = prepared.measure_centred(x)
    misses[rows] = of_centred
    misses = np.where(question.hard, misses, 0.0)
    # of a whole constraint: many misses within the tolerance may add up
    blocks = np.add.reduceat(misses, question.offsets[:-1])
    return float(misses.max()), float(blocks.max())


def start_from(prepared: Prepared, start: FloatArray) -> FloatArray:
    """Return potentials of all rows as those of the problem's rows, by least squares where rows were combined."""
    wanted = np.where(np.isfinite(start), start, 0.0)[prepared.rows]
    found = spsolve(prepared.mixing.T.tocsc(), wanted) if len(wanted) else wanted
    return np.asarray(np.atleast_1d(found) / prepared.problem.row_scales)


def _bounds(question: Question, prepared: Prepared, z: FloatArray) -> tuple[IntArray, FloatArray]:
    kind = prepared.problem.columns.blocks[0]
    at, held = np.zeros(len(question.reference), dtype=np.int8), np.zeros(len(question.reference))
    lower, upper = np.isfinite(kind.lowest) & (z <= kind.lowest), np.isfinite(kind.highest) & (z >= kind.highest)
    at[prepared.cells] = np.where(upper & (z > kind.lowest), 1, np.where(lower, -1, np.where(upper, 1, 0)))
    # how far the potentials push beyond the bound, which is the price of that bound
    held[prepared.cells] = z - np.clip(z, kind.lowest, kind.highest)
    return at, held


def _objective(question: Question, masses: FloatArray, sums: FloatArray) -> float:
    # cells that an upper bound of 0 empties have no logit distance, and pay nothing
    cells = np.flatnonzero((question.upper > 0.0) | (question.distance != "logit"))
    with np.errstate(divide="ignore", invalid="ignore"):
        paid = float(cells_of(question, cells, 1.0).divergence(masses[cells], question.reference[cells]).sum())
    soft = sum(penalty_paid(b, sums[question.block(k)], question.costs[k]) for k, b in enumerate(question.blocks))
    return (paid + soft) / question.total


def _divergence(masses: FloatArray, reference: FloatArray) -> float:
    mass, total = float(masses.sum()), float(reference.sum())
    if not mass > 0.0 or (masses < 0.0).any():
        return float("nan")
    return max(0.0, float(bregman_entropy(masses / mass, reference / total).sum()))
