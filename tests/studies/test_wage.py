"""The wage study on the embedded survey: its numbers, its verdicts, and what changes them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.studies.claims import Finding
from purtensor.studies.members import Member
from purtensor.studies.simulated import ENDINGS, MODELS, PROJECTIONS, VERDICTS, Simulation
from purtensor.studies.wage import PROTECTED, RESPONSE, WageStudy, pair_masses, study_wage
from purtensor.studies.wage_claims import claims
from purtensor.studies.wage_numbers import by_unseen_rule, certificates, facts, frames, list_left_out, rest_by_size

SETS = 16


@pytest.fixture(scope="module")
def counts() -> pt.Marginal:
    return pt.datasets.census_wage()


@pytest.fixture(scope="module")
def study(counts) -> WageStudy:
    return study_wage(counts, "CPS 1994-95", sets=SETS, seed=4, workers=2)


def verdicts(study: WageStudy) -> dict[str, bool]:
    return {claim.statement: claim.holds for claim in claims(study)}


def test_study_wage__sizes_of_the_embedded_survey(study: WageStudy) -> None:
    assert study.f.size == 658 * 5  # the reference data: 658 predictor profiles observed
    assert study.members["natural"].shape == (SETS, 2, len(MODELS), 5, 8)
    assert study.members["profiles"].max() < 3290
    assert len(study.others) == 7


def test_study_wage__few_sets_settle_what_is_large_and_refute_nothing(study: WageStudy) -> None:
    found = {claim.statement: claim.finding for claim in claims(study)}
    assert len(found) == 9
    assert Finding.FAILS not in found.values(), found
    assert found["P alone lessens disparity on test data but does not remove it"] is Finding.HOLDS
    assert found["P and U together lessen disparity on test data but do not remove it"] is Finding.HOLDS
    assert found["The projections have exactly the marginals that were stated"] is Finding.HOLDS
    assert found["PUR removes disparity on test data up to sampling noise"] is Finding.UNTOLD  # not with 16 sets


def test_claims__with_f_in_place_of_pur_removal_does_not_hold(study: WageStudy) -> None:
    natural = study.members["natural"].copy()
    natural[:, :, MODELS.index("PUR")] = natural[:, :, MODELS.index("f")]
    fed = replace(
        study, members={**study.members, "natural": natural}, generated={**study.generated, "PUR": study.generated["f"]}
    )
    found = {claim.statement for claim in claims(fed) if claim.finding is Finding.FAILS}
    assert found == {
        "PUR removes disparity on test data up to sampling noise",
        "Data generated from PUR have parity on average",
    }


def test_claims__a_planted_rest_is_found(study: WageStudy) -> None:
    # 0.004 for one group at one wage, in sets of which each alone fluctuates by more
    many = np.repeat(study.members["natural"], 100, axis=0)
    marginal = many[:, 0]
    rng = np.random.default_rng(0)
    truth = study.natural[:, MODELS.index("f")].mean(axis=(0, 2))
    parity = np.repeat(truth[:, None], many.shape[-1], axis=1)
    marginal[:, MODELS.index("PUR")] = parity + rng.normal(0, 0.01, (len(many), *parity.shape))
    marginal[:, MODELS.index("PUR"), 2, 0] += 0.004
    fed = replace(study, members={**study.members, "natural": many})
    claim = next(one for one in claims(fed) if one.statement.startswith("PUR removes"))
    assert claim.finding is Finding.HOLDS_WITHIN
    assert claim.rest == pytest.approx(0.004, abs=0.0015)


def test_claims__with_pur_in_place_of_p_nothing_is_left_to_remove(study: WageStudy) -> None:
    natural = study.members["natural"].copy()
    natural[:, :, MODELS.index("P")] = natural[:, :, MODELS.index("PUR")]
    found = verdicts(replace(study, members={**study.members, "natural": natural}))
    assert not found["P alone lessens disparity on test data but does not remove it"]


def test_claims__a_missed_marginal_is_told(study: WageStudy) -> None:
    misses = study.members["marginal_miss"].copy()
    misses[3, 1] = 1e-6
    assert not verdicts(replace(study, members={**study.members, "marginal_miss": misses}))[
        "The projections have exactly the marginals that were stated"
    ]


def test_study_wage__one_person_changes_identity_and_numbers(counts, study: WageStudy) -> None:
    values = counts.values.copy()
    values[17] += 1
    other = study_wage(counts.copy(data=values), "CPS 1994-95", sets=2, seed=4)
    assert other.identity != study.identity
    assert not np.array_equal(other.members["natural"], study.members["natural"][:2])


def test_study_wage__workers_and_interruptions_change_no_bit(counts, study: WageStudy, tmp_path: Path) -> None:
    few = study_wage(counts, "CPS 1994-95", sets=3, seed=4, workers=1, folder=tmp_path)
    again = study_wage(counts, "CPS 1994-95", sets=5, seed=4, workers=3, folder=tmp_path)
    for name, values in study.members.items():
        assert np.array_equal(few.members[name], values[:3], equal_nan=True)
        assert np.array_equal(again.members[name], values[:5], equal_nan=True)
    assert len(list(tmp_path.glob("members-*.npz"))) == 1


def test_study_wage__executors_change_no_bit(counts, study: WageStudy) -> None:
    with ThreadPoolExecutor(3) as executor:
        found = study_wage(counts, "CPS 1994-95", sets=4, seed=4, executor=executor).members
    assert all(np.array_equal(found[name], study.members[name][:4], equal_nan=True) for name in found)


def test_study_wage__a_set_that_fails_is_told_and_the_others_go_on(
    counts, study: WageStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = np.random.default_rng(np.random.SeedSequence(4).spawn(3)[1]).random()
    plain = Simulation.__call__

    def failing(self: Simulation, rng: np.random.Generator) -> Member:
        if deepcopy(rng).random() == first:
            raise MemoryError("no room")
        return plain(self, rng)

    monkeypatch.setattr(Simulation, "__call__", failing)
    found = study_wage(counts, "CPS 1994-95", sets=3, seed=4, workers=2)
    assert np.array_equal(found.members["natural"], study.members["natural"][[0, 2]], equal_nan=True)
    assert found.member_numbers == [0, 2]
    assert facts(found)["failed"] == "1 member, left out: number 1 by MemoryError: no room"
    assert "failed" not in facts(study)


def test_frames__own_conditionals_are_those_of_the_projections(study: WageStudy) -> None:
    frame = frames(study)["conditionals"].set_index(["model", "response", "group"])["probability"]
    f = pt.regularize(study.counts, response=RESPONSE)
    shares = pt.marginal(f, RESPONSE).to_series().to_numpy()
    for model in ("P", "PU", "PUR", "MaxEnt"):
        table = frame[model].unstack("response")[study.population.response_categories]
        assert table.to_numpy() == pytest.approx(np.tile(shares, (8, 1)), abs=1e-8)
    assert frame["f"].unstack("response").std().max() > 0.05


def test_frames__disparities_are_means_over_the_sets(study: WageStudy) -> None:
    frame = frames(study)["disparities"].set_index(["model", "response", "group"])
    natural = study.natural[:, MODELS.index("PU")]
    at, white = study.population.groups.index(("female", "black")), study.population.groups.index(("male", "white"))
    values = natural[:, 2, at] - natural[:, 2, white]
    row = frame.loc[("PU", study.population.response_categories[2], "female, black")]
    assert row["mean"] == pytest.approx(values.mean())
    assert row["deviation"] == pytest.approx(values.std(ddof=1))
    assert row["standard_error"] == pytest.approx(values.std(ddof=1) / 4)
    assert row["sets"] == SETS


def test_frames__shares_add_to_one(study: WageStudy) -> None:
    sums = frames(study)["prevalences"].groupby("attribute")["share"].sum()
    assert set(sums.index) == set(study.population.domain.attributes)
    assert sums.to_numpy() == pytest.approx(np.ones(len(sums)))


def test_certificates__counts_what_was_not_solved(study: WageStudy) -> None:
    told = certificates(study).set_index("projection")
    assert (told["solved"] == SETS).all()
    assert (told["certified"] == SETS).all()
    assert (told["largest TV bound"] <= 1e-10).all()
    ending = study.members["ending"].copy()
    ending[0, 2], ending[1, 2] = ENDINGS.index("infeasible"), ENDINGS.index("stalled")
    verdict = study.members["verdict"].copy()
    verdict[0, 2] = VERDICTS.index("infeasible")
    less = replace(study, members={**study.members, "ending": ending, "verdict": verdict})
    told = certificates(less).set_index("projection")
    assert told.loc["PUR", "solved"] == SETS - 2
    assert told.loc["PUR", ["infeasible, proved", "not converged"]].tolist() == [1, 1]
    assert facts(less)["left out"] == "2 of PUR (1 proved infeasible)"
    assert list_left_out(less).to_numpy().tolist() == [
        [0, "PUR", "infeasible", "infeasible"],
        [1, "PUR", "stalled", "not asked"],
    ]
    assert list_left_out(study).empty


def test_facts__tell_unseen_mass_and_hash(study: WageStudy) -> None:
    told = facts(study)
    assert f"{100 * study.members['unseen_mass'].mean():.2f} %" in told["unseen"]
    assert 0.001 < study.members["unseen_mass"].mean() < 0.006
    assert told["SHA-256 of counts and settings"] == study.identity
    assert told["left out"].startswith("no set")


def test_pair_masses__is_the_marginal(study: WageStudy) -> None:
    pairs = pair_masses(study.f, study.population)
    expected = pt.marginal(study.f, (RESPONSE, *PROTECTED)).to_series()
    assert pairs.sum() == pytest.approx(1)
    at = study.population.groups.index(("male", "other"))
    assert pairs[0, at] == expected[study.population.response_categories[0], "male", "other"]
    assert isinstance(frames(study)["generated"], pd.DataFrame)


def test_study_wage__refuses_one_set_and_a_survey_without_the_reference(counts) -> None:
    with pytest.raises(pt.InvalidOptionError, match="sets must be at least 2"):
        study_wage(counts, "", sets=1)
    women = counts[counts.indexes["profile"].get_level_values("gender") == "female"]
    with pytest.raises(pt.UnknownCategoryError, match="nobody"):
        study_wage(women, "", sets=2)


def test_projections__are_those_of_the_paper(study: WageStudy) -> None:
    assert list(study.projections) == [*PROJECTIONS, "MaxEnt"]
    divergences = [pt.kl_divergence(study.distributions[name], study.f) for name in study.projections]
    assert divergences == sorted(divergences)


def test_by_unseen_rule__to_leave_people_out_changes_little_but_something(study: WageStudy) -> None:
    found = by_unseen_rule(study).set_index(["model", "rule"])
    assert found.loc[("PUR", "marginal"), "mean disparity"] == pytest.approx(
        np.abs(study.compare(study.natural[:, MODELS.index("PUR")]).mean(axis=0)).mean()
    )
    for model in MODELS:
        kept, left_out_ = (found.loc[(model, rule), "mean disparity"] for rule in ("marginal", "drop"))
        assert 0 < abs(kept - left_out_) < 0.002


def test_study_wage__drawn_from_f_it_meets_profiles_that_nobody_has(counts) -> None:
    observed = study_wage(counts, "CPS 1994-95", sets=2, seed=4)
    f = study_wage(counts, "CPS 1994-95", sets=2, seed=4, drawn_from="regularized")
    assert observed.identity != f.identity
    assert np.count_nonzero(f.masses) == f.f.size > np.count_nonzero(observed.masses) == 3290 - 1189
    assert "11 % of the sets" in facts(f)["drawn from"]
    assert facts(observed)["drawn from"].startswith("the survey as it is")
    with pytest.raises(pt.InvalidOptionError, match="drawn_from"):
        study_wage(counts, "CPS 1994-95", sets=2, drawn_from="somewhere")


def test_rest_by_size__falls_to_chance() -> None:
    study = study_wage(pt.datasets.census_wage(), "CPS 1994-95", sets=60, seed=4, workers=2)
    found = rest_by_size(study, factors=(1, 16), workers=2)
    assert found["size"].tolist() == [16_888, 16 * 16_888]
    assert found["rms z"][0] > 1.3  # systematic
    assert found["rms z"][1] < 1.4  # chance: 1 up to the spread of 28 independent numbers
    assert found["unseen"][0] > 0.001 > found["unseen"][1]
