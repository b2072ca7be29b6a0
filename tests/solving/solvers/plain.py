"""The plain sweeps, one pass a constraint, that all faster ones are compared with."""

from __future__ import annotations

import numpy as np

import purtensor as pt
from purtensor.kernels.ipf.steps import sum_rows
from purtensor.kernels.ipf.sweeps import run_sweeps
from purtensor.solving.iterate import Budget, iterate_at, starting_potentials


def plain_run(problem, order, goal, limit, *, done=0, state=None, dense=64):
    """The plain kernel's records and state after at most `limit` sweeps."""
    order = np.array(order)
    rows = problem.system.rows
    if state is None:
        masses = iterate_at(problem, starting_potentials(problem)).masses
        sums = np.empty(rows)
        sum_rows(masses, problem.index[order[0]], sums[problem.system.block(order[0])])
        state = (masses, starting_potentials(problem), np.ones(rows), sums, np.empty(rows))
    records = np.empty((1000, 6))
    made, written = run_sweeps(
        problem.reference,
        problem.index,
        problem.offsets,
        problem.targets,
        order,
        *state,
        done,
        limit,
        *goal,
        records,
        dense,
        1.0,
    )
    return made, records[:written], state


def plain_iterates(problem, order, count):
    state = None
    for n in range(count):
        _, _, state = plain_run(problem, order, (-1.0, -1.0), 1, done=n, state=state)
        yield state[0].copy()


def stepped(problem, order, batches):
    """The iterate after the batches, and all its records by their number."""
    iterate = iterate_at(problem, starting_potentials(problem))
    records, done = {}, 0
    for end in np.cumsum(batches):
        while done < end:
            step = pt.IPF(order=order).step(problem, iterate, Budget(int(end - done), -1.0, -1.0))
            made = [record._replace(iteration=done + record.iteration) for record in step.records]
            records |= {record.iteration: record for record in made}
            done, iterate = done + step.iterations, step.iterate
    return iterate, records
