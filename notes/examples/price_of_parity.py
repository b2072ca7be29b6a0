"""
The price of parity
===================

Where an attribute tells the protected one, exact parity costs much. The curve says what each violation that is allowed
costs in divergence, and what becomes of the ratios.
"""

import numpy as np

import purtensor as pt

f = pt.problems.proxy(0.06).reference
curve = pt.parity_curve(f, response="y", protected="s", slacks=np.linspace(0, 0.32, 17))
axes = pt.plots.plot_parity_curve(curve)
