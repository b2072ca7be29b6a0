"""
Time against size
=================

The cost of a sweep is proportional to the number of profiles in the support, not to the size of the domain. The figure
shows the time of PUR for tables of growing size.
"""

import purtensor as pt
from purtensor.plots.style import COLOURS, finish, new_figure

sizes, seconds = [], []
for unprotected in (100, 400, 1_600, 6_400):
    problem = pt.problems.generate(
        "pur", seed=1, responses=3, protected=4, unprotected=unprotected, records=20 * unprotected
    )
    pt.project(problem.reference, problem.constraints, max_iterations=1, on_failure="return")
    result = pt.project(problem.reference, problem.constraints, solver=pt.IPF(), tolerance=1e-8)
    sizes.append(problem.profiles)
    seconds.append(result.seconds)

axes = new_figure(6.4, 3.6).add_subplot()
axes.loglog(sizes, seconds, marker="o", color=COLOURS["PUR"])
finish(axes, title="", x="profiles", y="seconds to 1e-8")
