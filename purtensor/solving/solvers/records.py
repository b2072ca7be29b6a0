"""The lines of the trace that a compiled loop writes by itself."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.ipf import RECORD_WIDTH
from purtensor.solving.iterate import Record
from purtensor.solving.problem import Problem

_RECORDS_PER_STEP = 256

_SMALL = 200_000
"""Below so many profiles times constraints the first iterations are all recorded: measuring costs nothing."""


def empty_records() -> FloatArray:
    """Return room for as many lines as one call of a kernel may write."""
    return np.empty((_RECORDS_PER_STEP, RECORD_WIDTH))


def recorded_per_octave(problem: Problem) -> int:
    """Return how many iterations of every octave are recorded; twice as many at the start."""
    return 64 if problem.index.size <= _SMALL else 2


def records_of(problem: Problem, rows: FloatArray, done: int) -> tuple[Record, ...]:
    """Return the lines that a kernel wrote after `done` iterations of its run, numbered from 1."""
    numbers = (rows[:, 0].astype(np.int64) - done).tolist()
    residuals, residuals_l1, steps = (rows.T[1:4] / problem.total).tolist()
    return tuple(map(Record._make, zip(numbers, residuals, residuals_l1, steps, rows[:, 4].tolist(), strict=True)))
