from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

import purtensor as pt
from purtensor.errors import InvalidOptionError, UnknownCategoryError
from purtensor.fairness.errors_on_others import errors_on_others
from purtensor.studies.adult_study import PROTECTED, REFERENCE, RESPONSE

THOROUGH = settings().max_examples >= 1000
ROLES = {"response": RESPONSE, "protected": PROTECTED, "reference": REFERENCE}


def adult_errors(conditions: str = "PUR") -> pt.results.StandardErrors:
    train = pt.datasets.adult(split="train")
    f = pt.regularize(train, 1e-4, response=RESPONSE)
    q = pt.project(f, pt.pur(f, response=RESPONSE, protected=PROTECTED, conditions=conditions))
    return pt.standard_errors(q, size=int(train.sum()))


@pytest.mark.parametrize("ratio", [False, True])
def test_errors_on_others__are_those_of_bootstraps(ratio: bool) -> None:
    times = 1000 if THOROUGH else 100
    train, test = pt.datasets.adult(split="train"), pt.datasets.adult(split="test")
    found = errors_on_others(adult_errors(), test, ratio=ratio, **ROLES)
    measure = pt.disparity_ratio if ratio else pt.attributable_disparity
    rng = np.random.default_rng(5)
    draws = []
    for _ in range(times):
        data, people = (pt.sample(pt.empirical(table), int(table.sum()), seed=rng) for table in (train, test))
        f = pt.regularize(data, 1e-4, response=RESPONSE)
        conditions = pt.pur(f, response=RESPONSE, protected=PROTECTED)
        q = pt.project(f, conditions, tolerance=1e-8, certificate=False).table
        draws.append(measure(pt.predict(q, people, response=RESPONSE, unseen="marginal"), **ROLES).to_series())
    spread = np.std([draw.reindex(found.to_series().index) for draw in draws], axis=0, ddof=1)
    errors = found.values
    others = errors > 0
    assert others.sum() == 6
    np.testing.assert_array_equal(spread[~others], 0.0)
    # responses are two, so that three of the six are free; a standard deviation has a noise of 1 / sqrt(2 times)
    noise = 1 / np.sqrt(2 * times)
    assert abs((spread[others] / errors[others]).mean() - 1) < (0.05 if THOROUGH else 2 * noise)
    assert np.abs(spread[others] / errors[others] - 1).max() < 0.05 + 3 * noise


def test_errors_on_others__intervals_cover_the_mean_of_simulated_splits() -> None:
    times = 400 if THOROUGH else 60
    everybody, rng = pt.empirical(pt.datasets.adult()), np.random.default_rng(3)
    found, errors = [], []
    for _ in range(times):
        train, test = (pt.sample(everybody, size, seed=rng) for size in (30_725, 15_318))
        f = pt.regularize(train, 1e-4, response=RESPONSE)
        q = pt.project(f, pt.pur(f, response=RESPONSE, protected=PROTECTED))
        told = pt.attributable_disparity(pt.predict(q.table, test, response=RESPONSE, unseen="marginal"), **ROLES)
        found.append(told.to_series())
        known = errors_on_others(pt.standard_errors(q, size=30_725), test, **ROLES).to_series()
        errors.append(known.reindex(found[-1].index))
    values = np.array(found)
    off, widths = np.abs(values - values.mean(axis=0)), 1.959964 * np.array(errors)
    others = (off > 0).any(axis=0)
    assert others.sum() == 6
    covered = (off <= widths)[:, others].mean()
    # three of the six are free; three standard errors of a share of 95 %
    assert covered == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / (3 * times)))


def test_errors_on_others__of_people_without_end_are_those_of_q_alone() -> None:
    people = pt.tabulate({"sex": ["f", "m"]}, weights=[10, 10])
    counts = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[40, 10, 30, 20])
    f = pt.empirical(counts)
    errors = pt.standard_errors(pt.project(f, pt.realism(f, response="hired", protected="sex")), size=100)
    found = errors_on_others(errors, people, response="hired", protected="sex", reference={"sex": "m"})
    # without other predictors everybody of a group is predicted alike: two binomial shares of 50 each
    expected = np.sqrt(0.2 * 0.8 / 50 + 0.6 * 0.4 / 50)
    np.testing.assert_allclose(found.sel(sex="f").values, expected, rtol=1e-9)
    np.testing.assert_array_equal(found.sel(sex="m").values, 0.0)


def test_errors_on_others__adds_the_noise_of_the_people_by_their_number() -> None:
    errors, test = adult_errors(), pt.datasets.adult(split="test")
    total = float(test.sum())
    small, given, large, endless = (
        errors_on_others(errors, test, size=size, **ROLES).values ** 2 for size in (total / 2, None, total, 1e15)
    )
    np.testing.assert_array_equal(given, large)
    np.testing.assert_allclose(small - endless, 2 * (large - endless), rtol=1e-6)
    assert (endless >= 0).all()
    assert (large[large > 0] > endless[large > 0]).all()


def test_errors_on_others__refuses_what_has_none() -> None:
    errors, test = adult_errors(), pt.datasets.adult(split="test")
    for size in (0, -1.0, "many", float("nan")):
        with pytest.raises(InvalidOptionError, match="size must be a number of people of at least 1"):
            errors_on_others(errors, test, size=size, **ROLES)  # type: ignore[arg-type]
    nobody = test.isel(profile=test.indexes["profile"].get_level_values("race") != "white")
    with pytest.raises(UnknownCategoryError, match=r"gender=male, race=white\) has no mass"):
        errors_on_others(errors, nobody, **ROLES)
