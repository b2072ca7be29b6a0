from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss as peer

import purtensor as pt
from purtensor.errors import UnknownAttributeError
from purtensor.fairness.rates import accuracy, log_loss


def people(seed: int, size: int = 200):
    rng = np.random.default_rng(seed)
    return {"y": rng.integers(0, 3, size), "s": rng.integers(0, 2, size), "x": rng.integers(0, 4, size)}


def test_log_loss__is_that_of_scikit_learn() -> None:
    q, records = pt.regularize(pt.tabulate(people(0)), 0.5, response="y"), people(1)
    chances = q.to_series().unstack("y")
    chances = chances.div(chances.sum(axis=1), axis=0).reindex(list(zip(records["s"], records["x"], strict=True)))
    assert log_loss(q, pt.tabulate(records), response="y") == pytest.approx(peer(records["y"], chances.to_numpy()))
    right = chances.to_numpy()[np.arange(200), records["y"]]
    assert accuracy(q, pt.tabulate(records), response="y") == pytest.approx(right.mean())


def test_log_loss__people_of_unknown_profiles_are_predicted_by_the_marginal() -> None:
    q = pt.tabulate({"y": [0, 1, 1], "s": [0, 0, 0]}, weights=[1, 1, 2])
    data = pt.tabulate({"y": [0, 1], "s": [1, 1]})
    assert log_loss(q, data, response="y") == pytest.approx(-(np.log(0.25) + np.log(0.75)) / 2)


def test_log_loss__is_infinite_where_someone_is_held_impossible() -> None:
    q = pt.tabulate({"y": [0, 1, 1], "s": [0, 1, 1]})
    assert log_loss(q, pt.tabulate({"y": [1], "s": [0]}), response="y") == np.inf
    with pytest.raises(UnknownAttributeError, match="'z'"):
        log_loss(q, q, response="z")
