"""mipfp's calling shape, in Python spelling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import purtensor as pt
from purtensor.compat import mipfp


def test_ipfp__targets_over_several_axes_in_any_order() -> None:
    rng = np.random.default_rng(4)
    goal, seed = rng.gamma(1.0, 1.0, (2, 2, 3)), rng.gamma(1.0, 1.0, (2, 2, 3))
    lists = [[0], [1, 0], [2, 1]]
    data = [goal.sum(axis=(1, 2)), goal.sum(axis=2).T, goal.sum(axis=0).T]
    found = mipfp.Ipfp(seed, lists, data)
    assert found.conv
    assert found.method == "ipfp"
    assert found.x_hat.sum(axis=2) == pytest.approx(goal.sum(axis=2), rel=1e-8)
    assert found.x_hat.sum(axis=0) == pytest.approx(goal.sum(axis=0), rel=1e-8)
    assert found.p_hat.sum() == pytest.approx(1.0)
    assert found.error_margins.shape == (3,)
    assert found.error_margins.max() <= 1e-10 * goal.sum() + 1e-14
    assert found.projection.certified
    # the projection keeps the odds ratios of the seed that no target is about
    odds = [(t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0])) for t in (found.x_hat, seed)]
    ratios = [odd / odd[0] for odd in odds]
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-6)


def test_ipfp__errors_are_measured_on_the_table() -> None:
    table = np.array([[1.0, 2.0], [3.0, 5.0]])
    with pytest.warns(pt.errors.NotConvergedWarning):
        found = mipfp.Ipfp(table, [[1], [0]], [np.array([6.0, 4.0]), np.array([2.0, 8.0])], iter=1)
    assert not found.conv
    expected = [np.abs(found.x_hat.sum(axis=0) - [6, 4]).max(), np.abs(found.x_hat.sum(axis=1) - [2, 8]).max()]
    assert found.error_margins == pytest.approx(np.array(expected))
    assert found.error_margins.max() > 1e-3
    assert len(found.evol_stp_crit) == 1
    assert found.evol_stp_crit[0] == pytest.approx(max(expected) / 10)


def test_ipfp__no_false_convergence() -> None:  # surveysd 26; rows 2 and 3 need 2 from column 3, which has 1
    seed = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    with pytest.raises(pt.InfeasibleError) as raised:
        mipfp.Ipfp(seed, [[0], [1]], [np.ones(3), np.ones(3)])
    assert raised.value.diagnosis.verify()


def test_ipfp__an_axis_that_no_target_mentions() -> None:
    seed = np.arange(1.0, 13.0).reshape(2, 2, 3)
    found = mipfp.Ipfp(seed, [[0], [1]], [np.array([6.0, 4.0]), np.array([3.0, 7.0])])
    shares = found.x_hat / found.x_hat.sum(axis=2, keepdims=True)
    assert shares == pytest.approx(seed / seed.sum(axis=2, keepdims=True), rel=1e-12)
    assert found.x_hat.sum(axis=(1, 2)) == pytest.approx([6.0, 4.0])


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (
            ([[0], [1]], [[4, 6], [3, 8]]),
            {},
            pt.InconsistentTargetsError,
            "divide the seed and each target by its total",
        ),
        (([[1], [2]], [[4, 6], [3, 7]]), {}, pt.InvalidOptionError, "from 0 to 1, got"),
        (([[0]], [[4, 6], [3, 7]]), {}, pt.InvalidOptionError, "2 targets and 1 entries"),
        (([[0], [1]], [[4, 6], [3, 7]]), {"na_target": True}, pt.InvalidOptionError, "not a marginal"),
        (([[0]], [np.ma.masked_array([4, 6], [0, 1])]), {}, pt.InvalidTableError, "a target has masked cells"),
        (([[0], [1]], [[4, np.nan], [3, 7]]), {}, pt.InvalidTableError, "axis 0=1"),
    ],
)
def test_ipfp__refuses(arguments: Any, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mipfp.Ipfp(np.ones((2, 2)), *arguments, **options)


def test_ipfp__refuses_a_seed_that_is_no_table() -> None:
    with pytest.raises(pt.InvalidTableError, match="an array of numbers"):
        mipfp.Ipfp(3.0, [[0]], [[1.0]])


def test_ipfp__who_changes_its_array_does_not_change_the_projection() -> None:
    found = mipfp.Ipfp(np.ones((2, 2)), [[0], [1]], [np.array([4.0, 6.0]), np.array([3.0, 7.0])])
    before = found.projection.table.values.tolist()
    found.x_hat[0, 0] = 99.0
    assert found.projection.table.values.tolist() == before
