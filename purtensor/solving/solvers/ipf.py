"""Iterative proportional fitting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidOptionError
from purtensor.kernels.ipf import RECORD_WIDTH, run_sweeps, sum_rows
from purtensor.solving.iterate import Budget, Iterate, Record, Step
from purtensor.solving.problem import Problem

_SMALL = 200_000
"""Below so many profiles times constraints every one of the first sweeps is recorded: measuring costs nothing."""

_RECORDS_PER_STEP = 256

_ROUNDING = 2.0**-52
"""By Pinsker's inequality a sweep that gains no more than its square in KL misses no target by more than rounding."""


@dataclass(slots=True, eq=False)
class _Sweeping:
    """The state between two calls of the kernel: factors since the last fold and the sums of the first constraint."""

    masses: FloatArray
    t: FloatArray
    u: FloatArray
    sums: FloatArray
    factor: FloatArray
    order: IntArray
    done: int = 0


@dataclass(frozen=True, slots=True)
class IPF:
    """Iterative proportional fitting: scale to one marginal after the other; one iteration is one sweep over all.

    Parameters
    ----------
    order
        The positions of the constraints in the order of the sweep; as they were given when None.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.IPF(order=(2, 0, 1)).order
    (2, 0, 1)
    """

    order: Sequence[int] | None = None

    def step(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        """Return the iterate after at most `budget.iterations` sweeps, all made inside compiled code."""
        state = iterate.memory
        if not isinstance(state, _Sweeping):
            state = self._started(problem, iterate)
        records = np.empty((_RECORDS_PER_STEP, RECORD_WIDTH))
        dense = 64 if problem.index.size <= _SMALL else 2
        sweeps, written = run_sweeps(
            problem.reference, problem.index, problem.offsets, problem.targets, state.order,
            state.masses, state.t, state.u, state.sums, state.factor, state.done, budget.iterations,
            budget.residual * problem.total, budget.residual_l1 * problem.total, records, dense,
        )  # fmt: skip
        made = tuple(_record(row, state.done, problem.total) for row in records[:written])
        state.done += sweeps
        moved = Iterate(state.t + np.log(state.u), state.masses, state)
        stalled = bool(made) and made[-1].kl_step <= len(problem.index) * _ROUNDING**2
        return Step(moved, sweeps, made, stalled=stalled)

    def _started(self, problem: Problem, iterate: Iterate) -> _Sweeping:
        order = self._checked_order(len(problem.index))
        rows = problem.system.rows
        sums = np.empty(rows)
        sum_rows(iterate.masses, problem.index[order[0]], sums[problem.system.block(order[0])])
        return _Sweeping(iterate.masses.copy(), iterate.potentials.copy(), np.ones(rows), sums, np.empty(rows), order)

    def _checked_order(self, constraints: int) -> IntArray:
        order: Any = range(constraints) if self.order is None else self.order
        if sorted(order) != list(range(constraints)):
            raise InvalidOptionError(
                f"order is a permutation of 0 .. {constraints - 1}, one number a constraint, this is {tuple(order)}"
            )
        return np.array(order, dtype=np.int64)


def _record(row: FloatArray, done: int, total: float) -> Record:
    return Record(
        iteration=int(row[0]) - done,
        residual=float(row[1] / total),
        residual_l1=float(row[2] / total),
        kl_step=float(row[3] / total),
        dual=float(row[4]),
    )
