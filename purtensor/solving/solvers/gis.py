"""Generalised iterative scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.ipf.gis import run_gis
from purtensor.solving.iterate import Budget, Iterate, Step, row_sums
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.ipf.log_domain_sweeps import InLogarithms, spans_the_range
from purtensor.solving.solvers.ipf.sweeper import count_records_per_octave, empty_records, records_of, step_of


@dataclass(slots=True, eq=False)
class _Scaling:
    """The state between two calls of the kernel: C p of the masses, and the iterations so far."""

    masses: FloatArray
    t: FloatArray
    sums: FloatArray
    done: int = 0


@dataclass(frozen=True, slots=True)
class GIS:
    """Generalised iterative scaling: scale to all K marginals at once, each to the power 1 / K.

    The order of the constraints plays no part; it needs about K times the sweeps of iterative proportional fitting.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.project(pt.uniform(counts), pt.marginals_of(counts, "sex | age"), solver=pt.GIS()).converged
    True
    """

    def step(self, problem: Problem, iterate: Iterate, budget: Budget) -> Step:
        """Return the iterate after at most `budget.iterations` iterations, all made inside compiled code."""
        state = iterate.memory
        if isinstance(state, InLogarithms) or (state is None and spans_the_range(problem)):
            every = np.arange(len(problem.index))
            return step_of(problem, state or InLogarithms.at(problem, every, iterate.potentials, None), budget)
        if not isinstance(state, _Scaling):
            masses = iterate.masses.copy()
            state = _Scaling(masses, iterate.potentials.copy(), row_sums(problem.system, masses))
        records = empty_records()
        made, written = run_gis(
            problem.reference,
            problem.index,
            problem.offsets,
            problem.targets,
            state.masses,
            state.t,
            state.sums,
            state.done,
            budget.iterations,
            budget.residual * problem.total,
            budget.residual_l1 * problem.total,
            records,
            count_records_per_octave(problem),
        )
        kept = records_of(problem, records[:written], state.done)
        state.done += made
        # t is copied, as the kernel changes it in place at the next call
        return Step(Iterate(state.t.copy(), state.masses, state), made, kept, judged=True)
