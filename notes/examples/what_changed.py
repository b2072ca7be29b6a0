"""
Changes made by a projection
============================

A projection changes the reference as little as the constraints allow. The figure shows the distribution of the factors
by which masses were multiplied, and the decrease of the residual.
"""

import purtensor as pt

problem = pt.problems.load("a")
result = pt.project(problem.reference, problem.constraints, solver=pt.IPF())
axes = result.plot(title="PUR of problem a, by sweeps")

# %%
# The numbers of an independent verification.
pt.verify(result)
