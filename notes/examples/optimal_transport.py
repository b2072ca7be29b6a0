"""
Optimal transport at a small regularisation
===========================================

Entropic optimal transport is the projection of exp(-cost / epsilon) onto two marginals. At a small epsilon that mass is
below what floats hold, and a float of 0 would forbid the way. Given by its logarithms, the reference keeps it.
"""

import numpy as np
import xarray as xr

import purtensor as pt

places = np.linspace(0.0, 1.0, 60)
supply = xr.DataArray(np.exp(-((places - 0.25) ** 2) / 0.01), dims="from", coords={"from": places})
demand = xr.DataArray(1.0 + np.sin(12.0 * places) ** 2, dims="to", coords={"to": places})
marginals = [pt.Marginal(supply / supply.sum()), pt.Marginal(demand / demand.sum())]
cost = (supply["from"] - demand["to"]) ** 2

epsilon = 5e-4
plan = pt.project(-cost / epsilon, marginals, reference_in="log")
print(f"{int((np.exp(-cost / epsilon) == 0).sum())} of {cost.size} masses of the reference are no floats")
print(f"{plan.iterations} iterations, within {plan.tv_bound:.0e} of the exact plan in total variation")
print(f"cost of transport {float((plan.table * cost).sum()):.6f}")

# %%
# The potentials are the dual solution: the logarithm of the plan is the reference plus the potentials of its row and
# its column.
gain = epsilon * (
    float((plan.potentials[0] * supply).sum() / supply.sum())
    + float((plan.potentials[1] * demand).sum() / demand.sum())
)
entropy = pt.entropy(plan.table)
print(f"primal {float((plan.table * cost).sum()) - epsilon * entropy:.9f}, dual {gain:.9f}")
