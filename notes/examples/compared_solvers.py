"""
Solvers compared
================

Every solver starts at the reference and runs until the constraints are met to one tolerance; what it returns is judged
from outside. Times are medians of ratios within a round, with all rounds as bars; where a bar crosses 1 it is a tie.
"""

import purtensor as pt

compared = pt.compare(["a", "haberman", "b_lam0"], ["newton", "ipf", "gis", "lbfgs"], repetitions=5, budget=10)
axes = compared.plot(title="Times as multiples of Newton's method")

# %%
compared
