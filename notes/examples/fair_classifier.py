"""
A fair classifier
=================

Accuracy and disparity of the natural classifiers of the data and of their projections, on the test part of the Adult
data.
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
# The rate at which each group is predicted to earn more than 50K, divided by the rate of white men.
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
axes = pt.plots.plot_disparity_ratios(frame, title="More than 50K, predicted for the test data")
