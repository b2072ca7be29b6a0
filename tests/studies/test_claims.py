"""Verdicts: what holds, what does not, and the numbers that say so."""

from __future__ import annotations

import numpy as np
import pytest

from purtensor.studies.claims import average_claim, lessened_claim, marginals_claim, removed_claim, utility_claim

OFF_DATA = np.array([0.2, -0.1, 0.3])
NOISE = np.full(3, 0.01)


@pytest.mark.parametrize(
    ("off", "lessened", "removed"),
    [
        ([0.1, -0.05, 0.1], True, False),
        ([0.019, -0.01, 0.0], False, True),
        ([0.0, 0.0, 0.021], True, False),
        ([0.2, -0.1, 0.3], False, False),
        ([0.4, -0.1, 0.3], False, False),
    ],
)
def test_disparity_claims__weigh_distance_by_noise(off: list[float], lessened: bool, removed: bool) -> None:
    values = np.array(off)
    one = lessened_claim("P", "P lessens", values, NOISE, OFF_DATA)
    other = removed_claim("PUR", "PUR removes", values, NOISE, OFF_DATA)
    assert (one.holds, other.holds) == (lessened, removed)
    assert one.verdict == ("holds" if lessened else "does not hold")


def test_removed_claim__tells_its_clearest_number_and_its_noise() -> None:
    claim = removed_claim("PUR", "PUR removes", np.array([0.01, -0.03, 0.0]), np.array([0.02, 0.01, 0.01]), OFF_DATA)
    assert "-0.0300 from parity with a standard error of 0.0100, 3.0 of them" in claim.evidence
    assert "1 of 3" in claim.evidence


def test_claims__name_the_pair_that_is_clearest() -> None:
    pairs = ("women at high", "men at high", "others at low")
    off, noise = np.array([0.01, -0.03, 0.0]), np.array([0.02, 0.01, 0.01])
    for claim in (
        removed_claim("PUR", "", off, noise, OFF_DATA, pairs=pairs),
        lessened_claim("P", "", off, noise, OFF_DATA, pairs=pairs),
        average_claim("P", "", off, noise, 10, pairs=pairs),
    ):
        assert "clearest: men at high, -0.0300 from parity with a standard error of" in claim.evidence


def test_removed_claim__without_noise_only_exact_parity_holds() -> None:
    still = np.zeros(3)
    assert removed_claim("PUR", "", np.zeros(3), still, OFF_DATA).holds
    assert not removed_claim("PUR", "", np.array([0.0, 1e-9, 0.0]), still, OFF_DATA).holds


def test_average_claim__standard_error_shrinks_with_the_data_sets() -> None:
    off, deviations = np.array([0.004, 0.0]), np.array([0.01, 0.01])
    assert average_claim("PUR", "", off, deviations, 25).holds
    assert not average_claim("PUR", "", off, deviations, 400).holds


def test_average_claim__few_data_sets_prove_less() -> None:
    # four standard errors off: beyond chance for a normal mean, not for Student's t of three data sets
    for sets, holds in ((3, True), (10_000, False)):
        off = np.array([4.01 / np.sqrt(sets)])
        assert average_claim("PUR", "", off, np.ones(1), sets).holds is holds


def test_utility_claim__compares_with_the_fluctuation() -> None:
    of_data = np.array([0.02, 0.03, 0.025, 0.022])
    assert utility_claim(of_data + 0.001, of_data).holds
    assert not utility_claim(of_data + 0.01, of_data).holds


def test_marginals_claim__by_the_largest_miss() -> None:
    assert marginals_claim(np.array([1e-16, 1e-11]), 2).holds
    assert not marginals_claim(np.array([1e-16, 1e-9]), 2).holds
    assert not marginals_claim(np.array([np.nan]), 1).holds
