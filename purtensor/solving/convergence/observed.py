"""The rate that sweeps really have: the dual norm of their error, measured against the exact potentials."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.reductions import inner_product
from purtensor.solving.iterate import Budget, Solver, iterate_at, on_profiles, residual_of, starting_potentials
from purtensor.solving.problem import Problem
from purtensor.solving.solve import step_on_arrays
from purtensor.solving.spaces.arrays import ArraySpace

MOST_SWEEPS = 10**7

_PER_DECADE = 20
"""Into so many pieces the sweeps of a decade are cut to find where the dual norm passes a power of ten."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """How sweeps from the reference went.

    Attributes
    ----------
    sweeps
        Shape (n,): how many were made.
    errors
        Shape (n,): the dual norm of what was left, for a total mass of 1.
    residuals
        Shape (n,): the largest miss of a target, for a total mass of 1.
    """

    sweeps: FloatArray
    errors: FloatArray
    residuals: FloatArray

    def first_at(self, fallen: FloatArray, level: float) -> float:
        """Return after how many sweeps `fallen`, one of the two, was first at the level; inf where it never was."""
        met = fallen <= level
        if not met.any():
            return math.inf
        until = int(met.argmax()) + 1
        with np.errstate(divide="ignore"):
            # made monotone, since interpolation needs it and residuals may rise for a while
            steps = np.maximum.accumulate(-np.log10(fallen[:until]))
        return float(np.interp(-math.log10(level), steps, self.sweeps[:until]))

    def per_decade(self, fallen: FloatArray, smallest: float, decades: float = 2.0) -> float:
        """Return how many sweeps divided `fallen` by ten over the last decades before it reached `smallest`.

        inf where it did not get there.
        """
        end = self.first_at(fallen, smallest)
        return (end - self.first_at(fallen, smallest * 10.0**decades)) / decades if end < math.inf else math.inf


def course_of(
    problem: Problem, solver: Solver, potentials: FloatArray, *, smallest: float = 1e-12, most: int = MOST_SWEEPS
) -> Course:
    """Return how sweeps from the reference go, until the dual norm of the error is at `smallest` or `most` are made.

    Parameters
    ----------
    potentials
        Shape (D,): those of the projection, any of the many that give it, to the last digits.
    smallest
        Below about 1e-14 rounding of the targets shows.
    """
    exact = iterate_at(problem, potentials)
    advance = step_on_arrays(ArraySpace(problem), solver)
    iterate = iterate_at(problem, starting_potentials(problem))
    done, piece = 0, 1
    seen: list[tuple[int, float, float]] = []
    while (not seen or seen[-1][1] > smallest) and done < most:
        left = piece = min(piece, most - done)
        while left > 0:
            step = advance(iterate, Budget(left, -1.0, -1.0))  # no residual is negative: none ends early
            iterate = step.iterate
            left -= step.iterations
        done += piece
        exponents = on_profiles(problem.system, iterate.potentials - potentials)
        error = math.sqrt(inner_product(exact.masses * exponents, exponents) / problem.total)
        seen.append((done, error, residual_of(problem, iterate.masses).largest))
        # measuring costs passes, so sweeps are made in pieces that are fine only where the norm falls
        piece = _next_piece(seen, piece)
    sweeps, errors, residuals = np.array(seen, dtype=np.float64).T
    return Course(sweeps, errors, residuals)


def _next_piece(seen: list[tuple[int, float, float]], piece: int) -> int:
    """Return how many sweeps to make before the norm is examined again."""
    if len(seen) < 2 or seen[-1][1] >= seen[-2][1]:
        return piece
    decade = piece / math.log10(seen[-2][1] / seen[-1][1])
    return max(1, min(2 * piece, int(decade / _PER_DECADE)))
