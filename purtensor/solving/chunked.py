"""What is computed over all profiles: chunk by chunk, and on several threads where there are many."""

from __future__ import annotations

import numpy as np

from purtensor._threads import Chunk, chunks_of, for_each_chunk, sum_chunks
from purtensor._typing import FloatArray
from purtensor.kernels.ipf.steps import measure, miss, rebuild_range, sum_rows
from purtensor.kernels.newton.line_search import bend
from purtensor.kernels.reductions import spread
from purtensor.solving.problem import Problem

SMALLEST_IN_CHUNKS = 1 << 18
"""From so many profiles on they are worked on chunk by chunk."""

PROFILES_PER_CHUNK = 1 << 17
"""About 0.3 ms of work: long against the call."""


def rebuild(problem: Problem, potentials: FloatArray) -> FloatArray:
    """Return reference * exp(C^T potentials), shape (M,)."""
    masses = np.empty_like(problem.reference)
    if problem.log_reference is not None:
        spread(problem.index, problem.offsets, potentials, masses)
        # added before the exp: factors of a reference that float64 does not hold may bring a mass back into its range
        masses += problem.log_reference
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(masses, out=masses)
    if len(masses) < SMALLEST_IN_CHUNKS:
        rebuild_range(problem.reference, problem.index, problem.offsets, potentials, 0, len(masses), masses)
        return masses
    for_each_chunk(
        lambda _, begin, end: rebuild_range(
            problem.reference, problem.index, problem.offsets, potentials, begin, end, masses
        ),
        profile_chunks(problem),
    )
    return masses


def measure_masses(problem: Problem, masses: FloatArray, sums: FloatArray) -> tuple[float, float]:
    """Write C masses into `sums`; return the largest miss of a target and the L1 miss of the worst constraint.

    Both are NaN where a sum is not a number. The masses may have any sign.
    """
    if len(masses) < SMALLEST_IN_CHUNKS:
        return measure(masses, problem.index, problem.offsets, problem.targets, sums)
    misses = np.empty((len(problem.index), 2))

    def work(k: int, *_: int) -> None:
        block = problem.system.block(k)
        sum_rows(masses, problem.index[k], sums[block])
        misses[k] = miss(sums[block], problem.targets[block])

    # by constraint, not by profile: each row is summed by one thread, in one order
    for_each_chunk(work, chunks_of(len(problem.index), 1))
    largest, l1 = misses.max(axis=0)  # NaN passes on
    return float(largest), float(l1)


def measure_bend(problem: Problem, masses: FloatArray, direction: FloatArray, step: float) -> tuple[float, float]:
    """Return sum p (exp(z) - 1 - z) with z = step C^T direction, and the largest |C^T direction|."""
    chunks = profile_chunks(problem)
    found = np.empty((len(chunks), 2))

    def work(c: int, begin: int, end: int) -> None:
        found[c] = bend(masses, problem.index, problem.offsets, direction, step, begin, end)

    for_each_chunk(work, chunks)
    return float(sum_chunks(found)[0]), float(found[:, 1].max())


def profile_chunks(problem: Problem) -> tuple[Chunk, ...]:
    """Return the chunks of the profiles of a problem."""
    count = len(problem.reference)
    return chunks_of(count, PROFILES_PER_CHUNK if count >= SMALLEST_IN_CHUNKS else max(1, count))
