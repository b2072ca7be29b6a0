"""L-BFGS on the dual of a problem whose profiles lie on disk: the driver holds the rows, each value is a pass.

The steps are those of `LBFGS` in memory: a direction shaped by earlier steps, searched by what the dual gains along it
(notes/solvers.md, equation 5). One iteration is one pass along the direction, and one for each length that is tried.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.divergence import divergence_sum
from purtensor.kernels.ipf.steps import measure, rebuild_masses
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.newton.line_search import LARGEST_CHANGE, SUFFICIENT, curvature
from purtensor.kernels.spread import spread
from purtensor.outofcore.engine import map_reduce
from purtensor.outofcore.passes import Tally, added
from purtensor.outofcore.rows_problem import Chunk, RowProblem
from purtensor.solving.solvers.lbfgs import (
    SHORTEST_CHANGE,
    SMALLEST_TARGET,
    Pair,
    two_loops,
)
from purtensor.solving.stopping import has_emptied


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Potentials at which the masses have the targets' total, and what they miss: the gradient of the dual."""

    potentials: FloatArray
    miss: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Went:
    """A step of the potentials, what the dual gains by it, and by how much that is less than the slope promised."""

    step: FloatArray
    gain: float
    bend: float


def sums_at(problem: RowProblem, potentials: FloatArray) -> Tally:
    """Return the sums of the rows at these potentials, and the mass; of the reference, as scaled, where all are 0."""
    return map_reduce(sums_pass, added, problem.chunks, problem.folder / "chunks", problem.offsets, potentials)


def place_at(problem: RowProblem, potentials: FloatArray, told: Tally | None = None) -> Place:
    """Return the place at these potentials, a constant added so that the masses have the targets' total.

    `told` are the sums there, where they are known.
    """
    told = sums_at(problem, potentials) if told is None else told
    ratio = problem.total / told.sums["mass"]
    moved = potentials.copy()
    moved[problem.block(0)] += np.log(ratio)
    return Place(moved, problem.targets - ratio * told.sums["rows"])


def step_from(problem: RowProblem, place: Place, pairs: deque[Pair]) -> Went | None:
    """Return the step that L-BFGS takes; None where rounding leaves none."""
    folder, total = problem.folder / "chunks", problem.total
    direction = two_loops(pairs, place.miss, 1.0 / np.maximum(problem.targets, SMALLEST_TARGET))
    told = map_reduce(way_pass, added, problem.chunks, folder, problem.offsets, place.potentials, direction)
    mean = told.sums["moment"] / told.sums["mass"]
    largest = max(told.largest["highest"] - mean, told.largest["lowest"] + mean)
    direction[problem.block(0)] -= mean
    slope = inner_product(place.miss, direction)
    if not (np.isfinite(slope) and slope > 0.0 and 0.0 < largest < np.inf):
        return None
    length = min(1.0, LARGEST_CHANGE / largest)
    while length * largest > SHORTEST_CHANGE:
        bent = map_reduce(
            bend_pass, added, problem.chunks, folder, problem.offsets, place.potentials, direction, length
        )
        gain = length * slope - total * float(np.log1p(bent.sums["bend"] / total))
        if gain >= SUFFICIENT * length * slope:
            return Went(length * direction, gain, length * slope - gain)
        # the maximum of the parabola through the slope and this gain, kept well inside
        peak = 0.5 * slope * length**2 / (slope * length - gain)
        length = min(max(peak, 0.1 * length), 0.5 * length)
    return None


def divergence_at(problem: RowProblem, potentials: FloatArray) -> float:
    """Return the divergence of the point from the reference, in nats."""
    told = map_reduce(
        divergence_pass,
        added,
        problem.chunks,
        problem.folder / "chunks",
        problem.offsets,
        potentials,
        problem.total,
        problem.mass,
    )
    return max(0.0, float(told.sums["divergence"]) + problem.nats_left_out)


def has_emptied_at(problem: RowProblem, place: Place, residual_l1: float) -> bool:
    """Tell whether a point that meets the targets has all but emptied profiles, as in memory."""
    told = map_reduce(
        emptied_pass,
        any,
        problem.chunks,
        problem.folder / "chunks",
        problem.offsets,
        place.potentials,
        (problem.total, problem.mass),
        residual_l1,
    )
    return bool(told)


def masses_on(folder: Path, number: int, offsets: IntArray, potentials: FloatArray) -> tuple[Chunk, FloatArray]:
    """Return a chunk and reference * exp(C^T potentials) on it."""
    chunk = Chunk.read(folder, number)
    masses = np.empty_like(chunk.reference)
    rebuild_masses(chunk.reference, chunk.index, offsets, potentials, masses)
    return chunk, masses


def sums_pass(number: int, folder: Path, offsets: IntArray, potentials: FloatArray) -> Tally:
    """Return the marginals of a chunk, and its mass."""
    chunk, masses = masses_on(folder, number, offsets, potentials)
    sums = np.zeros(int(offsets[-1]))
    measure(masses, chunk.index, offsets, np.zeros_like(sums), sums)
    return Tally({"rows": sums, "mass": float(masses.sum())})


def emptied_pass(
    number: int,
    folder: Path,
    offsets: IntArray,
    potentials: FloatArray,
    totals: tuple[float, float],
    residual_l1: float,
) -> bool:
    """Tell whether a chunk has profiles that are all but empty."""
    chunk, masses = masses_on(folder, number, offsets, potentials)
    return has_emptied(masses, chunk.reference, totals, residual_l1)


def way_pass(number: int, folder: Path, offsets: IntArray, potentials: FloatArray, direction: FloatArray) -> Tally:
    """Return the mass of a chunk, its mean change along a direction times that, and the extremes of the change."""
    chunk, masses = masses_on(folder, number, offsets, potentials)
    change = np.empty_like(masses)
    spread(chunk.index, offsets, direction, change)
    return Tally(
        {"mass": float(masses.sum()), "moment": inner_product(masses, change)},
        {"highest": float(change.max()), "lowest": -float(change.min())},
    )


def bend_pass(
    number: int, folder: Path, offsets: IntArray, potentials: FloatArray, direction: FloatArray, length: float
) -> Tally:
    """Return by how much the dual bends on a chunk along a step of this length."""
    chunk, masses = masses_on(folder, number, offsets, potentials)
    change = np.empty_like(masses)
    spread(chunk.index, offsets, direction, change)
    return Tally({"bend": curvature(masses, change, length)})


def divergence_pass(
    number: int, folder: Path, offsets: IntArray, potentials: FloatArray, total: float, mass: float
) -> Tally:
    """Return the share of a chunk in the divergence from the reference."""
    chunk, masses = masses_on(folder, number, offsets, potentials)
    return Tally({"divergence": divergence_sum(masses, chunk.reference, total, mass)})
