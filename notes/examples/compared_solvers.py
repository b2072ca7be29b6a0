"""
Comparison of solvers
=====================

Every solver starts at the reference and runs until the constraints are met to a common tolerance; the returned tables
are evaluated independently of the solvers. Times are medians of ratios within a round, with bars for the range over all
rounds; a bar that crosses 1 is a tie.
"""

import purtensor as pt

compared = pt.compare(["a", "haberman", "b_lam0"], ["newton", "ipf", "gis", "lbfgs"], repetitions=5, budget=10)
axes = compared.plot(title="Times as multiples of Newton's method")

# %%
compared
