"""How far float64 targets are from implying, exactly, the zeros that a verdict found.

A verdict reads targets as what they were rounded from, or allows for their rounding. The floats themselves may then
leave a profile some mass: with t of the verdict, C^T t >= 0, every p that meets the independent rows has
p.(C^T t) = b'.t, b' being what the float targets of those rows say of all rows. So what is left out has at most
b'.t / min C^T t together (notes/certificate.md, equation 11).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.constraints.rank.redundancy import RedundantRow, redundant
from purtensor.errors import TooLargeError
from purtensor.feasibility.farkas import spread_whole
from purtensor.solving.exact_change import solve_exactly
from purtensor.solving.problem import FaceRounding, Problem

_MOST_EXCHANGED = 64
"""Rows that are met in the place of as many others: each is followed through all relations, in fractions."""


def face_rounding(problem: Problem, zeros: BoolArray, weights: IntArray) -> FaceRounding | None:
    """Return how far the targets of a problem are from implying zeros exactly; None where they do.

    Parameters
    ----------
    zeros
        Shape (M,): the profiles that the face leaves out.
    weights
        Shape (D,): whole numbers t with C^T t >= 0, positive on the zeros.
    """
    if not zeros.any():
        return None
    system = problem.system
    costs = spread_whole(system.index, system.offsets, weights)
    least, given = int(costs[zeros].min()), [Fraction(target) for target in system.targets.tolist()]
    said = _deduce_targets(problem, given)
    # no proof of these zeros: nothing is known of what they may hold
    if said is None or least <= 0 or int(costs.min()) < 0:
        return FaceRounding(math.inf, np.full(system.rows, np.inf))
    used = np.flatnonzero(weights)
    # b'.t in fractions: in floats it would be rounding of the very size that is asked for
    value = sum((said[row] * int(weights[row]) for row in used.tolist()), Fraction(0))
    rows = np.array([_above(abs(one - other)) for one, other in zip(said, given, strict=True)])
    mass = _above(abs(value) / least)
    for k, index in enumerate(system.index):
        # a row that lost profiles to the zeros may lack what these hold
        rows[system.block(k)][np.unique(index[zeros])] += mass
    return FaceRounding(mass, rows) if rows.any() else None


def rounding_of_rows(problem: Problem, met: BoolArray) -> FaceRounding | None:
    """Return how far the targets of a problem are from those that other independent rows than its own imply.

    The bounds of a problem with this are about the projection onto the targets of these rows. None where they imply
    the very targets that were given.

    Parameters
    ----------
    met
        Shape (D,): as many rows as `independent_rows` finds. Where they are not independent nothing is known.
    """
    unknown = FaceRounding(math.inf, np.full(problem.system.rows, np.inf))
    given = [Fraction(target) for target in problem.system.targets.tolist()]
    try:
        relations = redundant(problem.system, None if problem.slabs is None else problem.slabs.key)
    except TooLargeError:
        return unknown
    if _follow(relations, given) == given:  # no targets contradict each other: all rows are met
        return None
    dependent = {relation.row for relation in relations}
    missing = [row for row in range(len(given)) if row not in dependent and not met[row]]
    instead = [row for row in sorted(dependent) if met[row]]
    if len(missing) != len(instead) or len(missing) > _MOST_EXCHANGED:
        return unknown
    # what dependent rows are to sum to is linear in the targets of the rows that are not met
    nothing = [Fraction(0)] * len(given)
    start = _follow(relations, [Fraction(0) if row in missing else value for row, value in enumerate(given)])
    moved = [_follow(relations, [*nothing[:row], Fraction(1), *nothing[row + 1 :]]) for row in missing]
    matrix = [[column[row] for column in moved] for row in instead]
    values = solve_exactly(matrix, [given[row] - start[row] for row in instead])
    if values is None:
        return unknown
    said = [
        one + sum((c[row] * v for c, v in zip(moved, values, strict=True)), Fraction(0))
        for row, one in enumerate(start)
    ]
    return FaceRounding(0.0, np.array([_above(abs(one - other)) for one, other in zip(said, given, strict=True)]))


def _deduce_targets(problem: Problem, given: list[Fraction]) -> list[Fraction] | None:
    """Return the targets of all rows that those of independent rows imply; None where the rank takes too much."""
    try:
        relations = redundant(problem.system, None if problem.slabs is None else problem.slabs.key)
    except TooLargeError:
        return None
    return _follow(relations, given)


def _follow(relations: Sequence[RedundantRow], given: list[Fraction]) -> list[Fraction]:
    """Return the targets of all rows that those of the rows without a relation imply."""
    said = list(given)
    for relation in relations:  # of independent rows, and of redundant ones that came before
        terms = zip(relation.rows.tolist(), relation.weights.tolist(), strict=True)
        said[relation.row] = sum((said[row] * weight for row, weight in terms), Fraction(0)) / relation.multiplier
    return said


def _above(value: Fraction) -> float:
    """Return a float64 number that is no less."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
