"""
The cost of bounds on weights
=============================

A survey is calibrated to totals of region, age and income. Below a certain s, no weights meet the bounds, and this is
proved. Above it, wider bounds reduce the distance to the design weights, until no bound is active.
"""

import numpy as np

import purtensor as pt
from purtensor.plots.style import COLOURS, finish, legend_beside, new_figure

rng = np.random.default_rng(7)
people = {
    "region": rng.choice(["north", "south", "west"], 600, p=[0.5, 0.3, 0.2]),
    "age": rng.choice(["18-39", "40-64", "65+"], 600, p=[0.2, 0.45, 0.35]),
    "income": rng.gamma(3.0, 900.0, 600),
}
controls = [
    pt.total(1, by="region", target={"north": 270, "south": 200, "west": 130}),
    pt.total(1, by="age", target={"18-39": 200, "40-64": 250, "65+": 150}),
    pt.total("income", target=1.65e6),
]
calibration = pt.calibrate(people, controls)
curve = calibration.bound_curve(12)
axes = new_figure(7.6, 3.8).add_subplot()
axes.plot(curve["upper"], curve["objective"], color=COLOURS["PUR"], marker="o", label="distance to the design weights")
axes.axvline(calibration.tightest_bounds().proved, color=COLOURS["P"], label="proved: no weights to the left")
finish(axes, title="", x="s of bounds 1/s and s on the ratios", y="nats per unit of weight")
legend_beside(axes)

# %%
# The share of records at a bound, and the effective sample size:
curve[["upper", "share at a bound", "effective size"]].round(4)

# %%
# The result, with its certificate:
calibration
