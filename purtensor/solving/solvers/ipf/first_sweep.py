"""The first sweep of iterative proportional fitting where some targets are zero.

As it is defined, a profile of a zero target weighs in the sums of every constraint before the first that empties it.
Problems have no such profiles, which changes no limit, only the way there: here the first sweep is as defined.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import IntArray
from purtensor.solving.iterate import Iterate, Record, Step, dual_at, iterate_at, residual_of, starting_potentials
from purtensor.solving.problem import Emptied, Problem


def is_first(problem: Problem, iterate: Iterate) -> bool:
    """Return whether the iterate is the reference itself, before any sweep.

    Not of a reference that float64 does not hold: its sweeps begin without what zero targets empty.
    """
    return (
        problem.log_reference is None
        and iterate.memory is None
        and np.array_equal(iterate.potentials, starting_potentials(problem))
    )


def first_sweep(problem: Problem, emptied: Emptied, iterate: Iterate, order: IntArray) -> Step:
    """Return the iterate after the first sweep on the whole support of the reference.

    What it gained is counted from the reference without the emptied profiles, as the dual is: it may be less than 0.
    The loop adds what emptying them gains.
    """
    potentials, masses, rows = iterate.potentials.copy(), iterate.masses.copy(), emptied.rows
    # the iterate is the reference scaled to the targets' total, and so are these
    waning = emptied.masses * (masses.sum() / problem.reference.sum())
    for k in order:
        # a target of 0 empties its profiles before the constraint sums the others
        stays = rows[k] >= 0
        waning, rows = waning[stays], rows[:, stays]
        block = problem.system.block(k)
        targets = problem.targets[block]
        sums = np.bincount(problem.index[k], masses, len(targets)) + np.bincount(rows[k], waning, len(targets))
        factor = targets / sums
        masses *= factor[problem.index[k]]
        waning *= factor[rows[k]]
        potentials[block] += np.log(factor)
    moved = iterate_at(problem, potentials)
    residual, dual = residual_of(problem, moved.masses), dual_at(problem, moved)
    return Step(moved, 1, (Record(1, residual.largest, residual.l1, dual, dual),))
