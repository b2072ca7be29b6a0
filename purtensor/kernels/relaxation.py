"""Sweeps of iterative proportional fitting with over-relaxation, whose dual never falls.

A step scales every row r of one constraint by ratio_r ** omega, ratio = target / sum, and the whole by what gives the
masses their total again. The rows of one constraint share no profile, so the dual gains
sum_r s_r (omega ratio_r log ratio_r - ratio_r ** omega + 1) before that, which the sums alone tell: a row whose
term is not positive keeps the exponent 1, where it is largest.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.exponential import fast_exp
from purtensor.kernels.ipf import (
    SWEEPS_PER_FOLD,
    dual_value,
    fold,
    is_recorded,
    measure,
    miss,
    phi,
    scale_and_sum,
    sum_rows,
)
from purtensor.kernels.newton import excess

_SMALL = 1e-3


@compiled
def relaxed_gain(log_ratio: float, omega: float) -> float:
    """Return omega l e^l - e^(omega l) + 1, l = log ratio: what the dual gains by a row of mass 1 at this exponent.

    As omega l (e^l - 1) - (e^(omega l) - 1 - omega l) it keeps its digits where the ratio is close to 1.
    """
    power = omega * log_ratio
    return power * np.expm1(log_ratio) - excess(power)


@compiled
def take_relaxed_factors(
    targets: FloatArray, sums: FloatArray, omega: float, factor: FloatArray, u: FloatArray
) -> float:
    """Write the relaxed factors of one constraint into `factor`, multiply them into `u`; return the gain of the dual.

    `sums` add up to the total before and after. Rows without mass keep their factor 1: no potential can serve them.
    """
    gain = 0.0
    total = 0.0
    moved = 0.0
    for r in range(sums.size):
        factor[r] = 1.0
        if sums[r] > 0.0:
            log_ratio = np.log1p((targets[r] - sums[r]) / sums[r])
            own = relaxed_gain(log_ratio, omega)
            if own > 0.0:
                factor[r] = fast_exp(omega * log_ratio)
                moved += sums[r] * np.expm1(omega * log_ratio)
            else:
                own = phi((targets[r] - sums[r]) / sums[r])
                factor[r] = targets[r] / sums[r]
                moved += targets[r] - sums[r]
            gain += sums[r] * own
            total += sums[r]
    share = np.log1p(moved / total)
    scale = 1.0 / (1.0 + moved / total)
    for r in range(sums.size):
        if sums[r] > 0.0:
            factor[r] *= scale
            u[r] *= factor[r]
    return gain + total * excess(share)
