"""The rate that sweeps really have: the dual norm of their error, measured against the exact potentials."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.newton.linear_sweep import energy
from purtensor.kernels.spread import spread
from purtensor.solving.iterate import Budget, Solver, iterate_at, starting_potentials
from purtensor.solving.problem import Problem

_PER_DECADE = 20
"""Into so many pieces the sweeps of a decade are cut to find where the dual norm passes a power of ten."""


def observed_sweeps_per_decade(
    problem: Problem, solver: Solver, potentials: FloatArray, *, smallest: float = 1e-12, decades: int = 2
) -> float:
    """Return how many sweeps divided the dual norm by ten over the last `decades` before it reached `smallest`.

    Parameters
    ----------
    potentials
        Shape (D,): those of the projection, any of the many that give it, to the last digits.
    smallest
        Where the measuring ends; below about 1e-14 rounding of the targets shows.

    Returns
    -------
    float
        Sweeps; inf where the norm does not get there in 10^7 of them.
    """
    exact = iterate_at(problem, potentials)
    z = np.empty_like(exact.masses)
    iterate = iterate_at(problem, starting_potentials(problem))
    done, piece = 0, 1
    seen: list[tuple[int, float]] = []
    while not seen or seen[-1][1] > smallest:
        left = piece
        while left > 0:
            step = solver.step(problem, iterate, Budget(left, -1.0, -1.0))  # no residual is negative: none ends early
            iterate = step.iterate
            left -= step.iterations
        done += piece
        spread(problem.index, problem.offsets, iterate.potentials - potentials, z)
        seen.append((done, math.sqrt(energy(exact.masses, z) / problem.total)))
        if done > 10**7:
            return math.inf
        piece = _next_piece(seen, piece)
    sweeps = np.array([line[0] for line in seen], dtype=np.float64)
    fallen = -np.log10([line[1] for line in seen])
    last = -math.log10(smallest)
    begin, end = np.interp([last - decades, last], fallen, sweeps)
    return float(end - begin) / decades


def _next_piece(seen: list[tuple[int, float]], piece: int) -> int:
    """Return how many sweeps to make before the norm is looked at again."""
    if len(seen) < 2 or seen[-1][1] >= seen[-2][1]:
        return piece
    decade = piece / math.log10(seen[-2][1] / seen[-1][1])
    return max(1, min(2 * piece, int(decade / _PER_DECADE)))
