"""
A log-linear model, and what it does not explain
================================================

Independence of three attributes given what pairs share is a projection of the uniform table onto the pairs' marginals:
the model without three-way interaction. What the data have beyond it are the factors between the two.
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
