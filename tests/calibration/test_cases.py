"""Questions that people asked in public, as small data with right answers that were computed independently."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import purtensor as pt

PEOPLE = {"sex": list("ffffmmmmmm"), "age": list("yyyoyooooo")}
CONTROLS = (
    pt.total(1, by="sex", target={"f": 5.2, "m": 4.8}),
    pt.total(1, by="age", target={"y": 6.5, "o": 3.5}),
)


def of_kinds(weights):
    """The weights of fo, fy, mo, my, each of which all its records share."""
    found = {}
    for kind, weight in zip(zip(PEOPLE["sex"], PEOPLE["age"], strict=True), weights, strict=True):
        assert found.setdefault(kind, weight) == weight
    return [found[kind] for kind in (("f", "o"), ("f", "y"), ("m", "o"), ("m", "y"))]


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (None, [0.514151570, 1.561949477, 0.597169686, 1.814151570]),
        ((0.55, 2.5), [0.55, 1.55, 0.59, 1.85]),
        ((0.5, 1.8), [0.5, 1.5666666667, 0.6, 1.8]),
    ],
)
def test_weights_within_bounds(bounds, expected):
    c = pt.calibrate(PEOPLE, CONTROLS, bounds=bounds)
    np.testing.assert_allclose(of_kinds(c.weights), expected, rtol=0, atol=2e-9)
    assert c.result.certified
    if bounds is None:
        assert c.result.divergence == pytest.approx(0.128872483, abs=1e-9)


def test_bounds_that_cannot_be_met_are_told_in_words():
    with pytest.raises(
        pt.InfeasibleError, match=r"weights between 0\.6 and 2\.5 times, age=y can reach 6\.4, target 6\.5"
    ):
        pt.calibrate(PEOPLE, CONTROLS, bounds=(0.6, 2.5))
    c = pt.calibrate(PEOPLE, CONTROLS)
    with pytest.raises(pt.InfeasibleError, match=r"between 0\.6 and inf"):
        c.tightest_bounds(lower=0.6)
    assert c.tightest_bounds(lower=0.583333).upper > 1.8
    s = (1.3 + np.sqrt(5.69)) / 2
    both = c.tightest_bounds()
    assert (both.lower, both.upper) == pytest.approx((1 / s, s), rel=1e-9)
    assert c.tightest_bounds(lower=0.55).upper == pytest.approx(1.85, rel=1e-9)
    assert c.tightest_bounds(upper=1.85).lower == pytest.approx(0.55, rel=1e-9)


def test_tightest_bounds__are_met_and_nothing_tighter_is():
    both = pt.calibrate(PEOPLE, CONTROLS).tightest_bounds()
    wide = 1 + 1e-6
    found = pt.calibrate(PEOPLE, CONTROLS, bounds=(both.lower / wide, both.upper * wide))
    assert found.ratios.max() == pytest.approx(both.upper, rel=1e-5)
    with pytest.raises(pt.InfeasibleError):
        pt.calibrate(PEOPLE, CONTROLS, bounds=(both.lower * 1.001, both.upper / 1.001))
    assert both.binding


def test_persons_as_a_control():
    records = {"zone": ["z1"] * 4 + ["z2"] * 4, "size": [1, 2, 3, 4] * 2, "w": [3, 4, 2, 1, 5, 2, 2, 1]}
    controls = [
        pt.total(1, by="zone", target={"z1": 100, "z2": 80}),
        pt.total("size", by="zone", target={"z1": 260, "z2": 150}),
    ]
    weights = pt.calibrate(records, controls, weights="w").weights
    expected = [14.996384, 33.485805, 28.039239, 23.478573, 40.829965, 15.958387, 15.593333, 7.618316]
    np.testing.assert_allclose(weights, expected, rtol=0, atol=6e-7)
    assert weights[:4].sum() == pytest.approx(100, abs=1e-9)


HOUSEHOLDS = pd.DataFrame({"id": [1, 2, 3, 4, 5], "tenure": ["own", "rent", "own", "rent", "own"]})
MEMBERS = pd.DataFrame({"id": [1, 1, 2, 3, 3, 3, 4, 4, 5], "sex": list("fmmffmfmf")})
TENURE_AND_SEX = (
    pt.total(1, by="tenure", target={"own": 60, "rent": 40}),
    pt.total(1, by="sex", target={"f": 95, "m": 80}),
)


def test_one_weight_a_household_with_controls_of_persons():
    c = pt.calibrate(HOUSEHOLDS, TENURE_AND_SEX, members=MEMBERS.sample(frac=1, random_state=3), key="id")
    np.testing.assert_allclose(c.weights, [22.5, 22.5, 17.5, 17.5, 20], atol=1e-9)
    assert "summed over households" in c.summary()["distance"]
    with pytest.raises(pt.InfeasibleError, match=r"sum to 5 and the controls to 100.*relative_to='scaled'"):
        pt.calibrate(HOUSEHOLDS, TENURE_AND_SEX, members=MEMBERS, key="id", bounds=(0.3, 3))
    scaled = pt.calibrate(HOUSEHOLDS, TENURE_AND_SEX, members=MEMBERS, key="id", bounds=(0.3, 3), relative_to="scaled")
    np.testing.assert_allclose(scaled.weights, c.weights, atol=1e-9)
    assert scaled.tightest_bounds().upper == pytest.approx(8 / 7, rel=1e-9)


def test_shares_among_those_who_own_one():
    records = {"sex": list("fffmmmfmfm"), "brand": ["A", "none", "B", "A", "A", "none", "none", "B", "A", "none"]}
    controls = [
        pt.total(1, by="sex", target={"f": 5.2, "m": 4.8}),
        pt.share(of={"brand": "A"}, within={"brand": ["A", "B"]}, target=0.5),
    ]
    weights = pt.calibrate(records, controls).weights
    expected = [0.761522, 1.076955, 1.523045, 0.702944, 0.702944, 0.994113, 1.076955, 1.405887, 0.761522, 0.994113]
    np.testing.assert_allclose(weights, expected, rtol=0, atol=6e-7)
    owners = [brand != "none" for brand in records["brand"]]
    assert weights[owners].sum() == pytest.approx(5.857864, abs=6e-7)


def test_balancing_with_negative_entries():
    def table(values, **labels):
        return xr.DataArray(np.array(values, float), dims=tuple(labels), coords=labels)

    flows = table([[30, 10, -4], [12, 25, 6], [5, -3, 9]], i=[0, 1, 2], j=[0, 1, 2])
    targets = [pt.Marginal(table([40, 45, 12], i=[0, 1, 2])), pt.Marginal(table([50, 34, 13], j=[0, 1, 2]))]
    found = pt.project(flows, targets, signed=True).table
    expected = [
        [32.521853, 10.925456, -3.447310],
        [12.380282, 25.994104, 6.625615],
        [5.097865, -2.919560, 9.821695],
    ]
    np.testing.assert_allclose(found.transpose("i", "j").values, expected, rtol=0, atol=6e-7)
    with pytest.raises(pt.InvalidTableError, match=r"i=0, j=2.*not negative"):
        pt.project(flows, targets)


def test_parity_within_strata():
    counts = [89, 512, 19, 313, 24, 22, 317, 351]
    records = [(y, s, t) for t in "AF" for y in ("adm", "rej") for s in "fm"]
    f = pt.tabulate(pd.DataFrame(records, columns=["decision", "sex", "dept"]), weights=counts)
    fair = pt.project(f, pt.parity(f, response="decision", protected="sex", given="dept"))
    expected = [69.569132, 531.430868, 38.430868, 293.569132, 21.969188, 24.030812, 319.030812, 348.969188]
    for (y, s, t), value in zip(records, expected, strict=True):
        assert float(fair.table.sel(decision=y, sex=s, dept=t).item()) == pytest.approx(value, abs=6e-7)
    assert fair.divergence == pytest.approx(0.00674410922, abs=1e-11)


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (
            "free",
            [
                15.835103,
                11.934984,
                4.716715,
                5.737821,
                0.180631,
                0.133963,
                10.374047,
                7.818963,
                10.232447,
                12.447637,
                4.889733,
                3.626422,
            ],
        ),
        (
            95.0,
            [
                16.519982,
                12.593820,
                5.321389,
                6.411791,
                0.460794,
                0.348199,
                11.072723,
                8.441165,
                10.892442,
                13.124403,
                5.589550,
                4.223742,
            ],
        ),
    ],
)
def test_noisy_targets_that_disagree(total, expected):
    ones = xr.DataArray(np.ones((2, 3, 2)), dims=("a", "b", "c"), coords={"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]})
    ab = ones.sum("c").copy(data=[[30, 12, -1.5], [20, 25, 10]])
    bc = ones.sum("a").copy(data=[[31, 22], [15, 20], [6, 2]])
    controls = [pt.soft(pt.Marginal(ab), sd=1.0), pt.soft(pt.Marginal(bc), sd=3.0)]
    found = pt.project(ones, controls, total=total).table.values.reshape(-1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=6e-7)


def test_unequal_masses_that_are_both_soft():
    labels = [0, 1, 2]
    kernel = np.exp(-np.abs(np.subtract.outer(labels, labels)) / 0.5)
    f = xr.DataArray(kernel, dims=("i", "j"), coords={"i": labels, "j": labels})
    a = pt.Marginal(xr.DataArray([0.5, 0.3, 0.2], dims="i", coords={"i": labels}))
    b = pt.Marginal(xr.DataArray([0.3, 0.6, 0.3], dims="j", coords={"j": labels}))
    found = pt.project(f, pt.soft([a, b], penalty="kl", strength=1.0), total="free").table
    assert float(found.sum()) == pytest.approx(1.585968917, abs=1e-9)
    expected = [[0.479558, 0.105092, 0.011175], [0.040369, 0.483011, 0.051363], [0.005039, 0.060295, 0.350066]]
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=6e-7)


def test_known_cells_stay_and_the_rest_is_filled():
    ones = xr.DataArray(np.ones((3, 4)), dims=("r", "c"), coords={"r": list("abc"), "c": list("wxyz")})
    lower, upper = xr.zeros_like(ones), xr.full_like(ones, np.inf)
    for r, c, value in (("a", "w", 30), ("c", "z", 2)):
        lower.loc[{"r": r, "c": c}] = upper.loc[{"r": r, "c": c}] = value
    targets = [
        pt.Marginal(xr.DataArray([50.0, 30, 20], dims="r", coords={"r": list("abc")})),
        pt.Marginal(xr.DataArray([40.0, 25, 20, 15], dims="c", coords={"c": list("wxyz")})),
    ]
    found = pt.project(ones, targets, cell_bounds=(lower, upper)).table
    expected = [
        [30, 7.858284, 6.286627, 5.855089],
        [5.594184, 9.589392, 7.671513, 7.144911],
        [4.405816, 7.552324, 6.041860, 2],
    ]
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=6e-7)


def test_a_weight_for_every_respondent_in_their_order_and_index():
    frame = pd.DataFrame(PEOPLE, index=list("jihgfedcba"))
    found = pt.calibrate(frame, CONTROLS).weights
    assert found.index.tolist() == list("jihgfedcba")
    assert found.name == "weight"
    with pytest.raises(pt.InvalidTableError, match=r"'age'.*missing in 1 of 10 rows.*3"):
        pt.calibrate(frame.assign(age=[*"yyy", None, *"yooooo"]), CONTROLS)


def test_independence_with_a_sampled_zero():
    counts = xr.DataArray([[12.0, 8.0], [5.0, 0.0]], dims=("a", "b"), coords={"a": [0, 1], "b": [0, 1]})
    constraints = [pt.Marginal(counts.sum("b")), pt.Marginal(counts.sum("a"))]
    fit = pt.project(xr.ones_like(counts), constraints).table
    np.testing.assert_allclose(fit.values, [[13.6, 6.4], [3.4, 1.6]], rtol=1e-12)
    assert pt.degrees_of_freedom(xr.ones_like(counts), constraints) == 1


def test_regions_within_countries_from_a_long_frame_of_targets():
    people = pd.DataFrame({"country": list("AAAAABBBB"), "region": list("nnssseeww")})
    targets = pd.DataFrame({"country": list("AABB"), "region": ["n", "s", "e", "w"], "target": [3.0, 3.0, 1.0, 5.0]})
    weights = pt.calibrate(people, targets).weights
    assert weights.notna().all()
    found = weights.groupby([people["country"], people["region"]]).sum()
    np.testing.assert_allclose(found.to_numpy(), [3, 3, 1, 5], rtol=1e-12)
    # shares within each country, whose own sizes the same frame gives
    shares = targets.assign(target=[0.5, 0.5, 1 / 6, 5 / 6])
    sizes = pt.total(1, by="country", target={"A": 6.0, "B": 6.0})
    by_share = [
        pt.share(of={"region": region}, within={"country": country}, target=target)
        for country, region, target in shares.itertuples(index=False)
    ]
    again = pt.calibrate(people, [sizes, *by_share]).weights
    np.testing.assert_allclose(again, weights, rtol=1e-10)


def test_the_column_that_makes_it_infeasible_is_named_first():
    """Eleven controls, of which one asks for people that the sample does not have."""
    rng = np.random.default_rng(36)
    n = 400
    people = {f"a{k}": rng.integers(0, 3, n) for k in range(11)}
    people["a7"] = np.where(people["a3"] == 2, 0, people["a7"])
    controls = [
        pt.total(1, by=name, target=dict(enumerate(np.bincount(column, minlength=3).astype(float))))
        for name, column in people.items()
    ]
    controls.append(pt.total(1, of={"a3": 2, "a7": 1}, target=10.0))
    with pytest.raises(pt.InfeasibleError) as caught:
        pt.calibrate(people, controls)
    assert str(caught.value).startswith("count of a3=2, a7=1")
    assert "\n" not in str(caught.value)


def test_a_target_of_zero_empties_its_records_and_nothing_else():
    found = pt.calibrate(PEOPLE, [CONTROLS[0], pt.total(1, of={"sex": "m", "age": "y"}, target=0)])
    weights = dict(zip(zip(PEOPLE["sex"], PEOPLE["age"], strict=True), found.weights, strict=True))
    assert weights["m", "y"] == 0.0
    assert weights["m", "o"] == pytest.approx(4.8 / 5, rel=1e-12)
    assert weights["f", "y"] == weights["f", "o"] == pytest.approx(1.3, rel=1e-12)


def test_totals_of_controls_that_differ_by_one_name_the_group():
    """Two countries by two sizes and two sectors; the country's totals differ, and nothing is lumped to hide it."""
    people = pd.DataFrame({"country": list("AABBAABB"), "size": list("slslslsl"), "sector": list("iijjjjii")})
    sizes = pt.total(1, by=("country", "size"), target={("A", "s"): 10, ("A", "l"): 20, ("B", "s"): 30, ("B", "l"): 40})
    sectors = {("A", "i"): 15, ("A", "j"): 16, ("B", "i"): 35, ("B", "j"): 35}
    message = r"'country=A' is 30 in \(country, size\) but 31 in \(country, sector\)"
    with pytest.raises(pt.InconsistentTargetsError, match=message):
        pt.calibrate(people, [sizes, pt.total(1, by=("country", "sector"), target=sectors)])
    agreed = pt.total(1, by=("country", "sector"), target={**sectors, ("A", "j"): 15})
    assert pt.calibrate(people, [sizes, agreed]).weights.sum() == pytest.approx(100, rel=1e-12)
