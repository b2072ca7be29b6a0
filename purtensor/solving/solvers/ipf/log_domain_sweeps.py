"""Sweeps and iterative scaling in logarithms, for references and targets that span the range of float64.

Factors and sums of other sweeps are float64 numbers, of which there are none beyond 2^1024, and ever fewer digits
below 2^-1022. These take some ten times as long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.ipf.log_domain_sweeps import scaling_in_logarithms, sweep_in_logarithms
from purtensor.kernels.ipf.sweep_records import Goal
from purtensor.solving.iterate import iterate_at, residual_of
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.sweeper import Sweeper, SweepResidual

SMALL = 2.0**-500
"""Below such a part of the total, products of a few masses and factors leave the range of float64."""

_SECONDS_PER_STEP = 15e-9
"""Of one profile and one constraint."""


def spans_the_range(problem: Problem) -> bool:
    """Return whether a mass of the reference, or a target, is so small a part of their total, which is about 1."""
    return bool(problem.reference.min() < SMALL or problem.targets.min() < SMALL)


@dataclass(slots=True, eq=False)
class InLogarithms(Sweeper):
    """Sweeps in logarithms: the state between two calls is the potentials.

    Attributes
    ----------
    relaxation
        The exponent of each step; None for iterations of generalised iterative scaling in the place of sweeps.
    """

    problem: Problem
    order: IntArray
    relaxation: float | None
    t: FloatArray
    log_reference: FloatArray
    log_targets: FloatArray
    start: float
    done: int = 0
    gained: float = 0.0

    @classmethod
    def at(cls, problem: Problem, order: IntArray, potentials: FloatArray, relaxation: float | None) -> InLogarithms:
        """Return the sweeps that start at the given potentials."""
        logarithms = problem.logarithms(), np.log(problem.targets)
        return cls(problem, order, relaxation, potentials.copy(), *logarithms, float(problem.reference.sum()))

    @property
    def sweep_arithmetic(self) -> float:
        """The estimated seconds of a sweep's arithmetic."""
        return _SECONDS_PER_STEP * self.problem.index.size

    def potentials(self) -> FloatArray:
        """Return the potentials after the sweeps made so far."""
        return self.t.copy()

    def sweep_once(self) -> None:
        """Make one more sweep."""
        problem, rows = self.problem, len(self.t)
        common = (
            self.log_reference,
            problem.index,
            problem.offsets,
            problem.targets,
            self.log_targets,
            self.order,
            self.t,
            np.empty(len(self.log_reference)),
            np.empty(rows),
            np.empty(rows),
        )
        if self.relaxation is None:
            self.gained = scaling_in_logarithms(*common)
        else:
            self.gained = sweep_in_logarithms(*common, self.relaxation)
        self.done += 1

    def may_be_met(self, goal: Goal) -> bool:
        """Report that only measuring can say."""
        return True

    def measure(self, hopeful: bool) -> SweepResidual:
        """Return the residual over all constraints."""
        masses = iterate_at(self.problem, self.t).masses
        residual = residual_of(self.problem, masses)
        return SweepResidual(residual.largest * self.total, residual.l1 * self.total, float(masses.sum()))

    def gain(self) -> float:
        """Return what the dual gained by the last sweep."""
        return self.gained
