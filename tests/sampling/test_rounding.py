from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.sampling import round_counts, rounding
from purtensor.tables.coded import dense_table, sparse_table
from purtensor.tables.domain import Domain
from tests.sampling.strategies import counts
from tests.sampling.test_draw import by_profile, rearranged, seeds

PUR = ("y s", "y x", "s x")


def dense(values):
    values = np.asarray(values, dtype=float)
    return dense_table(Domain(tuple("ysxz"[: values.ndim]), tuple(pd.RangeIndex(n) for n in values.shape)), values)


def random_table(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return dense(rng.exponential(size=sizes) * (rng.random(sizes) < 0.8))


def slow_deviations(rounded, p, total, scopes):
    """Return for each scope by how much the sums miss the neighbours of the exact ones, straight from the words."""
    result = {}
    for scope in scopes:
        others = [name for name in p.dims if name not in scope.split()]
        exact = (p.sum(others) / p.sum() * total).values
        sums = rounded.sum(others).values
        low, high = np.floor(exact + 1e-6), np.ceil(exact - 1e-6)
        result[" ".join(sorted(scope.split()))] = float((np.maximum(low - sums, 0) + np.maximum(sums - high, 0)).sum())
    return result


def reported(rounded):
    return {" ".join(sorted(scope.split())): missed for scope, missed in rounded.attrs["deviations"].items()}


def assert_rounds(rounded, p, total):
    exact = p.values / p.values.sum() * total
    assert rounded.sum() == total
    assert np.array_equal(rounded.values, np.floor(rounded.values))
    assert (np.abs(rounded.values - exact) < 1 + 1e-6).all()
    assert not rounded.values[p.values == 0].any()
    assert rounded.dims == p.dims


@given(p=counts(), total=st.integers(0, 1000), seed=seeds, data=st.data())
def test_round_counts__two_constraints_are_always_rounded(p, total, seed, data):
    scopes = [" ".join(data.draw(st.sets(st.sampled_from(p.dims), min_size=1))) for _ in range(2)]
    rounded = round_counts(p, total, constraints=pt.marginals_of(p, " | ".join(scopes)), seed=seed)
    assert_rounds(rounded, p, total)
    assert not any(slow_deviations(rounded, p, total, scopes).values())
    assert not any(rounded.attrs["deviations"].values())


@given(p=counts(), total=st.integers(0, 1000), seed=seeds, data=st.data())
def test_round_counts__any_constraints_report_their_deviations(p, total, seed, data):
    scopes = data.draw(st.lists(st.sets(st.sampled_from(p.dims), min_size=1).map(" ".join), min_size=1, max_size=4))
    rounded = round_counts(p, total, constraints=pt.marginals_of(p, " | ".join(scopes)), seed=seed)
    assert_rounds(rounded, p, total)
    assert reported(rounded) == slow_deviations(rounded, p, total, scopes)


@given(c=counts(), factor=st.integers(1, 5), seed=seeds)
def test_round_counts__whole_numbers_stay(c, factor, seed):
    xr.testing.assert_equal(round_counts(c, factor * int(c.sum()), seed=seed), c * factor)


@given(p=counts(), total=st.integers(0, 300), seed=seeds, data=st.data())
def test_round_counts__does_not_depend_on_the_layout(p, total, seed, data):
    scopes = " | ".join(data.draw(st.lists(st.sampled_from(p.dims), min_size=1, max_size=2, unique=True)))
    other = rearranged(p, data)
    one = round_counts(p, total, constraints=pt.marginals_of(p, scopes), seed=seed)
    two = round_counts(other, total, constraints=pt.marginals_of(other, scopes), seed=seed)
    assert by_profile(one) == by_profile(two)


@pytest.mark.parametrize(
    ("sizes", "scopes", "bias"),
    [
        ((3, 4), ("y", "s"), 0),
        ((2, 3, 4), ("y s", "y x"), 0),
        ((3, 3, 3), ("y", "y s", "s x", "x"), 0),
        # no flow: a search changes some profiles of a part of the draws
        ((2, 3, 5), PUR, 0.1),
        ((2, 2, 2, 3), ("y", "s", "x z"), 0.1),
    ],
    ids=["two-way", "parity-utility", "chains", "binary-pur", "three one-way"],
)
def test_round_counts__mean_is_the_table(sizes, scopes, bias):
    p, total, draws = random_table(sizes), 17, 150
    constraints = pt.marginals_of(p, " | ".join(scopes))
    rng = np.random.default_rng(8)
    results = [round_counts(p, total, constraints=constraints, seed=rng) for _ in range(draws)]
    assert not any(any(result.attrs["deviations"].values()) for result in results)
    exact = p.values / p.values.sum() * total
    fraction = exact % 1
    # a profile is one of two neighbours: its variance is fraction (1 - fraction), of a fraction that the search may
    # have changed; 4.5 standard errors
    variance = np.maximum(fraction * (1 - fraction), bias * (1 - bias))
    error = np.abs(np.mean([result.values for result in results], axis=0) - exact)
    assert (error <= 4.5 * np.sqrt(variance / draws) + bias + 1e-9).all()


def test_round_counts__pur_of_adult_is_rounded_and_unbiased():
    counts = pt.datasets.adult()
    scopes = ["income gender race", "income age_group workclass education", "gender race age_group workclass education"]
    constraints = pt.marginals_of(counts, [tuple(scope.split()) for scope in scopes])
    rng = np.random.default_rng(1)
    draws = 80
    results = [round_counts(counts, 3000, constraints=constraints, seed=rng) for _ in range(draws)]
    assert not any(any(result.attrs["deviations"].values()) for result in results)
    exact = counts.values / counts.values.sum() * 3000
    fraction = exact % 1
    scores = (np.mean([result.values for result in results], axis=0) - exact) / np.sqrt(
        fraction * (1 - fraction) / draws
    )
    assert np.abs(scores[(fraction > 0.05) & (fraction < 0.95)]).max() < 4.5
    assert abs(np.mean(scores[(fraction > 0.05) & (fraction < 0.95)] ** 2) - 1) < 0.5


def test_round_counts__multi_label_pur_of_wages_is_rounded():
    counts = pt.datasets.census_wage(year=1994, attributes=["wage_range", "gender", "race4", "age_group", "sector"])
    constraints = pt.marginals_of(
        counts, "wage_range gender race4 | wage_range age_group sector | gender race4 age_group sector"
    )
    rounded = round_counts(counts, 1000, constraints=constraints, seed=3)
    assert rounded.sum() == 1000
    assert set(rounded.attrs["deviations"].values()) == {0.0}
    assert np.abs(rounded.values - counts.values / counts.values.sum() * 1000).max() < 1


def test_round_counts__what_cannot_be_rounded_is_missed_least():
    # four profiles of 1/2, any two of them share a category: each one-way sum is 1, but no two profiles give that.
    # Two profiles that share a category miss 2, and four or none would miss the total
    corners = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 1, 1, 0])]
    p = sparse_table(Domain(("a", "b", "c"), (pd.RangeIndex(2),) * 3), corners, np.full(4, 0.5))
    constraints = pt.marginals_of(p, "a | b | c")
    results = [round_counts(p, 2, constraints=constraints, seed=seed) for seed in range(60)]
    for result in results:
        assert result.sum() == 2
        assert sorted(result.attrs["deviations"].values()) == [0, 0, 2]
    assert np.abs(np.mean([result.values for result in results], axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(60)


@pytest.mark.parametrize("most", [("MOST_ROWS", 10), ("_MOST_MOVABLE", 60)])
def test_round_counts__large_tables_go_by_flows_and_a_repair_of_some_blocks(monkeypatch, most):
    monkeypatch.setattr(rounding, "MOST_ROWS", 10)
    monkeypatch.setattr(rounding, *most)
    p = random_table((3, 4, 30), seed=5)
    rounded = round_counts(p, 1000, constraints=pt.marginals_of(p, " | ".join(PUR)), seed=2)
    assert_rounds(rounded, p, 1000)
    assert slow_deviations(rounded, p, 1000, PUR) == reported(rounded) == {"s y": 0, "x y": 0, "s x": 0}


def test_round_counts__without_constraints_each_profile_is_rounded():
    p = random_table((4, 5))
    results = [round_counts(p, 33, seed=seed) for seed in range(20)]
    for rounded in results:
        assert_rounds(rounded, p, 33)
        assert rounded.attrs == {"deviations": {}}
    assert results[0].identical(round_counts(p, 33))
    assert not all(results[0].equals(other) for other in results)


def test_round_counts__a_table_that_misses_the_target_is_refused():
    p = pt.tabulate({"y": [0, 0, 1, 1, 1], "s": [0, 1, 0, 1, 1]})
    other = pt.marginal(pt.tabulate({"y": [0, 1]}), "y")
    with pytest.raises(pt.InconsistentTargetsError, match=r"'y=0' is 0.4 of p but 0.5 of the target; project p"):
        round_counts(p, 10, constraints=pt.Marginal(other))


@pytest.mark.parametrize("total", [-1, 1.5, True, 2**43])
def test_round_counts__impossible_totals(total):
    with pytest.raises(pt.InvalidOptionError, match=r"total (is|must be)"):
        round_counts(random_table((2, 2)), total)


def test_round_counts__a_hundred_thousand_profiles():
    p = random_table((5, 8, 2500), seed=1)
    rounded = round_counts(p, 10**6, constraints=pt.marginals_of(p, "y s | y x"))
    assert_rounds(rounded, p, 10**6)
    assert set(rounded.attrs["deviations"].values()) == {0.0}


@pytest.mark.parametrize(
    ("weights", "total", "expected"),
    [([1e-310, 3e-310], 12, [3.0, 9.0]), ([1.0, 1e-18], 10**6, [1e6, 0.0]), ([1e300, 3e300], 12, [3.0, 9.0])],
)
def test_round_counts__the_tiniest_masses_and_the_widest_ranges(weights, total, expected):
    table = pt.tabulate({"a": ["x", "y"]}, weights=weights)
    assert pt.round_counts(table, total).values.tolist() == expected


def test_round_counts__of_the_tiniest_masses_within_their_marginals():
    plain = pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=[1, 2, 3, 4])
    tiny = plain * 1e-311
    found = pt.round_counts(tiny, 10, constraints=pt.marginals_of(tiny, ["a"]))
    assert found.values.tolist() == plain.values.tolist()
