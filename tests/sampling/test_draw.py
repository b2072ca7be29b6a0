from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import purtensor as pt
from purtensor.sampling import sample, sample_without_replacement
from purtensor.sampling.draw import multinomial, multivariate_hypergeometric
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain
from tests.sampling.strategies import counts

seeds = st.integers(0, 2**32)


def table(values):
    domain = Domain(("cell",), (pd.RangeIndex(len(values)),))
    return sparse_table(domain, [np.arange(len(values))], np.asarray(values, dtype=float))


def rearranged(dense, data):
    """Return the same table as a sparse one, with attributes, categories and profiles in another order."""
    attributes = data.draw(st.permutations(dense.dims))
    turned = dense.transpose(*attributes)
    for name in attributes:
        turned = turned.isel({name: data.draw(st.permutations(range(turned.sizes[name])))})
    series = turned.to_series()
    if len(attributes) == 1:
        series.index = pd.MultiIndex.from_arrays([series.index], names=attributes)
    series = series.iloc[data.draw(st.permutations(range(len(series))))]
    return xr.DataArray(
        series.to_numpy(), coords=xr.Coordinates.from_pandas_multiindex(series.index, "profile"), dims="profile"
    )


def by_profile(any_table):
    coded = any_table.to_series()
    names = sorted(coded.index.names)
    frame = coded.rename("count").reset_index()
    return {tuple(row[name] for name in names): row["count"] for row in frame.to_dict("records") if row["count"]}


@given(p=counts(), size=st.integers(0, 10**6), seed=seeds)
def test_sample__total_layout_and_zeros(p, size, seed):
    drawn = sample(p, size, seed=seed)
    assert drawn.sum() == size
    assert drawn.dtype == np.float64
    assert drawn.dims == p.dims
    xr.testing.assert_equal(drawn.where(False, 0), p.where(False, 0))  # the same labels in the same order
    assert not drawn.values[p.values == 0].any()
    assert np.array_equal(drawn.values, np.floor(drawn.values))


@pytest.mark.parametrize("draw", [sample, sample_without_replacement])
@given(p=counts(), seed=seeds, data=st.data())
def test_draws__do_not_depend_on_the_layout(draw, p, seed, data):
    size = data.draw(st.integers(0, int(p.sum())))
    other = rearranged(p, data)
    assert by_profile(draw(p, size, seed=seed)) == by_profile(draw(other, size, seed=seed))


def test_sample__stored_zeros_stay_profiles():
    drawn = sample(table([0.5, 0, 1e-9]), 10, seed=1)
    assert drawn.values.tolist() == [10, 0, 0]
    assert drawn.sizes == {"profile": 3}


def test_sample__same_seed_same_bits_and_scale_free():
    p = table(np.arange(1.0, 60))
    first = sample(p, 1000, seed=5)
    assert first.identical(sample(p, 1000, seed=np.random.default_rng(5)))
    assert first.identical(sample(p, 1000, seed=np.int64(5)))
    assert first.identical(sample(p / 1024, 1000, seed=5))
    assert not first.equals(sample(p, 1000, seed=6))


def test_sample__a_generator_moves_on():
    p, rng = table(np.arange(1.0, 60)), np.random.default_rng(5)
    assert not sample(p, 1000, seed=rng).equals(sample(p, 1000, seed=rng))


def test_multinomial__has_its_moments():
    # moments over 2,000 draws: means within 5 standard errors, covariances n (diag(p) - p p^T) within 10 %
    masses = np.array([5.0, 1, 1, 0.25, 3, 0.75, 2])
    p, size, draws = masses / masses.sum(), 50, 2000
    rng = np.random.default_rng(11)
    seen = np.array([multinomial(masses, size, rng) for _ in range(draws)])
    covariance = size * (np.diag(p) - np.outer(p, p))
    assert (np.abs(seen.mean(0) - size * p) < 5 * np.sqrt(np.diag(covariance) / draws)).all()
    assert np.abs(np.cov(seen.T) - covariance).max() < 0.1 * covariance.max()
    # and one profile's counts are binomial
    observed = np.bincount(seen[:, 3].astype(int), minlength=6)
    expected = draws * stats.binom.pmf(np.arange(len(observed)), size, p[3])
    assert (
        stats.chisquare(
            np.append(observed[:5], observed[5:].sum()), np.append(expected[:5], draws - expected[:5].sum())
        ).pvalue
        > 1e-3
    )


