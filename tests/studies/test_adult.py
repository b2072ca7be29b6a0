"""The Adult study: published figures and what must hold for them."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.studies.adult import study_adult
from purtensor.studies.adult_study import (
    DISTRIBUTIONS,
    DRAWN,
    PROTECTED,
    RESPONSE,
    ROLES,
    SAMPLES,
    AdultStudy,
    ratios,
)
from purtensor.studies.projections import project_question

pytestmark = pytest.mark.slow

GROUPS = (("male", "non-white"), ("female", "white"), ("female", "non-white"))


@pytest.fixture(scope="module")
def study() -> AdultStudy:
    return study_adult(data_sets=3, seed=7)


def found(study: AdultStudy, distribution: str, sample: str) -> list[float]:
    return study.pick(sample)[distribution][[", ".join(group) for group in GROUPS]].tolist()


def test_study_adult__sizes_of_the_paper_s_sample(study: AdultStudy) -> None:
    assert float(study.train.sum()) == 30_725
    assert float(study.test.sum()) == 15_318
    assert int((study.distributions["f"] > 0).sum()) == 214
    assert float(study.train.sum() + study.test.sum()) == 46_043


# Computed once by an independent implementation in plain numpy from UCI's files.
@pytest.mark.parametrize(("name", "divergence"), [("P", 0.032925849), ("PU", 0.033979560), ("PUR", 0.039140317)])
def test_study_adult__divergence_from_the_data(study: AdultStudy, name: str, divergence: float) -> None:
    assert study.costs.set_index("distribution").loc[name, "divergence"] == pytest.approx(
        divergence, abs=5e-10
    )  # all printed digits
    assert study.projections[name].divergence == pytest.approx(divergence, abs=5e-10)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("f", (0.693, 0.377, 0.222)),
        ("P", (0.934, 0.882, 0.814)),
        ("PUR", (0.987, 0.998, 0.968)),
        ("MaxEnt", (1.002, 0.999, 0.998)),
    ],
)
def test_study_adult__disparities_on_the_test_split(study: AdultStudy, name: str, expected: tuple[float, ...]) -> None:
    assert found(study, name, "test") == pytest.approx(expected, abs=5e-4)  # all printed digits


def test_study_adult__every_projection_has_parity_itself(study: AdultStudy) -> None:
    for name in DISTRIBUTIONS[1:]:
        assert found(study, name, "itself") == pytest.approx([1.0] * 3, abs=1e-8)
    assert max(found(study, "f", "itself")) < 0.71


def test_study_adult__prediction_on_train_keeps_parity_where_the_population_is_kept(study: AdultStudy) -> None:
    # R makes q(s, x) = f(s, x); f differs from the data of train by the pseudo-counts, lambda M / N = 7e-7
    for name in ("PUR", "MaxEnt"):
        assert found(study, name, "train") == pytest.approx([1.0] * 3, abs=1e-5)
    for name in ("P", "PU"):
        assert min(found(study, name, "train")) < 0.95


def test_study_adult__costs(study: AdultStudy) -> None:
    costs = study.costs.set_index("distribution")
    assert list(costs.index) == list(DISTRIBUTIONS)
    assert costs.loc["f", "divergence"] == 0.0
    assert np.isnan(costs.loc["f", "sweeps"])
    # more conditions, the same reference: the divergence grows; MaxEnt is further from f than the nearest PUR
    assert costs["divergence"].is_monotonic_increasing
    # with U and R the prediction on the training data has the data's own (y, x), up to the pseudo-counts
    assert costs.loc["PUR", "utility_error_train"] < 1e-10
    assert costs.loc["P", "utility_error_train"] > 1e-4
    assert (costs["residual"].iloc[1:] <= 1e-10).all()


def test_study_adult__one_unseen_profile_is_told(study: AdultStudy) -> None:
    assert study.unseen_mass * 15_318 == pytest.approx(1.0, abs=1e-6)  # a single person


def test_study_adult__has_a_row_for_every_distribution_sample_and_group(study: AdultStudy) -> None:
    told = study.disparities
    assert len(told) == len(DISTRIBUTIONS) * len(SAMPLES) * len(GROUPS)
    assert not told.duplicated(["distribution", "sample", "gender", "race"]).any()
    assert told["deviation"].notna().equals(told["sample"].isin(DRAWN))


def test_study_adult__tells_its_steps() -> None:
    steps: list[str] = []
    study_adult(data_sets=0, on_step=steps.append)
    assert [step for step in steps if step.startswith("projecting")] == [
        f"projecting onto {name}" for name in DISTRIBUTIONS[1:]
    ]


@pytest.mark.parametrize("wrong", [-1, 1])
def test_study_adult__refuses_a_count_without_fluctuation(wrong: int) -> None:
    with pytest.raises(pt.InvalidOptionError, match="data_sets"):
        study_adult(data_sets=wrong)


def test_project_question__stronger_regularization_asks_less() -> None:
    train = pt.datasets.adult(split="train")
    weak, strong = (
        project_question(pt.regularize(train, strength, response=RESPONSE), "P", **ROLES) for strength in (1e-4, 1e3)
    )
    assert strong.divergence < weak.divergence


def test_study_adult__generated_data_have_the_ratios_of_their_distribution(study: AdultStudy) -> None:
    for name, drawn in study.pick("synthetic").items():
        truth = study.pick("itself")[name]
        # a mean of three draws: within eight of the deviations that simulated splits tell
        noise = study.noise.get(name, study.noise["PUR"])
        assert ((drawn - truth).abs() < 8 * np.maximum(noise, 0.01)).all()


def test_study_adult__forests_follow_their_data(study: AdultStudy) -> None:
    assert max(found(study, "f", "forest")) < 0.8
    assert found(study, "PUR", "forest") == pytest.approx([1.0] * 3, abs=0.2)
    assert found(study, "f", "forest") == pytest.approx(found(study, "f", "test"), abs=0.1)


def test_study_adult__same_seed_same_numbers_whatever_the_workers(study: AdultStudy, tmp_path: Path) -> None:
    again = study_adult(data_sets=3, seed=7, workers=3, folder=tmp_path)
    pd.testing.assert_frame_equal(again.disparities, study.disparities, check_exact=True)
    assert all(np.array_equal(again.noise[name], study.noise[name]) for name in study.noise)
    kept = study_adult(data_sets=3, seed=7, folder=tmp_path).disparities
    pd.testing.assert_frame_equal(kept, study.disparities, check_exact=True)
    assert again.identity == study.identity != study_adult(data_sets=0, seed=8).identity


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_study_adult__executors_change_no_number(study: AdultStudy, kind: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) if kind == "threads" else ProcessPoolExecutor(2, get_context("spawn")) as executor:
        again = study_adult(data_sets=3, seed=7, executor=executor, folder=tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 2  # data sets and splits: computed by the executor, and kept
    pd.testing.assert_frame_equal(again.disparities, study.disparities, check_exact=True)
    pd.testing.assert_frame_equal(again.costs, study.costs, check_exact=True)
    assert again.utility_noise == study.utility_noise
    assert all(np.array_equal(again.noise[name], values) for name, values in study.noise.items())
    assert again.failures == ()


def test_ratios__are_those_of_plain_sums(study: AdultStudy) -> None:
    frame = study.train.to_series().groupby([RESPONSE, *PROTECTED]).sum()
    share = frame[">50K"] / frame.groupby(list(PROTECTED)).sum()
    expected = {profile: share[profile] / share["male", "white"] for profile in GROUPS}
    assert ratios(study.train) == pytest.approx(expected)
