"""
A log-linear model and its lack of fit
======================================

The log-linear model without three-way interaction is the projection of the uniform table onto all two-way marginals.
Its deviance G2 measures how much the data deviate from the model.
"""

import purtensor as pt

counts = pt.datasets.adult()
attributes = ["income", "gender", "race"]
table = pt.marginal(counts, attributes)
pairs = [("income", "gender"), ("income", "race"), ("gender", "race")]
model = pt.project(pt.uniform(table), pt.marginals_of(table, pairs))
print("degrees of freedom:", pt.degrees_of_freedom(model.reference, model.constraints))
print("G2:", round(2 * float(table.sum()) * pt.kl_divergence(table, model.table), 2))
axes = model.plot(title="From the uniform table to the model")
