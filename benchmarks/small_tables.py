"""Simulated data sets of the embedded wage survey, as the arrays that `solve_tables` takes."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray
from purtensor.datasets.census_income import census_wage
from purtensor.sampling.draw import multinomial
from purtensor.solving.pur_tables import Union
from purtensor.studies.population import population_of, regularized
from purtensor.studies.wage import PROTECTED, RESPONSE


def simulated_tables(tables: int, strength: float) -> tuple[Union, FloatArray]:
    """Return the survey's predictor profiles, and regularized samples of its size from its regularized distribution."""
    population = population_of(census_wage(), response=RESPONSE, protected=PROTECTED)
    f = regularized(population.counts, 1e-4)
    cells = np.flatnonzero(f)
    rng = np.random.default_rng(0)
    drawn = np.zeros((tables, f.size))
    for counts in drawn:
        counts[cells] = multinomial(f.reshape(-1)[cells], round(float(population.counts.sum())), rng)
    shaped = drawn.reshape(tables, *f.shape)
    union = Union.of(population.protected, population.unprotected, population.responses)
    return union, np.stack([regularized(counts, strength) for counts in shaped])
