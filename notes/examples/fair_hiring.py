"""
Fair hiring
===========

From counts of people to the closest distribution in which hiring does not depend on sex, while its relation to the
degree and the population are preserved. The figure shows the ratio of the hiring rates of women and men.
"""

# %%
# Counts of applicants.
import pandas as pd

import purtensor as pt

counts = pt.tabulate(
    {
        "hired": ["no", "no", "no", "no", "yes", "yes", "yes", "yes"],
        "sex": ["f", "f", "m", "m", "f", "f", "m", "m"],
        "degree": ["no", "yes", "no", "yes", "no", "yes", "no", "yes"],
    },
    weights=[30, 20, 15, 15, 5, 15, 10, 40],
)
f = pt.regularize(counts, response="hired")

# %%
# Parity, utility and realism together: PUR.
fair = pt.project(f, pt.pur(f, response="hired", protected="sex"))
fair

# %%
# Disparity before and after.
compare = {"response": "hired", "protected": "sex", "reference": {"sex": "m"}}
ratios = {
    name: pt.disparity_ratio(p, **compare).sel(hired="yes", sex="f").item()
    for name, p in {"f": f, "PUR": fair.table}.items()
}
axes = pt.plots.plot_disparity_ratios(
    pd.DataFrame(ratios, index=["women"]),
    names={"f": "data", "PUR": "fair"},
    title="Hiring rate of women divided by that of men",
)
