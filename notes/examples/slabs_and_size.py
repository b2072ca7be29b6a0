"""
What size costs
===============

Sweeps cost in proportion to the profiles that occur, not to those that could: the seconds of PUR over tables of growing
size.
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
