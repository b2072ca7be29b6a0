"""
The cost of parity
==================

If the protected attribute can be inferred from another one, exact parity is costly. The curve shows the divergence for
each allowed violation of parity, and the resulting disparity ratios.
"""

import numpy as np

import purtensor as pt

f = pt.problems.proxy(0.06).reference
curve = pt.parity_curve(f, response="y", protected="s", slacks=np.linspace(0, 0.32, 17))
axes = pt.plots.plot_parity_curve(curve)
