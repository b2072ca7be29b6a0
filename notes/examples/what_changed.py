"""
What a projection changed
=========================

A projection moves as little mass as the constraints allow. Its picture shows how much of the mass was multiplied by
what, and how the misses of the targets fell.
"""

import purtensor as pt

problem = pt.problems.load("a")
result = pt.project(problem.reference, problem.constraints, solver=pt.IPF())
axes = result.plot(title="PUR of problem a, by sweeps")

# %%
# Its numbers, and those of the second opinion.
pt.verify(result)
