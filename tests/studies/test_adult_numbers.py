"""Verdicts on the Adult study, and what turns them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from purtensor.studies.adult import study_adult
from purtensor.studies.adult_claims import claims
from purtensor.studies.adult_numbers import by_unseen_rule, data_ratios, decision_rates, prevalences
from purtensor.studies.adult_study import DISTRIBUTIONS, AdultStudy
from purtensor.studies.claims import Finding


@pytest.fixture(scope="module")
def study() -> AdultStudy:
    return study_adult(data_sets=6, seed=2, workers=2)


def verdicts(study: AdultStudy) -> dict[str, bool]:
    return {claim.statement: claim.holds for claim in claims(study)}


def feed_f(study: AdultStudy, name: str) -> AdultStudy:
    """The study with the numbers of f told as those of another distribution."""
    rows = study.disparities
    kept, fed = rows[rows["distribution"] != name], rows[rows["distribution"] == "f"].assign(distribution=name)
    noise, off = ({**of_models, name: of_models["f"]} for of_models in (study.noise, study.simulated_off))
    return replace(study, disparities=pd.concat([kept, fed]), noise=noise, simulated_off=off)


def test_claims__none_is_refuted(study: AdultStudy) -> None:
    found = {claim.statement: claim.finding for claim in claims(study)}
    assert len(found) == 16
    # whether P and PU fall below four fifths is a matter of many data sets, and here are six
    rare = "Forests trained on data generated from P and PU re-introduce disparity, in single cases below four fifths"
    assert Finding.FAILS not in {found[one] for one in found if one != rare}, found
    assert found["P alone lessens disparity on test data but does not remove it"] is Finding.HOLDS


def test_claims__with_f_in_place_of_pur_they_do_not_hold(study: AdultStudy) -> None:
    found = {claim.statement for claim in claims(feed_f(study, "PUR")) if claim.finding is Finding.FAILS}
    assert found >= {
        "No data set generated from a projection has a ratio below four fifths",
        "PUR removes disparity on test data up to sampling noise",
        "PUR removes disparity on the mean of simulated test splits",
        "Data generated from PUR have parity on average",
        "Random forests trained on data generated from PUR stay within noise of ratio 1 on test data",
    }


def test_claims__with_f_in_place_of_p_nothing_is_lessened(study: AdultStudy) -> None:
    assert not verdicts(feed_f(study, "P"))["P alone lessens disparity on test data but does not remove it"]


def test_claims__without_data_sets_only_the_marginals_are_judged() -> None:
    assert verdicts(study_adult(data_sets=0)) == {
        "In the data all three groups are below four fifths of the share of white men": True,
        "The projections have exactly the marginals that were stated": True,
    }


def test_pick__in_the_order_of_the_groups(study: AdultStudy) -> None:
    told = study.disparities.set_index(["distribution", "sample", "gender", "race"])
    for number in ("ratio", "deviation"):
        found = study.pick("forest", number)["f"]
        assert found.tolist() == [told.loc[("f", "forest", *group), number] for group in study.groups]
    assert study.pick("test", "deviation").isna().all(axis=None)


def test_frames__one_row_a_number(study: AdultStudy) -> None:
    assert study.costs["distribution"].tolist() == list(DISTRIBUTIONS)
    sums = prevalences(study).groupby("attribute")["share"].sum()
    assert sums.to_numpy() == pytest.approx(np.ones(6))
    row = prevalences(study).set_index(["attribute", "category"]).loc[("income", ">50K")]
    assert row["share"] == pytest.approx(11_422 / 46_043)
    assert row["share_train"] == pytest.approx(float(study.train.sel(income=">50K").sum()) / 30_725)


def test_data_ratios__of_all_46043_people(study: AdultStudy) -> None:
    found = data_ratios(study).set_index("group")
    assert found["all"].round(4).to_dict() == {
        "female, non-white": 0.2331,
        "female, white": 0.3784,
        "male, non-white": 0.6981,
    }
    assert found["train"].to_numpy() == pytest.approx(study.pick("itself")["f"].to_numpy(), abs=1e-5)


def test_decision_rates__of_the_test_split(study: AdultStudy) -> None:
    found = decision_rates(study).set_index(["distribution", "rule"])
    assert found.loc[("PUR", "likeliest"), "accuracy"] == pytest.approx(0.745, abs=1e-3)
    assert found.loc[("PUR", "likeliest"), "smallest / largest"] == 0
    assert found.loc[("PUR", "draw"), "median ratio when drawn"] == pytest.approx(0.926, abs=0.01)
    assert found.loc[("PUR", "fair"), "accuracy"] == pytest.approx(0.721, abs=1e-3)
    assert found.loc[("PUR", "fair"), "smallest / largest"] == pytest.approx(0.905, abs=1e-3)
    assert found.loc[("", "no to everybody"), "accuracy"] == pytest.approx(0.7538, abs=1e-4)
    assert found.loc[("f", "draw"), "male, white"] == pytest.approx(0.326, abs=1e-3)


def test_by_unseen_rule__one_person_moves_one_group_little(study: AdultStudy) -> None:
    found = by_unseen_rule(study).set_index(["distribution", "group"])
    # the figures where that person is left out, all printed digits
    assert found.loc[("P", "female, non-white"), "left out"] == pytest.approx(0.813, abs=5e-4)
    assert found.loc[("PUR", "female, non-white"), "left out"] == pytest.approx(0.968, abs=5e-4)
    moved = found["difference"].abs() > 0
    assert moved.groupby(level="group").all().sum() == 1  # the unseen person is of one group
    assert found["difference"].abs().max() < 1e-3


def test_bootstrap__is_of_the_size_of_the_delta_method(study: AdultStudy) -> None:
    delta = study.pick("test", "standard_error")
    ratios = [study.bootstrap[name] / delta[name].to_numpy() for name in DISTRIBUTIONS]
    assert 0.6 < np.median(ratios) < 1.5  # six draws
    assert study.bootstrap["MaxEnt"].shape == (3,)
