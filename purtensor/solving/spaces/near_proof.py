"""What a feasible point proves that lies close by, where norms suffice for what its moves still miss.

The moves are known, profile by profile; of what is to be added to them only sizes are (notes/certificate.md, equations
12 to 15).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from purtensor._threads import for_each_chunk, sum_chunks
from purtensor._typing import FloatArray
from purtensor.kernels.newton.near_proof import LARGEST, NUMBERS, SUMS, add_near
from purtensor.kernels.newton.proof import UNIT
from purtensor.solving.basis import UPWARD
from purtensor.solving.chunked import profile_chunks
from purtensor.solving.problem import Problem
from purtensor.solving.routes import Rest
from purtensor.solving.spaces.array_proof import rounding_weights
from purtensor.solving.spaces.space import Sums

_LITTLE = 2.0**-5
"""The share of each bound up to which norms may stand for what is left: else it is looked at profile by profile."""

_LARGEST_REST = 1e-3
"""The share of a mass up to which something may be left of its change."""


class Near(NamedTuple):
    """What `add_near` sums over the moves of all profiles, in its order: `lowest` is minus the smallest mass."""

    size: float
    square: float
    upper: float
    gap: float
    distance: float
    inverse: float
    moved: float
    largest: float
    apart: float
    rounding: float
    lowest: float


def write_moves(
    problem: Problem, point: tuple[FloatArray, FloatArray], potentials: FloatArray, missing: float
) -> tuple[FloatArray, Near]:
    """Return the moves of a point (masses, potentials) along C^T potentials, and what `add_near` sums over them.

    `missing` is what the masses lack of the total.
    """
    (masses, own), chunks = point, profile_chunks(problem)
    moves, found = np.empty_like(masses), np.empty((len(chunks), NUMBERS))
    weights = rounding_weights(problem, masses, own)
    sizes = np.abs(potentials)
    # what rounding takes from C^T potentials, in which K numbers are added up
    unsure = (
        len(problem.index)
        * UNIT
        * sum(float(sizes[problem.system.block(k)].max(initial=0.0)) for k in range(len(problem.index)))
    )
    # the change of the total is no distance: p is compared when scaled by it
    away = -missing / (problem.total - missing)

    def work(c: int, begin: int, end: int) -> None:
        add_near(masses, problem.index, problem.offsets, potentials, weights, unsure, away, begin, end, moves, found[c])

    for_each_chunk(work, chunks)
    return moves, Near(*sum_chunks(found)[:SUMS].tolist(), *found[:, SUMS:].max(axis=0).tolist())


def near_sums(problem: Problem, near: Near, rest: Rest) -> Sums | None:
    """Return what the moves prove, `rest` being what they lack; None where that is too much for norms.

    `near` is what `write_moves` found.
    """
    size, square, upper, gap, distance, _, moved, largest, apart, rounding, _ = near
    total, face = problem.total, problem.face_rounding
    if not (largest <= LARGEST and rest.share <= _LARGEST_REST and apart + 2.0 * rest.share < 1.0):
        return None
    # of the shares that are added to the masses
    norm = math.sqrt(rest.square) * UPWARD
    more = 1.16 * math.sqrt(square) * norm + 0.68 * norm * norm
    far = _LITTLE * (distance / math.sqrt(total) + math.sqrt(gap))
    if not (more <= _LITTLE * upper and rest.size <= _LITTLE * size and norm <= far):
        return None
    root = math.sqrt(gap) + 1.6 * math.sqrt(1.0 + apart) * norm
    gap = 0.5 * (1.0 + 2.0 * rest.share) ** 2 * root * root
    distance = 0.5 * (distance + abs(moved) + 1e-8 * size + 2.0 * rest.size)
    upper, gap, distance = ((one * UPWARD) / total for one in (upper + more, gap, distance))
    beside = 0.0 if face is None else face.mass / total * UPWARD
    return Sums(
        upper,
        gap,
        distance + beside,
        rest.size / total,
        rounding,
        feasible=True,
        full=beside == 0.0,
        beside=beside,
        settled=True,
    )
