"""
A fair classifier
=================

Accuracy and disparity of the natural classifier of the data, and of its projections, on the Adult data that they were
not made from.
"""

import pandas as pd

import purtensor as pt

train, test = (pt.datasets.adult(split=split) for split in ("train", "test"))
response, protected = "income", ["gender", "race"]
f = pt.regularize(train, response=response)
distributions = {"f": f}
for conditions in ("P", "PU", "PUR"):
    distributions[conditions] = pt.project(
        f, pt.pur(f, response=response, protected=protected, conditions=conditions)
    ).table

# %%
# How often each group is predicted to earn more, divided by how often white men are.
white_men = {"gender": "male", "race": "white"}
ratios = {
    name: pt.disparity_ratio(
        pt.predict(q, test, response=response, unseen="marginal"),
        response=response,
        protected=protected,
        reference=white_men,
    )
    .to_series()
    .xs(">50K", level="income")
    for name, q in distributions.items()
}
frame = pd.DataFrame(ratios).drop(index=tuple(white_men.values()))
frame.index = [", ".join(group) for group in frame.index]
axes = pt.plots.plot_disparity_ratios(frame, title="More than 50K, predicted for people not seen before")
