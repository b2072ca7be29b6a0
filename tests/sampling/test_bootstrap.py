from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import purtensor as pt
from purtensor.errors import InfeasibleError, InvalidOptionError

ROLES: dict[str, Any] = {"response": "hired", "protected": "sex"}


def people(weights: tuple[int, ...] = (40, 10, 30, 20, 20, 20, 30, 30)) -> xr.DataArray:
    hired, sex = ["no", "yes", "yes", "no"] * 2, ["f", "f", "m", "m"] * 2
    return pt.tabulate({"hired": hired, "sex": sex, "age": ["old"] * 4 + ["young"] * 4}, weights=list(weights))


def projected_mass(counts: xr.DataArray) -> xr.DataArray:
    f = pt.regularize(counts, 1e-4, response="hired")
    return pt.project(f, pt.pur(f, **ROLES), tolerance=1e-10, certificate=False).table


def share_hired(counts: xr.DataArray) -> float:
    return float(pt.marginal(counts, "hired").to_series()["yes"] / counts.sum())


def test_bootstrap__of_a_share_is_binomial() -> None:
    found = pt.bootstrap(people(), share_hired, times=400, seed=0)
    p = 90 / 200
    assert found.estimate["value"] == p
    assert found.standard_error["value"] == pytest.approx(np.sqrt(p * (1 - p) / 200), rel=4 / np.sqrt(800))
    assert abs(found.bias["value"]) < 4 * found.standard_error["value"] / np.sqrt(400)
    low, high = found.interval(0.9).loc["value"]
    assert np.mean((found.draws["value"] >= low) & (found.draws["value"] <= high)) == pytest.approx(0.9, abs=0.03)


def test_bootstrap__of_a_projection_has_the_errors_of_the_delta_method() -> None:
    counts = people(tuple(50 * n for n in (40, 10, 30, 20, 20, 20, 30, 30)))
    f = pt.regularize(counts, 1e-4, response="hired")
    errors = pt.standard_errors(pt.project(f, pt.pur(f, **ROLES)), size=10_000).table.to_series()
    found = pt.bootstrap(counts, projected_mass, times=200, seed=3)
    ratio = found.standard_error / errors.reindex(found.estimate.index)
    assert len(ratio) == 8
    assert abs(ratio - 1).max() < 3 / np.sqrt(400)


EXECUTORS = {
    "threads": lambda: ThreadPoolExecutor(2),
    "a process": lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")),
    "joblib": lambda: 2,
}


@pytest.mark.parametrize("kind", EXECUTORS)
@pytest.mark.slow
def test_bootstrap__same_whatever_runs_it(kind: str) -> None:
    executor = EXECUTORS[kind]()
    alone, run = (pt.bootstrap(people(), share_hired, times=5, seed=7, executor=one) for one in (None, executor))
    pd.testing.assert_frame_equal(alone.draws, run.draws)
    assert alone.draws["value"].nunique() > 1
    more = pt.bootstrap(people(), share_hired, times=9, seed=7)
    pd.testing.assert_frame_equal(more.draws.head(5), alone.draws)
    if hasattr(executor, "shutdown"):
        executor.shutdown()


def test_bootstrap__several_samples_are_drawn_independently() -> None:
    found = pt.bootstrap(
        [people(), people()],
        lambda one, other: {"one": share_hired(one), "other": share_hired(other)},
        times=100,
        seed=1,
    )
    assert abs(found.draws.corr().loc["one", "other"]) < 4 / np.sqrt(100)
    difference = pt.bootstrap([people(), people()], lambda a, b: share_hired(a) - share_hired(b), times=100, seed=1)
    np.testing.assert_allclose(difference.draws["value"], found.draws["one"] - found.draws["other"])


def test_bootstrap__labels_that_a_draw_lacks_are_nan() -> None:
    def seen(counts: xr.DataArray) -> pd.Series:
        series = counts.to_series()
        return series[series > 0]

    rare = people((40, 10, 30, 20, 20, 20, 30, 1))
    found = pt.bootstrap(rare, seen, times=50, seed=2)
    assert 0 < found.draws["no", "m", "young"].isna().sum() < 50
    assert found.draws["no", "f", "old"].notna().all()


def test_bootstrap__failures_are_raised_or_left_out_by_number() -> None:
    def fails_at_times(counts: xr.DataArray) -> float:
        share = share_hired(counts)
        if share > 0.46:
            raise InfeasibleError("too many")
        return share

    with pytest.raises(InfeasibleError, match="too many"):
        pt.bootstrap(people(), fails_at_times, times=50, seed=2)
    found = pt.bootstrap(people(), fails_at_times, times=50, seed=2, on_failure="omit")
    whole = pt.bootstrap(people(), share_hired, times=50, seed=2).draws["value"]
    assert [failure.member for failure in found.failures] == whole.index[whole > 0.46].tolist()
    pd.testing.assert_series_equal(found.draws["value"], whole[whole <= 0.46])


def test_bootstrap__refuses_to_know_noise_from_fewer_than_two_draws() -> None:
    def of_the_sample_alone(counts: xr.DataArray) -> float:
        if not counts.equals(people()):
            raise InfeasibleError("too many")
        return 0.0

    with pytest.raises(InvalidOptionError, match="9 of 9 draws failed, the first because: too many"):
        pt.bootstrap(people(), of_the_sample_alone, times=9, seed=2, on_failure="omit")


def test_bootstrap__ctrl_c_leaves_what_was_done() -> None:
    calls = 0

    def interrupted_at_fifth(counts: xr.DataArray) -> float:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return share_hired(counts)

    found = pt.bootstrap(people(), interrupted_at_fifth, times=50, seed=2)
    assert found.interrupted
    assert len(found.draws) == 3
    calls = 3
    with pytest.raises(KeyboardInterrupt):
        pt.bootstrap(people(), interrupted_at_fifth, times=50, seed=2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"samples": [1, 2]}, "samples must be a table of counts, or several, got list"),
        ({"statistic": 3}, "statistic must be a function"),
        ({"statistic": lambda counts: "many"}, "statistic must return numbers, got 'many'"),
        ({"times": 1}, "times must be an integer of at least 2, got 1"),
        ({"seed": -1}, "seed must be a non-negative integer, got -1"),
        ({"on_failure": "skip"}, "on_failure must be one of raise, omit"),
    ],
)
def test_bootstrap__refuses_what_is_none(wrong: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"samples": people(), "statistic": share_hired, "seed": 0} | wrong
    with pytest.raises(InvalidOptionError, match=message):
        pt.bootstrap(**options)
    with pytest.raises(InvalidOptionError, match="level must be between 0 and 1, got 95"):
        pt.bootstrap(people(), share_hired, times=2, seed=0).interval(95)


def test_bootstrap__refuses_probabilities() -> None:
    with pytest.raises(pt.InvalidTableError, match="but counts must be whole numbers"):
        pt.bootstrap(pt.empirical(people()), share_hired, seed=0)