def test_sample__rare_profiles_behind_common_ones_keep_their_chance():
    # 2,000 profiles of 1e-13 beside one of mass 1: each expects 1 in 10^13 draws. Conditional draws from what is left
    # of 1 would give the last ones chances that are wrong by 1e-16 / 1e-13
    drawn = sample(table([1.0, *[1e-13] * 2000]), 10**13, seed=3).values[1:]
    assert abs(drawn.sum() - 2000) < 5 * np.sqrt(2000)
    assert abs(drawn[1000:].sum() - 1000) < 5 * np.sqrt(1000)
    assert abs(np.var(drawn) - 1) < 0.2


def test_sample__a_million_profiles_and_the_largest_size():
    masses = np.random.default_rng(0).exponential(size=10**6)
    drawn = sample(table(masses), 10**7, seed=1).values
    assert drawn.sum() == 10**7
    expected = masses / masses.sum() * 10**7
    statistic = ((drawn - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, len(masses) - 1) > 1e-3
    assert sample(table([1, 1, 1]), 2**53, seed=1).values.sum() == 2**53


@pytest.mark.parametrize("draw", [sample, sample_without_replacement])
@pytest.mark.parametrize("size", [-1, 1.5, True, "3", None, 2**53 + 1, np.float64(3)])
def test_draws__refuse_sizes_that_are_none(draw, size):
    with pytest.raises(pt.InvalidOptionError, match=r"size (is|must be)"):
        draw(table([1, 2]), size, seed=1)


@pytest.mark.parametrize("draw", [sample, sample_without_replacement])
@pytest.mark.parametrize("seed", [-1, 1.5, True, None, "1"])
def test_draws__refuse_seeds_that_are_none(draw, seed):
    with pytest.raises(pt.InvalidOptionError, match="seed must be"):
        draw(table([1, 2]), 1, seed=seed)
    with pytest.raises(TypeError, match="seed"):
        draw(table([1, 2]), 1)


def test_sample__refuses_what_is_no_distribution():
    with pytest.raises(pt.InvalidTableError, match=r"cell=1.*-2"):
        sample(table([1, -2]), 1, seed=1)
    with pytest.raises(pt.InvalidTableError, match="empty"):
        sample(table([0, 0]), 1, seed=1)


@given(c=counts(), seed=seeds, data=st.data())
def test_sample_without_replacement__takes_no_one_twice(c, seed, data):
    size = data.draw(st.integers(0, int(c.sum())))
    drawn = sample_without_replacement(c, size, seed=seed)
    assert drawn.sum() == size
    assert (drawn.values <= c.values).all()
    assert (drawn.values >= 0).all()
    assert drawn.dims == c.dims


@given(c=counts(), seed=seeds)
def test_sample_without_replacement__everyone_is_the_table_itself(c, seed):
    xr.testing.assert_equal(sample_without_replacement(c, int(c.sum()), seed=seed), c)


def test_sample_without_replacement__out_of_a_billion_is_refused():
    most = pt.tabulate({"a": [0, 1]}, weights=[10**9 - 2, 1])
    drawn = sample_without_replacement(most, 1000, seed=1)
    assert drawn.sum() == 1000
    assert (drawn.values <= most.values).all()
    one_more = most.copy(data=most.values + np.array([1.0, 0.0]))
    with pytest.raises(pt.InvalidOptionError, match=r"fewer than 10\^9 individuals .* got 1,000,000,000; sample draws"):
        sample_without_replacement(one_more, 1000, seed=1)


def test_multivariate_hypergeometric__has_its_moments():
    # moments over 2,000 draws: n p, and n (N - n) / (N - 1) (diag(p) - p p^T)
    population, size, draws = np.array([30, 5, 1, 12, 2]), 20, 2000
    rng = np.random.default_rng(2)
    seen = np.array([multivariate_hypergeometric(population, size, rng) for _ in range(draws)])
    total = population.sum()
    p = population / total
    covariance = size * (total - size) / (total - 1) * (np.diag(p) - np.outer(p, p))
    assert (np.abs(seen.mean(0) - size * p) < 5 * np.sqrt(np.diag(covariance) / draws)).all()
    assert np.abs(np.cov(seen.T) - covariance).max() < 0.1 * covariance.max()
    observed = np.bincount(seen[:, 2].astype(int))
    assert stats.chisquare(observed, draws * stats.hypergeom.pmf([0, 1], total, 1, size)).pvalue > 1e-3


def test_sample_without_replacement__refusals():
    with pytest.raises(pt.InvalidTableError, match=r"profile \(cell=1\) has 0.5, but counts must be whole numbers"):
        sample_without_replacement(table([1, 0.5]), 1, seed=1)
    with pytest.raises(pt.InvalidOptionError, match="size must be at most the number of individuals, 3, got 4"):
        sample_without_replacement(table([1, 2]), 4, seed=1)
    with pytest.raises(pt.InvalidTableError, match=r"up to 2\^53"):
        sample_without_replacement(table([2.0**53, 2.0**53]), 4, seed=1)
