"""Named problems as the solvers see them, without paying for labels."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.system import System, reduce_system
from purtensor.problems import NamedProblem
from purtensor.solving.problem import Problem
from purtensor.tables.grouping import smallest_unsigned


def support_masses(named: NamedProblem) -> FloatArray:
    """Return the positive masses of the reference, in the order of `support_rows`."""
    return named.masses[named.masses > 0]


def support_rows(named: NamedProblem) -> list[IntArray]:
    """Return for each constraint the row of every profile of the support, a position in the flattened target."""
    if named.codes is not None:
        columns = [named.codes[:, axis].astype(np.intp) for axis in range(named.codes.shape[1])]
        support = np.flatnonzero(named.masses > 0)
        columns = columns if len(support) == len(named.masses) else [column[support] for column in columns]
    else:
        columns = list(np.nonzero(named.masses))
    return [np.ravel_multi_index([columns[axis] for axis in axes], target.shape) for axes, target in named.targets]


def solver_problem(named: NamedProblem) -> Problem:
    """Return a named problem as arrays; its targets have mass 1, so that only the zero rows have to go."""
    sizes = [target.size for _, target in named.targets]
    scopes = [tuple(named.domain.attributes[axis] for axis in axes) for axes, _ in named.targets]
    full = System(
        index=np.array(support_rows(named), dtype=smallest_unsigned(max(sizes))),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        targets=np.concatenate([target.ravel() for _, target in named.targets]),
        domain=named.domain,
        scopes=tuple(scopes),
        row_codes=tuple(tuple(np.unravel_index(np.arange(target.size), target.shape)) for _, target in named.targets),
    )
    reduction = reduce_system(full)
    masses = support_masses(named)[reduction.profiles]
    system = reduction.system
    scaled = system.with_targets(_scaled(system.targets, float(system.targets[system.block(0)].sum())))
    total = float(scaled.targets[scaled.block(0)].sum())
    return Problem(_scaled(masses, float(masses.sum())), scaled, total)


def _scaled(values: FloatArray, total: float) -> FloatArray:
    """Return the values with the total in [1/2, 1), divided by a power of two, which is exact."""
    return np.ldexp(values, -math.frexp(total)[1])
