"""The trace of a run as a labelled Dataset."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from purtensor.solving.problem import Problem
from purtensor.solving.run_state import TraceLine
from purtensor.solving.solve import run
from purtensor.solving.solvers.ipf.slab_sweeps import EARLY
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.stopping import Stopping

_UNITS = {
    "residual": "largest miss over all constrained profiles, total mass 1",
    "residual_l1": "sum of misses in the worst constraint, total mass 1",
    "kl_step": "nats: what the iteration gained; NaN where the loop measured the last of several iterations itself",
    "dual": "nats: a lower bound on the divergence of the projection from the reference",
    "gap": "nats: how far the dual can be below its maximum, by the certificate of the result",
    "tv_bound": "proved distance in total variation, where it was computed on the way",
    "log_ratio_bound": "nats: proved bound on the largest |log(q / p)|, where it was computed on the way",
    "seconds": "seconds since the start; within one compiled call interpolated",
}


def with_duals(lines: Sequence[TraceLine], problem: Callable[[], Problem], sweeping: IPF) -> Sequence[TraceLine]:
    """Return the lines of a run from the reference with the duals that were put off; they change in place."""
    # a run that was not finite has none
    if not any(math.isnan(line.record.dual) and not math.isnan(line.record.residual) for line in lines):
        return lines
    # the last of these may have got its dual when its point was scaled, but not its gain
    early = [line for line in lines if line.iteration <= EARLY and math.isnan(line.record.kl_step)]
    # plain sweeps are deterministic: the same number of them passes the same points
    limits = Stopping(0.0, "residual", early[-1].iteration, math.inf)
    again = {line.iteration: line.record for line in run(problem(), sweeping, limits).lines}
    for line in early:
        record = again[line.iteration]
        dual = record.dual if math.isnan(line.record.dual) else line.record.dual
        line.record = line.record._replace(kl_step=record.kl_step, dual=dual)
    return lines


def trace_of(lines: Sequence[TraceLine], bound: float, emptied: float = 0.0) -> xr.Dataset:
    """Return the recorded iterations of a run.

    The gap needs the certificate: the maximum of the dual is at most the last dual value plus `bound`. What zero
    targets alone make the divergence, -log of the reference's share that they leave, is added as `emptied`.
    """
    dual = np.array([line.record.dual for line in lines]) + emptied
    columns = {
        "residual": np.array([line.record.residual for line in lines]),
        "residual_l1": np.array([line.record.residual_l1 for line in lines]),
        "kl_step": np.array([line.record.kl_step for line in lines]),
        "dual": dual,
        # weak duality: the maximum of the dual is unknown, but no more than this above each value
        "gap": dual[-1] + bound - dual,
        "tv_bound": np.array([line.tv_bound for line in lines]),
        "log_ratio_bound": np.array([line.log_ratio_bound for line in lines]),
        "seconds": np.array([line.seconds for line in lines]),
    }
    if np.isnan(columns["log_ratio_bound"]).all():  # asked for by stop_on alone
        del columns["log_ratio_bound"]
    data = {name: ("record", values, {"long_name": _UNITS[name]}) for name, values in columns.items()}
    return xr.Dataset(data, coords={"iteration": ("record", [line.iteration for line in lines])})
