"""
Fair hiring
===========

From counts of people to the closest distribution in which hiring does not depend on sex, while it depends on the degree
as before, and the people are who they were. The picture shows how many women are hired for each hired man, of as many
applicants.
"""

# %%
# Counts of applicants, and the ratio of the shares that are hired.
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
    title="Hired women for each hired man, of as many",
)
