"""
The atlas of rates
==================

How fast iterative proportional fitting is on 11,346 small PUR problems, by exact spectra: what happens as pseudo-counts
vanish, and where utility and realism should be one step.
"""

from purtensor.plots.rates import plot_atlas
from purtensor.studies.atlas import atlas, laws, powers

rates = atlas()
axes = plot_atlas(rates, powers(rates))

# %%
laws(rates).set_index("strength").round(3)
