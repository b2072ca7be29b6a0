"""Steps of iterative proportional fitting with over-relaxation, whose dual never falls.

A step scales every row of one constraint by (target / sum) ** omega, and the whole by what gives the masses their
total again. What the dual gains is known from the sums, row by row: where a row would gain less than a certain share of
what the plain factor gains, it takes that one (notes/solvers.md, equations 3 and 4).
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.elementary import excess, fast_exp
from purtensor.kernels.ipf.steps import phi


@compiled
def log_of_ratio(target: float, total: float) -> float:
    """Return log(target / total), to the last digits near ratio 1 and where a target is next to nothing."""
    w = (target - total) / total
    return float(np.log1p(w) if w > -0.5 else np.log(target / total))


@compiled
def least_share(omega: float) -> float:
    """Return the share of the plain gain of a row that its relaxed factor must gain: half of it near ratio 1."""
    return 0.5 * omega * (2.0 - omega)


@compiled
def compute_relaxed_gain(log_ratio: float, omega: float) -> float:
    """Return omega l e^l - e^(omega l) + 1, l = log ratio: what the dual gains by a row of mass 1 at this exponent.

    As omega l (e^l - 1) - (e^(omega l) - 1 - omega l) it keeps its digits where the ratio is close to 1.
    """
    power = omega * log_ratio
    return float(power * np.expm1(log_ratio) - excess(power))


@compiled
def take_relaxed_factors(
    targets: FloatArray, sums: FloatArray, omega: float, factor: FloatArray, u: FloatArray
) -> float:
    """Write the relaxed factors of one constraint into `factor`, multiply them into `u`; return the gain of the dual.

    They leave the masses with the total of the targets. Rows without mass keep their factor 1: no potential can
    serve them.
    """
    gain = 0.0
    mass = 0.0
    for r in range(sums.size):
        factor[r] = 1.0
        if sums[r] > 0.0:
            w = (targets[r] - sums[r]) / sums[r]
            log_ratio = log_of_ratio(targets[r], sums[r])
            own = compute_relaxed_gain(log_ratio, omega)
            factor[r] = fast_exp(omega * log_ratio)
            plain = phi(w)
            # in this form NaN takes the plain factor, too
            if not own >= least_share(omega) * plain:
                own = plain
                factor[r] = targets[r] / sums[r]
            gain += sums[r] * own
            # what the masses will sum to, known without a pass over them
            mass += sums[r] * factor[r]
    total = targets.sum()
    for r in range(sums.size):
        if sums[r] > 0.0:
            # relaxed factors alone would change the total
            factor[r] *= total / mass
            u[r] *= factor[r]
    return float(gain + total * excess(np.log(mass / total)))
