"""The rest of disparity on test data as the sets grow: a finite-sample effect vanishes, a bias would stay."""

from __future__ import annotations

import numpy as np
import pandas as pd

from purtensor.studies.claims import Means
from purtensor.studies.members import run_members
from purtensor.studies.population import UNSEEN
from purtensor.studies.simulated import MODELS, Simulation
from purtensor.studies.wage import WageStudy

# how many times the survey's size the simulated sets have
FACTORS = (1, 4, 16)

MOST_SETS = 400


def rest_by_size(study: WageStudy, *, factors: tuple[int, ...] = FACTORS, workers: int = 1) -> pd.DataFrame:
    """Return what PUR leaves of disparity on test data, a row a size of the simulated sets.

    Natural classifiers are ratios of small counts, and the mean of a ratio is not the ratio of the means: what is left
    is of order 1/N, below the noise of one set, which is of order 1/sqrt(N), and above the error of many sets' mean.

    Returns
    -------
    pandas.DataFrame
        `size` of each set, `sets`, `rms z` (root mean square of the mean disparities in their standard errors: near 1
        where only chance is left), `largest rest` that is no chance, `unseen`: the share of test people whose profile
        was not trained on.
    """
    sets = min(study.sets, MOST_SETS)
    rows = []
    for factor in factors:
        size = factor * round(float(study.counts.sum()))
        # a stream of its own for each size
        seed = int(np.random.SeedSequence([study.seed, factor]).generate_state(1)[0])
        simulation = Simulation(study.population, study.masses, size, size, study.strength)
        found = run_members(simulation, sets, seed=seed, workers=workers)
        off = study.compare(found["natural"][:, list(UNSEEN).index(study.unseen), MODELS.index("PUR")])
        off = off[np.isfinite(off).all(axis=(1, 2))]
        means = Means(off.mean(axis=0), off.std(axis=0, ddof=1) / np.sqrt(len(off)), len(off))
        rows.append((size, len(off), means.root_mean_square, means.rest, float(found["unseen_mass"].mean())))
    return pd.DataFrame(rows, columns=["size", "sets", "rms z", "largest rest", "unseen"])
