"""The records that loops of sweeps write, and the loop of those that are called one by one from Python."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple, overload

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.ipf.steps import RECORD_WIDTH, is_recorded
from purtensor.kernels.ipf.sweep_records import Goal
from purtensor.kernels.reductions import inner_product
from purtensor.solving.chunked import rebuild
from purtensor.solving.iterate import Budget, Iterate, Record, Step
from purtensor.solving.problem import Problem

# more than a step of the loop makes sweeps, which are at most 200
_RECORDS_PER_STEP = 256

_SMALL = 200_000
"""Below so many profiles times constraints the first iterations are all recorded: measuring costs nothing."""


def empty_records() -> FloatArray:
    """Return room for as many lines as one call of a kernel may write."""
    return np.empty((_RECORDS_PER_STEP, RECORD_WIDTH))


def count_records_per_octave(problem: Problem) -> int:
    """Return how many iterations of every octave are recorded; twice as many at the start."""
    return 64 if problem.index.size <= _SMALL else 2


class Records(Sequence[Record]):
    """The lines that a kernel wrote after `done` iterations of its run, numbered from 1, made when they are read."""

    __slots__ = ("_done", "_rows", "_total")

    def __init__(self, rows: FloatArray, done: int, total: float) -> None:
        self._rows, self._done, self._total = rows, done, total

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Record: ...

    @overload
    def __getitem__(self, at: slice) -> Records: ...

    def __getitem__(self, at: int | slice) -> Record | Records:
        if isinstance(at, slice):
            return Records(self._rows[at], self._done, self._total)
        return self._record(*self._rows[at].tolist())

    def __iter__(self) -> Iterator[Record]:
        return itertools.starmap(self._record, self._rows.tolist())

    def columns(self) -> FloatArray:
        """Return the numbers of all lines, one row for each entry of `Record`."""
        scales = np.array([1.0, self._total, self._total, self._total, 1.0])
        found = self._rows[:, :5].T / scales[:, None]
        found[0] -= self._done
        return np.asarray(found)

    def _record(self, number: float, largest: float, l1: float, gain: float, dual: float, mass: float) -> Record:
        total = self._total
        return Record(int(number) - self._done, largest / total, l1 / total, gain / total, dual)


def columns_of(records: Sequence[Record]) -> FloatArray:
    """Return the numbers of records, shape (5, n): a row for each entry of `Record`."""
    return records.columns() if isinstance(records, Records) else np.array(records, dtype=np.float64).T


def records_of(problem: Problem, rows: FloatArray, done: int) -> Records:
    """Return the lines that a kernel wrote after `done` iterations of its run."""
    return Records(rows.copy(), done, problem.total)  # a copy, for most of the room is empty


class SweepResidual(NamedTuple):
    """The residual over all constraints, also in L1, in the units of the targets, and the mass; NaN if not finite."""

    residual: float
    residual_l1: float
    mass: float


class Sweeper(ABC):
    """Sweeps in arrays of their own: the state between two calls.

    Attributes
    ----------
    problem
        What is swept; its targets are read.
    start
        The total of the reference.
    done
        How many sweeps were made.
    """

    __slots__ = ()
    problem: Problem
    start: float
    done: int

    @property
    def total(self) -> float:
        """The total of the targets."""
        return self.problem.total

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
    def measure(self, hopeful: bool) -> SweepResidual:
        """Return the residual over all constraints; `hopeful` says that the parts that cost nothing met the goal."""

    @abstractmethod
    def gain(self) -> float:
        """Return what the dual gained by the last sweep."""

    def linear(self) -> float:
        """Return the targets times the potentials."""
        return inner_product(self.problem.targets, self.potentials())

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
            residual, residual_l1, mass = self.measure(hopeful)
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
    tolerances = budget.residual * problem.total, budget.residual_l1 * problem.total
    goal = Goal(*tolerances, count_records_per_octave(problem), sweeper.start)
    records, done = empty_records(), sweeper.done
    sweeps, written = sweeper.sweep(goal, budget.iterations, records)
    made = records_of(problem, records[:written], done)
    potentials = cache(sweeper.potentials)
    moved = Iterate(potentials, lambda: rebuild(problem, potentials()), sweeper)
    return Step(moved, sweeps, made, judged=True)
