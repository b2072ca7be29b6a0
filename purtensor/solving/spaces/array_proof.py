"""The feasible point next to a table in memory, and what it proves (notes/certificate.md, equations 6 to 9)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from purtensor._threads import Chunk, chunks_of, for_each_chunk, sum_chunks
from purtensor._typing import FloatArray
from purtensor.kernels.ipf.steps import sum_rows
from purtensor.kernels.newton.proof import UNIT, add_misses, add_proof
from purtensor.solving.basis import UPWARD
from purtensor.solving.chunked import SMALLEST_IN_CHUNKS, profile_chunks
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.space import Sums


class Misses(NamedTuple):
    """What masses miss, by how much each number may be off, and how many profiles each row has; shape (D,) each."""

    missed: FloatArray
    unsure: FloatArray
    profiles: FloatArray


def misses_of(problem: Problem, masses: FloatArray, moves: FloatArray | None = None) -> Misses:
    """Return b - C (masses + moves), summed in twice the digits."""
    high, rows = problem.targets.copy(), problem.system.rows
    low, size, count = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    added = np.zeros_like(masses) if moves is None else moves

    def work(_: int, begin: int, end: int) -> None:
        for k in range(begin, end):
            block = problem.system.block(k)
            add_misses(masses, added, problem.index[k], high[block], low[block], size[block], count[block])

    for_each_chunk(work, _constraints(problem))
    missed = high + low
    # `size` is of low parts and moves only, so the error is in twice the digits
    return Misses(missed, UNIT * (2.1 * count * size + 2.0 * np.abs(missed)), count)


def misses_left(
    problem: Problem, start: Misses, moves: FloatArray, size: float, largest: float
) -> tuple[FloatArray, FloatArray]:
    """Return what moves leave of the misses, and by how much each may be off.

    `size` is the sum of the sizes of the moves, `largest` no less than the share that one is of its mass.
    """
    sums = np.empty_like(start.missed)

    def work(_: int, begin: int, end: int) -> None:
        for k in range(begin, end):
            sum_rows(moves, problem.index[k], sums[problem.system.block(k)])

    for_each_chunk(work, _constraints(problem))
    sizes = np.abs(start.missed)
    # the sizes of a row's moves, which are small beside its masses, and so is their rounding
    moved = 1.01 * np.minimum(largest * (problem.targets + sizes), size)
    return start.missed - sums, start.unsure + UNIT * ((start.profiles + 4.0) * moved + 4.0 * sizes)


def _constraints(problem: Problem) -> tuple[Chunk, ...]:
    """Return the constraints that one thread takes: each row is summed by one of them, in one order."""
    count = len(problem.index)
    return chunks_of(count, 1 if len(problem.reference) >= SMALLEST_IN_CHUNKS else count)


def rounding_weights(problem: Problem, masses: FloatArray, potentials: FloatArray) -> FloatArray:
    """Return weights of the rows: 5 and what a profile's rows weigh are the units by which its mass may be rounded.

    That is next to what the reference and these potentials say (notes/certificate.md, equation 17).
    """
    logs = problem.log_rounding
    additions = len(problem.index) - (logs is None)
    weights = additions * np.abs(potentials)
    if logs is not None:
        # every profile has one row of the first constraint: the row takes the most that any of its profiles has
        np.maximum.at(most := np.zeros(problem.offsets[1]), problem.index[0], np.where(masses > 0.0, logs, 0.0))
        weights[: problem.offsets[1]] += most
    return weights


def proof_sums(
    problem: Problem, point: tuple[FloatArray, FloatArray], moves: FloatArray, potentials: FloatArray, rest: FloatArray
) -> Sums:
    """Return what the feasible point proves that lies at the moves of a point (masses, potentials), `rest` off."""
    (masses, own), total, chunks = point, problem.total, profile_chunks(problem)
    sizes, weights = np.abs(potentials), rounding_weights(problem, masses, own)
    moved = float(moves.sum())  # the exact total is that of the targets less this
    # the change of the total is no distance: p is compared when scaled by it
    away = -moved / float(masses.sum())
    found = np.empty((len(chunks), 6))

    def work(c: int, begin: int, end: int) -> None:
        add_proof(
            masses, moves, rest, problem.index, problem.offsets, potentials, sizes, weights, away, begin, end, found[c]
        )

    for_each_chunk(work, chunks)
    upper, gap, distance, left = (float(one) * UPWARD / total for one in sum_chunks(found)[:4])
    gap += _bound_underflowed(problem, masses, potentials) / total
    # half of the L1 distance; `left` counts twice, in the cells and by what it adds to the total
    distance = 0.5 * (distance + 2.0 * left + 2.0**-40 * (distance + abs(moved) / total))
    beside = 0.0 if problem.face_rounding is None else problem.face_rounding.mass / total * UPWARD
    full = beside == 0.0 and bool(masses.all())
    rounding, feasible = float(found[:, 4].max()), not found[:, 5].any()
    return Sums(upper, gap, distance + beside, left, rounding, feasible, full, beside)


def _bound_underflowed(problem: Problem, masses: FloatArray, potentials: FloatArray) -> float:
    """Return what masses that underflowed to 0, below 2^-1074 each, may have at the potentials of a change."""
    lost = np.flatnonzero(masses == 0.0)
    if not len(lost):
        return 0.0
    tilt = np.zeros(len(lost))
    for k, index in enumerate(problem.index):
        tilt += potentials[problem.system.block(k)][index[lost]]
    with np.errstate(over="ignore", under="ignore"):
        # e^-744 is just above 2^-1074, the least that float64 holds
        return float(np.exp(tilt - 744.0).sum()) * UPWARD
