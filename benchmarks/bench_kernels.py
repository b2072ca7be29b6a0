"""Single kernels against the size of their arrays: those that sweeps, Newton's steps and certificates stand on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from benchmarks.runs import Brief
from purtensor.kernels.elementary import divergence_gain, scale_by_exp
from purtensor.kernels.ipf.steps import scale_and_sum, sum_rows
from purtensor.kernels.newton.certificate import certificate_sums
from purtensor.kernels.newton.line_search import curvature
from purtensor.kernels.reductions import group_sums, inner_product, lane_sum, spread

ROWS = 300


def arrays_of(profiles):
    """Return masses, changes of them, and three constraints of `ROWS` rows each."""
    rng = np.random.default_rng(3)
    return SimpleNamespace(
        masses=rng.uniform(0.5, 1.5, profiles) / profiles,
        change=rng.uniform(-0.1, 0.1, profiles),
        index=rng.integers(0, ROWS, (3, profiles)).astype(np.uint16),
        offsets=np.arange(4) * ROWS,
        ones=np.ones(ROWS),
        potentials=rng.uniform(-0.1, 0.1, 3 * ROWS),
        sums=np.empty(ROWS),
        out=np.empty(profiles),
    )


KERNELS = {
    "lane_sum": lambda a: lane_sum(a.masses),
    "inner_product": lambda a: inner_product(a.masses, a.change),
    "sum_rows": lambda a: sum_rows(a.masses, a.index[0], a.sums),
    "scale_and_sum": lambda a: scale_and_sum(a.masses, a.index[0], a.ones, a.index[1], a.sums),
    "group_sums": lambda a: group_sums(a.masses, a.index[0], ROWS),
    "spread": lambda a: spread(a.index, a.offsets, a.potentials, a.out),
    "scale_by_exp": lambda a: scale_by_exp(a.masses, a.change.copy()),
    "divergence_gain": lambda a: divergence_gain(a.masses, 1.0 + a.change, np.ones_like(a.change)),
    "curvature": lambda a: curvature(a.masses, a.change, 1.0),
    "certificate_sums": lambda a: certificate_sums(a.masses, a.change),
}


class Kernel(Brief):
    params = ((10**3, 10**4, 10**5, 10**6), tuple(KERNELS))
    param_names = ("profiles", "kernel")

    def setup(self, profiles, kernel):
        self.arrays = arrays_of(profiles)
        KERNELS[kernel](self.arrays)

    def time_call(self, profiles, kernel):
        KERNELS[kernel](self.arrays)
