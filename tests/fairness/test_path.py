"""The path from the data to maximum entropy."""

from __future__ import annotations

import math

import pytest

import purtensor as pt

ADULT = {"response": "income", "protected": ["gender", "race"]}


@pytest.fixture(scope="module")
def counts():
    return pt.datasets.adult(split="train")


def test_strength_path__goes_through_the_paper_s_projections(counts):
    # as the README says: PUR 0.039140317, MaxEnt-PUR 0.050539461 nats from f
    path = pt.strength_path(counts, [1e-4, math.inf, 1.0, 1e-8], **ADULT)
    assert path.strength.values.tolist() == [1e-4, math.inf, 1.0, 1e-8]
    assert path.kl_to_data.values[:2] == pytest.approx([0.039140317, 0.050539461], abs=5e-10)
    f = pt.regularize(counts, response="income")
    fair = pt.project(f, pt.pur(f, **ADULT))
    end = pt.project(pt.uniform(f), pt.pur(f, **ADULT))
    assert path.divergence.values[0] == pytest.approx(fair.divergence, abs=1e-9)
    assert path.divergence.values[1] == pytest.approx(end.divergence, abs=1e-9)
    assert path.entropy.values[1] == pytest.approx(pt.entropy(end.table), abs=1e-9)
    assert path.entropy.values[1] == path.entropy.values.max()
    assert path.kl_to_data.values[0] == path.kl_to_data.values.min()
    assert float(path.parity_violation.max()) < 1e-8
    assert path.disparity_ratio.values == pytest.approx(1.0, abs=1e-7)
    assert float(path.tv_bound.max()) < 1e-8


def test_strength_path__tells_the_washed_out_share(counts):
    path = pt.strength_path(counts, [0.5, 2.0], **ADULT)
    for strength in (0.5, 2.0):
        f = pt.regularize(counts, strength, response="income")
        expected = strength * f.attrs["profiles"] / 30725
        assert path.washed_out_share.sel(strength=strength).item() == pytest.approx(expected)
        assert f.attrs["washed_out_share"] == pytest.approx(expected)


def test_strength_path__each_point_is_the_projection_of_its_reference(counts):
    path = pt.strength_path(counts, [1e-6, 10.0, 1e3], **ADULT, conditions="UR")
    f = pt.regularize(counts, response="income")
    for strength in (1e-6, 10.0, 1e3):
        alone = pt.project(pt.regularize(counts, strength, response="income"), pt.pur(f, **ADULT, conditions="UR"))
        point = path.sel(strength=strength)
        assert point.divergence.item() == pytest.approx(alone.divergence, abs=1e-9)
        assert point.kl_to_data.item() == pytest.approx(pt.kl_divergence(alone.table, f), abs=1e-8)
        ratio = pt.disparity_ratio(alone.table, **ADULT, reference={"gender": "male", "race": "white"})
        at = {"income": ">50K", "gender": "female", "race": "white"}
        assert point.disparity_ratio.sel(at).item() == pytest.approx(ratio.sel(at).item(), abs=1e-7)
    # without parity the data keep their disparities
    assert float(path.parity_violation.min()) > 0.01


def test_strength_path__other_targets(counts):
    strong = pt.regularize(counts, 5.0, response="income")
    path = pt.strength_path(counts, [1.0], **ADULT, targets=pt.pur(strong, **ADULT))
    own = pt.strength_path(counts, [1.0], **ADULT)
    alone = pt.project(pt.regularize(counts, 1.0, response="income"), pt.pur(strong, **ADULT))
    assert path.divergence.item() == pytest.approx(alone.divergence, abs=1e-9)
    assert abs(path.divergence.item() - own.divergence.item()) > 1e-5


def test_strength_path__small_and_large_strengths_tend_to_the_ends(counts):
    path = pt.strength_path(counts, [1e-12, 1e-10, 1e9, math.inf], **ADULT)
    kl = path.kl_to_data.values
    assert kl[0] == pytest.approx(kl[1], abs=1e-7)
    assert kl[2] == pytest.approx(kl[3], abs=1e-6)
    assert kl[1] != pytest.approx(kl[2], abs=1e-3)


@pytest.mark.parametrize("strengths", [[], [0.0], [-1.0], [math.nan], ["a"], 2.0, [[1.0]]])
def test_strength_path__refuses_strengths(counts, strengths):
    with pytest.raises(pt.InvalidOptionError, match="strength"):
        pt.strength_path(counts, strengths, **ADULT)


def test_strength_path__refuses_an_attribute_named_like_a_variable():
    counts = pt.tabulate({"entropy": [0, 1, 0, 1], "s": [0, 0, 1, 1]})
    with pytest.raises(pt.InvalidOptionError, match="'entropy'"):
        pt.strength_path(counts, [1.0], response="entropy", protected="s")
