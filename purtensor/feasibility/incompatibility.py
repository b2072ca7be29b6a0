"""The share of the mass that no table can place without exceeding a target, with its proof in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from purtensor._typing import IntArray
from purtensor.constraints.system import System
from purtensor.feasibility.farkas import rounded, spread_whole
from purtensor.feasibility.linear_programs import covering_weights
from purtensor.feasibility.targets import ExactTargets

_UNITS = (1, 2, 6, 60, 2**40)


@dataclass(frozen=True, slots=True, eq=False)
class Incompatibility:
    """One minus the largest mass of a table on the support whose marginals exceed no target; the total mass is 1.

    Attributes
    ----------
    value
        By the linear program: 0 where the constraints can be met, 1 where no profile has room in all of its rows.
    proved
        A lower bound in exact numbers.
    weights, unit
        Shape (D,), and what they are divided by: whole numbers y >= 0 with C^T y >= unit, and b.y = unit (1 - proved).
    """

    value: float
    proved: Fraction
    weights: IntArray
    unit: int


def incompatibility(system: System, targets: ExactTargets) -> Incompatibility | None:
    """Return the incompatibility of the targets on the support (notes/feasibility.md, equation 9).

    None where the program fails. Weights that were rounded are raised until they cover every profile, and divided by
    how often they cover the least covered one.
    """
    found = covering_weights(system)
    if found is None:
        return None
    shares = system.targets / system.targets[system.block(0)].sum()
    value = min(1.0, max(0.0, 1.0 - float(shares @ found)))
    first = np.zeros(system.rows, dtype=np.int64)
    first[system.block(0)] = 1  # covers every profile once, and costs all of the mass
    best = Incompatibility(value, Fraction(0), first, 1)
    for unit in _UNITS:
        # any y >= 0 bounds the mass by b.y over its least cover, rounded or not
        weights = rounded(np.maximum(found, 0.0), float(unit))
        if weights is None:
            continue
        covered = int(spread_whole(system.index, system.offsets, weights).min())
        if covered > 0 and (bound := 1 - targets.dot(weights) / covered) > best.proved:
            best = Incompatibility(value, bound, weights, covered)
        if float(best.proved) >= value - 1e-9:
            break
    return best
