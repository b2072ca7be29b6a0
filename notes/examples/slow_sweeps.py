"""
Slow and impossible problems
============================

Iterative proportional fitting divides the error by a constant factor per sweep (b), converges like one over the number
of sweeps if the constraints force zeros (staircase), or does not converge if no distribution meets the constraints
(cut_3x3). By default, the first problem is solved by Newton steps, the second on the face that the verdict determines,
and the third is refused with an explanation.
"""

import purtensor as pt
from purtensor.plots.style import COLOURS, OTHER_COLOURS, finish, legend_beside, new_figure

axes = new_figure(7.6, 3.8).add_subplot()
for name, colour in zip(("b", "staircase", "cut_3x3"), (COLOURS["PUR"], COLOURS["P"], OTHER_COLOURS[0]), strict=True):
    problem = pt.problems.load(name)
    run = pt.project(problem.reference, problem.constraints, solver=pt.IPF(), max_iterations=900, on_failure="return")
    line = run.trace.set_index(record="iteration").residual
    axes.plot(line.record, line, color=colour, label=name)
axes.set_xscale("symlog", linthresh=1)
axes.set_yscale("log")
finish(axes, title="", x="sweeps", y="largest miss of a target")
legend_beside(axes)

# %%
# A prediction for the first problem, before it is solved:
problem = pt.problems.load("b")
found = pt.convergence.predict(problem.reference, problem.constraints)
axes = found.plot(title="Problem b")

# %%
# How many sweeps are left after 50, in the picture of the run:
early = pt.project(problem.reference, problem.constraints, solver=pt.IPF(), max_iterations=50, on_failure="return")
axes = early.plot(forecast=pt.convergence.forecast(early))

# %%
# And why the last has no solution:
problem = pt.problems.load("cut_3x3")
pt.diagnose(problem.reference, problem.constraints)
