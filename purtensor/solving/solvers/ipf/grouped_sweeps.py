"""Sweeps of iterative proportional fitting in which groups of constraints share a pass over the masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._threads import for_each_chunk, sum_chunks
from purtensor._typing import FloatArray
from purtensor.kernels.elementary import divergence_gain
from purtensor.kernels.ipf.grouped_sweeps import (
    fit_group,
    group_misses,
    pass_over_units,
    rebuild_units,
    sum_group,
    sweep_over_units,
)
from purtensor.kernels.ipf.sweep_records import Goal
from purtensor.solving.iterate import log_factors
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.grouping import Merged
from purtensor.solving.solvers.ipf.sweeper import Sweeper, SweepResidual

SWEEPS_PER_FOLD = 50
"""Scaling in place drifts off the exponential family by about 1.7e-16 per pass; a fold brings it back."""


@dataclass(slots=True, eq=False)
class MergedSweeps(Sweeper):
    """Sweeps in groups of constraints: the state between two calls.

    Attributes
    ----------
    units
        The masses, a row a unit.
    t, u
        The potentials at the last fold, and the factors since.
    factor
        The factor of each row in the last sweep.
    table, factors
        The sums of the first group's cells, and room for the factors of any group's.
    """

    problem: Problem
    merged: Merged
    units: FloatArray
    t: FloatArray
    u: FloatArray
    factor: FloatArray
    table: FloatArray
    factors: FloatArray
    start: float
    done: int = 0

    @classmethod
    def at(cls, problem: Problem, merged: Merged, potentials: FloatArray) -> MergedSweeps:
        """Return the sweeps that start at the given potentials."""
        cells = int((merged.groups.sizes * merged.groups.lanes).max())
        rows = len(potentials)
        units = np.empty((len(problem.reference) // merged.width, merged.width))
        made = cls(
            problem,
            merged,
            units,
            potentials.copy(),
            np.ones(rows),
            np.ones(rows),
            np.empty(cells),
            np.empty(cells),
            float(problem.reference.sum()),
        )
        made._rebuild()
        return made

    @property
    def sweep_arithmetic(self) -> float:
        """The estimated seconds of a sweep's arithmetic."""
        return self.merged.sweep_arithmetic

    def potentials(self) -> FloatArray:
        """Return the potentials after the sweeps made so far."""
        # exact at any time: factors collect what the masses were multiplied by since the last fold (notes/ipf.md,
        # equation 4)
        return self.t + log_factors(self.u)

    def sweep_once(self) -> None:
        """Make one more sweep, and fold where it is due."""
        problem, groups = self.problem, self.merged.groups
        self.done += 1
        # the loop over groups inside compiled code: for small tables the calls would outweigh it
        if len(self.merged.chunks) == 1:
            sweep_over_units(
                groups, problem.targets, problem.offsets, self.units, self.table, self.factors, self.factor, self.u
            )
        else:
            for g in range(self.merged.count):
                fit_group(groups, g, problem.targets, problem.offsets, self.table, self.factors, self.factor, self.u)
                self._pass_over(g)
        # counted from the start of the run, so that iterates do not depend on how sweeps are batched
        if self.done % SWEEPS_PER_FOLD == 0:
            self.t += log_factors(self.u)
            self.u[:] = 1.0
            self._rebuild()

    def may_be_met(self, goal: Goal) -> bool:
        """Return whether the constraints of the first group, whose sums are there, meet the goal or are not finite."""
        residual, residual_l1 = self._misses(0, self.table)
        # in this form NaN counts as met, and so gets measured
        return not (residual > goal.tolerance or residual_l1 > goal.tolerance_l1)

    def measure(self, hopeful: bool) -> SweepResidual:
        """Return the residual over all constraints."""
        misses = np.array([self._misses(g, self._sums(g)) for g in range(self.merged.count)])
        cells = self.merged.groups.sizes[0] * self.merged.groups.lanes[0]
        return SweepResidual(float(misses[:, 0].max()), float(misses[:, 1].max()), float(self.table[:cells].sum()))

    def gain(self) -> float:
        """Return what the dual gained by the last sweep."""
        return divergence_gain(self.problem.targets, self.factor, np.ones_like(self.factor))

    def _misses(self, g: int, table: FloatArray) -> tuple[float, float]:
        problem = self.problem
        return group_misses(self.merged.groups, g, problem.targets, problem.offsets, table)

    def _pass_over(self, g: int) -> None:
        groups, chunks = self.merged.groups, self.merged.chunks
        # a table for each chunk, added in order: the same bits whatever the number of threads
        tables = np.zeros((len(chunks), len(self.table)))
        for_each_chunk(lambda c, b, e: pass_over_units(groups, g, self.units, self.factors, b, e, tables[c]), chunks)
        self.table[:] = sum_chunks(tables)

    def _sums(self, g: int) -> FloatArray:
        groups, chunks = self.merged.groups, self.merged.chunks
        tables = np.zeros((len(chunks), len(self.table)))
        for_each_chunk(lambda c, b, e: sum_group(groups, g, self.units, b, e, tables[c]), chunks)
        return np.asarray(sum_chunks(tables))

    def _rebuild(self) -> None:
        """Write the masses at the potentials `t`, and the sums of the first group's cells."""
        groups, offsets = self.merged.groups, self.problem.offsets
        reference = self.problem.reference.reshape(self.units.shape)
        for_each_chunk(
            lambda c, b, e: rebuild_units(groups, reference, offsets, self.t, b, e, self.units), self.merged.chunks
        )
        self.table[:] = self._sums(0)
