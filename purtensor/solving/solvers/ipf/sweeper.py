"""The loop of sweeps that are long enough to be called one by one from Python: it ends, measures and records them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.ipf.steps import is_recorded
from purtensor.kernels.ipf.stopping import Goal
from purtensor.solving.chunked import rebuild
from purtensor.solving.iterate import Budget, Iterate, Step
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.sweep_records import empty_records, recorded_per_octave, records_of


class Measured(NamedTuple):
    """The residual over all constraints, also in L1, in the units of the targets, and the mass; NaN if not finite."""

    residual: float
    residual_l1: float
    mass: float


class Sweeper(ABC):
    """Sweeps in arrays of their own: the state between two calls.

    Attributes
    ----------
    start
        The total of the reference.
    done
        How many sweeps were made.
    """

    __slots__ = ()
    start: float
    done: int

    @property
    @abstractmethod
    def total(self) -> float:
        """The total of the targets."""

    @property
    @abstractmethod
    def sweep_arithmetic(self) -> float:
        """The estimated seconds of a sweep's arithmetic."""

    @abstractmethod
    def potentials(self) -> FloatArray:
        """Return the potentials after the sweeps made so far."""

    @abstractmethod
    def sweep_once(self) -> None:
        """Make one more sweep, and fold where it is due."""

    @abstractmethod
    def may_be_met(self, goal: Goal) -> bool:
        """Return whether the parts of the residual that cost nothing meet the goal, or are not finite."""

    @abstractmethod
    def measured(self, hopeful: bool) -> Measured:
        """Return the residual over all constraints; `hopeful` says that the parts that cost nothing met the goal."""

    @abstractmethod
    def gain(self) -> float:
        """Return what the dual gained by the last sweep."""

    @abstractmethod
    def linear(self) -> float:
        """Return the targets times the potentials."""

    def sweep(self, goal: Goal, limit: int, records: FloatArray) -> tuple[int, int]:
        """Make at most `limit` sweeps; return how many, and how many records were written.

        Ends and records as `purtensor.kernels.ipf.sweeps.run_sweeps` does.
        """
        written = 0
        for n in range(1, limit + 1):
            self.sweep_once()
            due = is_recorded(self.done, goal.dense)
            hopeful = self.may_be_met(goal)
            # the sums of all constraints cost a pass: only where they are recorded or can end the run
            if not (due or hopeful):
                continue
            residual, residual_l1, mass = self.measured(hopeful)
            met = residual <= goal.tolerance and residual_l1 <= goal.tolerance_l1
            ended = met or not np.isfinite(residual_l1)
            if due or ended:
                dual = self.linear() / self.total - np.log(mass / goal.start)
                records[written] = self.done, residual, residual_l1, self.gain(), dual, mass
                written += 1
            # without room for another record Python has to take them over
            if ended or written == len(records):
                return n, written
        return limit, written


def step_of(problem: Problem, sweeper: Sweeper, budget: Budget) -> Step:
    """Return the iterate after at most `budget.iterations` sweeps; its arrays are made on request."""
    goal = Goal(
        budget.residual * problem.total, budget.residual_l1 * problem.total, recorded_per_octave(problem), sweeper.start
    )
    records, done = empty_records(), sweeper.done
    sweeps, written = sweeper.sweep(goal, budget.iterations, records)
    made = records_of(problem, records[:written], done)
    potentials = cache(sweeper.potentials)
    moved = Iterate(potentials, lambda: rebuild(problem, potentials()), sweeper)
    return Step(moved, sweeps, made, judged=True)
