"""The lines of the trace that a compiled loop writes by itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.ipf.steps import RECORD_WIDTH
from purtensor.solving.iterate import Record
from purtensor.solving.problem import Problem

# more than a step of the loop makes sweeps, which are at most 200
_RECORDS_PER_STEP = 256

_SMALL = 200_000
"""Below so many profiles times constraints the first iterations are all recorded: measuring costs nothing."""


def empty_records() -> FloatArray:
    """Return room for as many lines as one call of a kernel may write."""
    return np.empty((_RECORDS_PER_STEP, RECORD_WIDTH))


def recorded_per_octave(problem: Problem) -> int:
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
