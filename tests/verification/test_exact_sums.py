"""What rows miss, against sums in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from purtensor.verification.exact_sums import Rows


@pytest.mark.parametrize("decades", [1, 30, 300])
@pytest.mark.parametrize("seed", range(5))
def test_misses__are_known_to_what_is_said_to_be_unsure(seed, decades):
    rng = np.random.default_rng(seed)
    index = np.array([rng.integers(0, 4, 200), rng.integers(4, 9, 200)])
    masses = (10.0 ** rng.uniform(-decades, 0, 200)).astype(np.longdouble)
    change = (rng.normal(size=200) * 1e-3).astype(np.longdouble) * masses
    sums = np.zeros(9, dtype=np.longdouble)
    for own in index:
        np.add.at(sums, own, masses + change)
    targets = sums.astype(np.float64).astype(np.longdouble)
    rows = Rows(index, targets, np.repeat([0, 1], [4, 5]))
    missed, unsure = rows.misses(masses, change)
    for row in range(9):
        exact = Fraction(*targets[row].as_integer_ratio())
        for profile in np.flatnonzero((index == row).any(axis=0)):
            exact -= Fraction(*masses[profile].as_integer_ratio()) + Fraction(*change[profile].as_integer_ratio())
        assert abs(exact - Fraction(*missed[row].as_integer_ratio())) <= Fraction(*unsure[row].as_integer_ratio())
        assert float(unsure[row]) <= 1e-18 * abs(float(exact)) + 1e-30 * float(targets[row])
