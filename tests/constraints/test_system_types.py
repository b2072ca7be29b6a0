"""The types of the index hold every combination of a small table over a large domain."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.constraints.system import align
from purtensor.tables.coded import encode


@pytest.mark.parametrize("sizes", [(2, 3, 4), (6, 4, 4, 4), (7, 9, 11), (40, 40, 41), (300, 5), (50, 60, 70)])
def test_align__gives_each_profile_the_row_of_its_target(sizes: tuple[int, ...]) -> None:
    # few profiles of domains beyond 2^8 and 2^16 combinations, which the types of the index must hold
    rng = np.random.default_rng(len(sizes))
    names = [f"a{i}" for i in range(len(sizes))]
    rows = {
        name: pd.Categorical.from_codes(rng.integers(0, size, 30), categories=range(size))
        for name, size in zip(names, sizes)
    }
    f = pt.tabulate(rows, weights=rng.uniform(1, 2, 30))
    constraints = pt.marginals_of(f, [names, names[1:]])
    system = align(encode(f), constraints)
    for k, constraint in enumerate(constraints):
        target = constraint.target.to_series()
        assert len(system.targets[system.block(k)]) == len(target)
        found = system.targets[system.block(k)][system.index[k]]
        keys = f.to_series().index.to_frame(index=False)[list(constraint.scope)].itertuples(index=False, name=None)
        np.testing.assert_allclose(found, [target.loc[key] for key in keys], rtol=1e-12)
