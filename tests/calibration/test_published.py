"""Published weights of households with controls of persons."""

from __future__ import annotations

import numpy as np
import pandas as pd

import purtensor as pt

# X. Ye and others, Transportation Research Board 2009: eight households, two household types, three person types
PERSONS = {"p1": [1, 1, 2, 1, 0, 1, 2, 1], "p2": [1, 0, 1, 0, 2, 1, 1, 1], "p3": [1, 1, 0, 2, 1, 0, 2, 0]}
MATRIX = np.array([[1] * 3 + [0] * 5, [0] * 3 + [1] * 5, *PERSONS.values()], dtype=float)
TARGETS = np.array([35.0, 65, 91, 65, 104])
PRINTED = [1.36, 25.66, 7.98, 27.79, 18.45, 8.64, 1.47, 8.64]


def updated():
    """Iterative proportional updating: each control in turn scales the households that have any of it."""
    weights = np.ones(8)
    for _ in range(2000):
        for row, target in zip(MATRIX, TARGETS, strict=True):
            weights[row > 0] *= target / (row @ weights)
    return weights


def test_calibrate__is_nearer_than_iterative_proportional_updating():
    homes = pd.DataFrame({"id": range(1, 9), "type": ["1"] * 3 + ["2"] * 5})
    of_homes = [(home, kind) for kind, own in PERSONS.items() for home, k in enumerate(own, 1) for _ in range(k)]
    controls = [
        pt.total(1, by="type", target={"1": 35, "2": 65}),
        pt.total(1, by="person", target={"p1": 91, "p2": 65, "p3": 104}),
    ]
    members = pd.DataFrame(of_homes, columns=["id", "person"])
    nearest = pt.calibrate(homes, controls, members=members, key="id").array
    theirs = updated()
    np.testing.assert_allclose(theirs, PRINTED, rtol=0, atol=0.005)
    for weights in (nearest, theirs):
        np.testing.assert_allclose(MATRIX @ weights, TARGETS, rtol=1e-11)
    ours, other = (float((w * np.log(w / 12.5) - w + 12.5).sum()) for w in (nearest, theirs))
    assert 1.47 < other / ours < 1.48
    # Pythagoras: what is between any weights that meet the controls and the nearest adds to the distance
    between = float((theirs * np.log(theirs / nearest) - theirs + nearest).sum())
    assert abs(ours + between - other) < 1e-8
