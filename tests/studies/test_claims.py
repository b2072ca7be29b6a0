"""Verdicts: what holds, what does not, and the numbers that say so."""

from __future__ import annotations

import numpy as np
import pytest

from purtensor.studies.claims import (
    Finding,
    Means,
    judge_average,
    judge_lessening,
    judge_marginals,
    judge_removal,
    judge_utility,
    tolerance_of,
)

OFF_DATA = np.array([0.2, -0.1, 0.3])  # a tenth of their mean size, 0.02, matters


def means(off: list[float], error: float, sets: int = 1000, pairs: tuple[str, ...] = ()) -> Means:
    return Means(np.array(off), np.full(len(off), error), sets, pairs)


@pytest.mark.parametrize(
    ("off", "error", "found"),
    [
        ([0.0, 0.001, -0.001], 0.001, Finding.HOLDS),
        ([0.0, 0.010, -0.001], 0.001, Finding.HOLDS_WITHIN),  # ten errors, half of what matters
        ([0.0, 0.030, -0.001], 0.001, Finding.FAILS),
        ([0.0, 0.021, -0.001], 0.001, Finding.UNTOLD),  # about what matters
        ([0.0, 0.001, -0.001], 0.01, Finding.UNTOLD),  # so much noise that anything could hide in it
        ([0.0, np.nan, 0.0], 0.001, Finding.UNTOLD),
    ],
)
def test_removed_claim__is_judged_by_size_and_by_significance(off: list[float], error: float, found: Finding) -> None:
    assert tolerance_of(OFF_DATA) == 0.02
    assert judge_removal("PUR", "PUR removes", means(off, error), OFF_DATA).finding is found


def test_removed_claim__finds_a_small_planted_bias() -> None:
    rng = np.random.default_rng(5)
    noise = rng.normal(0.0, 0.02, (1000, 3))  # of single sets
    for bias, found in ((0.0, Finding.HOLDS), (0.004, Finding.HOLDS_WITHIN), (0.03, Finding.FAILS)):
        sets = noise + np.array([0.0, bias, 0.0])
        error = sets.std(axis=0, ddof=1) / np.sqrt(1000)
        claim = judge_removal("PUR", "PUR removes", Means(sets.mean(axis=0), error, 1000), OFF_DATA)
        assert claim.finding is found
        # one fifth of the noise of a single set, which a judgement by that noise could not see
        assert claim.rest == pytest.approx(bias, abs=0.002)
    few = judge_removal("PUR", "", Means(noise[:4].mean(axis=0), noise[:4].std(axis=0, ddof=1) / 2, 4), OFF_DATA)
    assert few.verdict == "cannot be decided with so few sets"
    assert "sets are needed to decide" in few.evidence
    single = Means(
        noise[0], np.full(3, 0.02), 1000, averaged=False
    )  # more simulated sets do not make one set less noisy
    assert "needed to decide" not in judge_removal("PUR", "", single, OFF_DATA).evidence


def test_removed_claim__says_the_size_and_the_rest() -> None:
    claim = judge_removal("PUR", "", means([0.0, 0.01, -0.001], 0.001), OFF_DATA)
    assert claim.verdict == "holds to within 0.02, with a systematic rest of +0.01"
    assert claim.holds


def test_means__chance_finds_a_rest_in_no_more_than_one_of_twenty_studies() -> None:
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(400):
        sets = rng.normal(size=(20, 35))
        study = Means(sets.mean(axis=0), sets.std(axis=0, ddof=1) / np.sqrt(20), 20)
        found += study.rest != 0
    assert found <= 20 + 3 * np.sqrt(400 * 0.05 * 0.95)
    assert found > 0  # it is not so wide that nothing is ever found


@pytest.mark.parametrize(
    ("off", "error", "found"),
    [
        ([0.1, -0.05, 0.1], 0.001, Finding.HOLDS),
        ([0.0, -0.001, 0.0], 0.001, Finding.FAILS),  # all is removed
        ([0.2, -0.1, 0.3], 0.001, Finding.FAILS),  # nothing is lessened
        ([0.4, -0.1, 0.3], 0.001, Finding.FAILS),
        ([0.03, -0.02, 0.03], 0.02, Finding.UNTOLD),
    ],
)
def test_lessened_claim__something_is_left_that_matters(off: list[float], error: float, found: Finding) -> None:
    assert judge_lessening("P", "P lessens", means(off, error), OFF_DATA).finding is found


def test_claims__name_the_pair_that_is_most_significant() -> None:
    found = means([0.01, -0.03, 0.0], 0.01, pairs=("women at high", "men at high", "others at low"))
    for claim in (
        judge_removal("PUR", "", found, OFF_DATA),
        judge_lessening("P", "", found, OFF_DATA),
        judge_average("P", found, OFF_DATA),
    ):
        assert "deviation: men at high, -0.0300 from parity (standard error 0.0100, z = 3.0)" in claim.evidence


def test_removed_claim__without_noise_only_exact_parity_holds() -> None:
    assert judge_removal("PUR", "", means([0.0, 0.0, 0.0], 0.0), OFF_DATA).finding is Finding.HOLDS
    rest = judge_removal("PUR", "", means([0.0, 1e-9, 0.0], 0.0), OFF_DATA)
    assert (rest.finding, rest.rest) == (Finding.HOLDS_WITHIN, 1e-9)


def test_utility_claim__compares_with_the_fluctuation() -> None:
    of_data = np.array([0.02, 0.03, 0.025, 0.022])
    assert judge_utility(of_data + 0.001, of_data).holds
    assert not judge_utility(of_data + 0.01, of_data).holds


def test_marginals_claim__by_the_largest_miss() -> None:
    assert judge_marginals(np.array([1e-16, 1e-11]), 2).holds
    assert not judge_marginals(np.array([1e-16, 1e-9]), 2).holds
    assert not judge_marginals(np.array([np.nan]), 1).holds
