"""Moves along a direction of the potentials that never let the dual fall, told without cancellation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.ipf.steps import measure
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.newton.line_search import curvature
from purtensor.kernels.spread import spread
from purtensor.solving.iterate import Iterate, Record, dual_at, iterate_at
from purtensor.solving.problem import Problem


@dataclass(slots=True, eq=False)
class Point:
    """An iterate whose masses have the targets' total, with what it misses.

    Attributes
    ----------
    miss
        Shape (D,): b - C p, the gradient of the dual.
    largest, l1
        The largest miss of a target, and the sum of the misses in the worst constraint.
    """

    iterate: Iterate
    miss: FloatArray
    largest: float
    l1: float


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A direction of the potentials as it acts on the masses of a point.

    Attributes
    ----------
    potentials, change
        Shapes (D,) and (M,): d, and C^T d, of mean 0 under the masses.
    slope
        The derivative of the dual along it.
    """

    potentials: FloatArray
    change: FloatArray
    slope: float


def point_at(problem: Problem, potentials: FloatArray) -> Point:
    """Return the point at the potentials, a constant added to them so that the masses have the targets' total."""
    iterate = iterate_at(problem, potentials.copy())
    ratio = problem.total / float(iterate.masses.sum())
    iterate.potentials[problem.system.block(0)] += np.log(ratio)
    iterate.masses *= ratio
    return measured_point(problem, iterate)


def measured_point(problem: Problem, iterate: Iterate) -> Point:
    """Return the point of an iterate whose masses have the targets' total already."""
    sums = np.empty(problem.system.rows)
    largest, l1 = measure(iterate.masses, problem.index, problem.offsets, problem.targets, sums)
    return Point(iterate, problem.targets - sums, largest, l1)


def direction_from(problem: Problem, point: Point, potentials: FloatArray) -> Direction:
    """Return the direction with a constant taken off, which the total of the masses forbids anyway."""
    masses = point.iterate.masses
    change = np.empty_like(masses)
    spread(problem.index, problem.offsets, potentials, change)
    mean = inner_product(masses, change) / float(masses.sum())
    centred = potentials.copy()
    centred[problem.system.block(0)] -= mean
    return Direction(centred, change - mean, inner_product(point.miss, centred))


def gain_along(problem: Problem, point: Point, direction: Direction, step: float) -> float:
    """Return what the dual gains by a step, the total of the masses kept.

    It is step * slope - T log(1 + X / T), two numbers that are each accurate to their last digits (notes/solvers.md,
    equation 5).
    """
    bend = curvature(point.iterate.masses, direction.change, step)
    return step * direction.slope - problem.total * float(np.log1p(bend / problem.total))


def record_of(problem: Problem, point: Point, gain: float) -> Record:
    """Return the line of the trace of one iteration that led to the point."""
    total = problem.total
    return Record(1, point.largest / total, point.l1 / total, gain / total, dual_at(problem, point.iterate))
