"""Anderson acceleration of a map of the potentials, such as a sweep of iterative proportional fitting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.iterate import Budget, Iterate, Record, Step
from purtensor.solving.line_search import centre, gain_at_total
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.array_rows import ArrayRowSpace

_LARGEST_CHANGE = 40.0
"""An extrapolation that changes a mass by more than exp(40) is not tried."""

_CONDITION = 1e-12
"""Eigenvalues of the normal equations below this share of the largest are rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class _Visit:
    """Where the map was applied: what it gave, and by which move."""

    image: FloatArray
    move: FloatArray


@dataclass(slots=True, eq=False)
class _Visits:
    latest: deque[_Visit]


def accelerated_step(
    sweep: Callable[[Problem, Iterate, Budget], Step], depth: int, problem: Problem, iterate: Iterate
) -> Step:
    """Return the iterate after one sweep and the extrapolation from it, where the dual gains by that.

    Where it does not, the sweep stands, and what was learnt from earlier sweeps is dropped.
    """
    memory = iterate.memory if isinstance(iterate.memory, _Visits) else _Visits(deque(maxlen=depth + 1))
    swept = sweep(problem, Iterate(iterate.potentials, iterate.masses), Budget(1, 0.0, 0.0))
    space, point = ArrayRowSpace(problem), swept.iterate
    # the first sweep from a fresh state is always recorded
    gain = swept.records[0].kl_step
    image = point.potentials
    # the sweep is from where the last extrapolation led, as Anderson's method has it
    memory.latest.append(_Visit(image, image - iterate.potentials))
    if len(memory.latest) > 1:
        extra = _extrapolate(space, point, extrapolation(memory.latest, problem.targets))
        if extra is None:
            memory.latest.clear()
            point = space.at(image)  # masses only ever scaled in place would drift off their potentials
        else:
            point, more = extra
            gain += more / problem.total
    residual = space.residual(point)
    record = Record(1, residual.largest, residual.l1, gain, space.dual(point))
    return Step(Iterate(point.potentials, point.masses, memory), 1, (record,), stalled=swept.stalled)


def _extrapolate(space: ArrayRowSpace, point: Iterate, move: FloatArray) -> tuple[Iterate, float] | None:
    """Return the point after the move and what the dual gains by it; None where it gains nothing."""
    direction = centre(space, point, move)
    tried = space.try_step(point, direction, 1.0)
    if not tried.largest < _LARGEST_CHANGE:  # nor where the dual falls along it
        return None
    gain = gain_at_total(space.total, direction.slope, tried.loss, 1.0)
    return (tried.point(), gain) if gain > 0.0 else None


def extrapolation(visits: deque[_Visit], weights: FloatArray) -> FloatArray:
    """Return the way from the last image to the combination of all whose moves cancel best.

    Best is least squares, weighted by the targets (notes/solvers.md, equation 5), by normal equations on differences
    of length 1: where these are almost dependent, the safeguard has the last word.
    """
    roots = np.sqrt(weights)
    moves = np.array([visit.move for visit in visits]) * roots
    differences = np.diff(moves, axis=0)
    lengths = np.linalg.norm(differences, axis=1)
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    # of length 1, as late differences are many decades smaller than early ones
    differences *= scale[:, None]
    gram = np.einsum("ij,kj->ik", differences, differences)
    shares = np.linalg.lstsq(gram, np.einsum("ij,j->i", differences, moves[-1]), rcond=_CONDITION)[0]
    images = np.array([visit.image for visit in visits])
    return np.asarray(-np.einsum("i,ij->j", scale * shares, np.diff(images, axis=0)))
