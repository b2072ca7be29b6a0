"""How many plain sweeps lead from a point to the projection, which Newton's method finds first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.convergence.forecast import linear_sweeps_left
from purtensor.solving.convergence.grouped_sweep import GroupedSweep
from purtensor.solving.loop import run
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.solvers.newton import Newton
from purtensor.solving.stopping import Stopping

_EXACT = 1e-14
_MOST_STEPS = 60

_REAL_SWEEPS = 64
"""So many more are made before the sweep is taken as linear: errors that are large and fast go."""

_NONLINEAR = 0.6
"""Times the largest |log(p / q)|, in sweeps that divide the error by e: how far real sweeps were from linearised ones.

A step misses z^2 / 2 of e^z - 1 = z + z^2 / 2 + ..., and changes the size of what is slow by a share of z / 2.
"""

_FAR = 6.0
"""Beyond this largest |log(p / q)| the sweep at the answer gives no forecast."""


@dataclass(frozen=True, slots=True)
class SweepsLeft:
    """The likely number of sweeps, its ends, and how many steps Newton's method took instead.

    The sweeps are NaN where the answer is too far away, or its equations too large.
    """

    sweeps: float
    lower: float
    upper: float
    newton_steps: int

    @property
    def is_known(self) -> bool:
        """Whether there is a number of sweeps."""
        return not math.isnan(self.sweeps)


def sweeps_left_by_answer(problem: Problem, potentials: FloatArray, tolerance: float) -> SweepsLeft | None:
    """Return how many plain sweeps meet the tolerance from these potentials (notes/forecasts.md).

    None where Newton's method finds no answer, as where there is none inside.
    """
    found = run(problem, Newton(), Stopping(_EXACT, "residual", _MOST_STEPS, math.inf), start=potentials)
    # also where it is NaN; Newton may stop at rounding above its own tolerance
    if not found.residual.largest <= 100.0 * _EXACT:
        return None
    near = run(problem, IPF(), Stopping(tolerance, "residual", _REAL_SWEEPS, math.inf), start=potentials)
    if near.termination.converged:
        made = float(near.iterations)
        return SweepsLeft(made, made, made, found.iterations)
    ends = _linear(problem, near.iterate.potentials - found.iterate.potentials, found.iterate.masses, tolerance)
    return SweepsLeft(*ends, found.iterations)


def _linear(problem: Problem, error: FloatArray, masses: FloatArray, tolerance: float) -> tuple[float, float, float]:
    """Return the likely number of sweeps and its range from the sweep at the answer; NaN if it gives no forecast."""
    nothing = math.nan, 0.0, math.inf
    sweep = GroupedSweep.at(problem, masses)
    if sweep is None:
        return nothing
    distance = float(np.abs(sweep.on_profiles(error)).max())
    if distance > _FAR:
        return nothing
    # the second tolerance tells how many sweeps divide the error by e, the unit of what linearising misses
    intervals = linear_sweeps_left(sweep, error, (tolerance, tolerance / math.e))
    if intervals is None:
        return nothing
    linear, further = intervals
    rest = _NONLINEAR * distance * (further.sweeps - linear.sweeps)
    return (
        _REAL_SWEEPS + linear.sweeps,
        _REAL_SWEEPS + max(0.0, float(np.floor(linear.lower - rest))),
        _REAL_SWEEPS + float(np.ceil(linear.upper + rest)),
    )
