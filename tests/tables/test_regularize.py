from __future__ import annotations

import math
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given

import purtensor as pt
from purtensor.tables.coded import domain_of, encode, is_sparse, sparse_table
from purtensor.tables.domain import Domain
from tests.tables.drawn import as_dict, sparse_tables

COUNTS = pt.tabulate(
    {"income": ["low", "high", "high", "low", "low"], "sex": ["f", "m", "m", "f", "f"], "age": [1, 2, 2, 1, 3]}
)


def paper(table, strength, profiles):
    """Equation 1 of the paper in exact rational numbers, on a set of profiles."""
    counts = as_dict(table)
    total, strength = sum(counts.values()), Fraction(strength)
    denominator = 1 + len(profiles) * strength / total
    return {profile: (counts.get(profile, 0) / total + strength / total) / denominator for profile in profiles}


def crossed(table, responses):
    """The profiles with the labels of the responses replaced by every label that occurs."""
    found = set(as_dict(table))
    for name in responses:
        labels = {part for profile in found for part in profile if part[0] == name}
        found = {frozenset(p for p in profile if p[0] != name) | {label} for profile in found for label in labels}
    return found


def close(found, expected):
    assert found.keys() == expected.keys()
    for profile, value in expected.items():
        # four roundings: two quotients, a sum, a quotient by a rounded denominator
        assert abs(found[profile] - value) <= 4 * Fraction(np.finfo(float).eps) * value


@given(sparse_tables(least=2), st.sampled_from([1e-4, 0.5, 3, 2.0**-40]), st.randoms(use_true_random=False))
def test_regularize__is_the_papers_equation_on_either_support(table, strength, random):
    names = domain_of(table).attributes
    response = random.sample(names, random.randint(1, len(names)))
    for layout in (table, pt.to_dense(table)):
        observed = pt.regularize(layout, strength, response=response)
        close(as_dict(observed), paper(table, strength, crossed(table, response)))
        product = pt.regularize(layout, strength, response=response, support="product")
        close(as_dict(product), paper(table, strength, crossed(table, names)))
        assert is_sparse(product) == is_sparse(layout)
        assert observed.attrs["profiles"] == len(crossed(table, response))


@given(sparse_tables(least=2))
def test_regularize__on_its_own_support_as_a_table_is_the_same(table):
    first = pt.regularize(table, 0.25, response="attribute 0", support="product")
    again = pt.regularize(table, 0.25, response="attribute 0", support=pt.to_dense(first))
    xr.testing.assert_identical(again, first)


@given(sparse_tables(least=2), st.integers(0, 2**32 - 1))
def test_regularize__does_not_see_the_order_of_profiles(table, seed):
    shuffled = table.isel(profile=np.random.default_rng(seed).permutation(table.size))
    for support in ("observed", "product", table):
        one = pt.regularize(table, response="attribute 1", support=support)
        xr.testing.assert_identical(pt.regularize(shuffled, response="attribute 1", support=support), one)


def test_regularize__the_bits_are_those_of_the_formula():
    f = pt.regularize(COUNTS, 1e-4, response="income")
    counts = [0.0, 2.0, 0.0, 3.0, 0.0, 0.0]
    counts = {
        ("high", "f", 1): 0,
        ("high", "f", 3): 0,
        ("high", "m", 2): 2,
        ("low", "f", 1): 2,
        ("low", "f", 3): 1,
        ("low", "m", 2): 0,
    }
    share = 6 * 1e-4 / 5.0
    assert f.to_series().to_dict() == {
        profile: (count / 5.0 + 1e-4 / 5.0) / (1 + share) for profile, count in counts.items()
    }
    assert f.attrs == {"strength": 1e-4, "profiles": 6, "total": 5.0, "washed_out_share": share, "left_out": []}
    assert f.name == "probability"


def test_regularize__strength_zero_is_the_empirical_distribution():
    f = pt.regularize(COUNTS, 0, response="income")
    assert f.size == 6
    assert as_dict(f) == as_dict(pt.empirical(COUNTS))
    assert f.attrs["washed_out_share"] == 0


@pytest.mark.parametrize("strength", [1e200, 1e307, 1e308])
def test_regularize__huge_pseudo_counts_give_the_uniform_distribution(strength):
    counts = pt.tabulate({"y": [0, 1, 1, 0], "x": [0, 0, 1, 1]}, weights=[1, 5, 2, 3])
    f = pt.regularize(counts, strength, response="y")
    assert f.values == pytest.approx(0.25, rel=1e-15)


@pytest.mark.parametrize(("scale", "strength"), [(0.01, 1.7e308), (5e-324, 1.0)])
def test_regularize__pseudo_counts_beyond_float64_are_refused(scale, strength):
    counts = pt.tabulate({"y": [0, 1], "x": [0, 0]}) * scale
    with pytest.raises(pt.InvalidOptionError, match=r"exceeds the range of float64 relative to a total of"):
        pt.regularize(counts, strength, response="y")


def test_regularize__a_table_declares_structural_zeros():
    possible = pt.to_dense(pt.regularize(COUNTS, 1, response="income", support="product")).copy()
    possible.loc[{"sex": "m", "age": 1}] = 0
    f = pt.regularize(COUNTS, 1, response="income", support=possible)
    assert f.size == 2 * (2 * 3 - 1)
    close(as_dict(f), paper(COUNTS, 1, set(as_dict(possible))))
    with pytest.raises(
        pt.InvalidTableError, match=r"profile \(income=low, sex=f, age=1\) has 2, but the support .*1 such"
    ):
        pt.regularize(
            COUNTS, response="income", support=possible.where(possible.age != 1, possible * (possible.sex == "m"))
        )


def test_regularize__a_support_in_another_order_with_new_categories():
    possible = pt.tabulate({"sex": ["x", "m", "f"], "income": ["low", "high", "low"]})
    counts = pt.tabulate({"income": ["low", "high"], "sex": ["f", "m"]})
    f = pt.regularize(counts, 1, response="income", support=possible)
    assert domain_of(f).attributes == ("income", "sex")
    assert f.to_series().to_dict() == {("high", "m"): 0.4, ("low", "f"): 0.4, ("low", "x"): 0.2}
    assert pt.regularize(pt.to_dense(counts), 1, response="income", support=possible).shape == (2, 3)


def test_regularize__a_support_over_other_attributes():
    with pytest.raises(pt.UnknownAttributeError, match="'age'"):
        pt.regularize(COUNTS, response="income", support=pt.marginal(COUNTS, ["income", "sex"]))
    with pytest.raises(pt.InvalidTableError, match="the support has the attribute 'age'"):
        pt.regularize(pt.marginal(COUNTS, ["income", "sex"]), response="income", support=COUNTS)


def test_regularize__categories_without_mass_are_left_out_and_listed():
    income = pd.Categorical(["low", "high"], ["low", "middle", "high"])
    counts = pt.tabulate({"income": income, "sex": pd.Categorical(["f", "f"], ["f", "m"])})
    for support in ("observed", "product"):
        f = pt.regularize(counts, response="income", support=support)
        assert f.attrs["left_out"] == ["income=middle", "sex=m"]
        assert f.attrs["profiles"] == 2
        assert domain_of(f).sizes == (3, 2)
    dense = pt.regularize(pt.to_dense(counts), response="income")
    assert dense.sel(income="middle").values.tolist() == [0, 0]


def test_regularize__probabilities_need_the_sample_size():
    p = pt.empirical(COUNTS)
    with pytest.raises(pt.InvalidTableError, match="so it contains probabilities: give counts, or total=N"):
        pt.regularize(p, response="income")
    given_size = pt.regularize(p, response="income", total=5)
    np.testing.assert_allclose(given_size, pt.regularize(COUNTS, response="income"), rtol=1e-15)
    assert given_size.attrs["total"] == 5.0
    assert pt.regularize(COUNTS, response="income", total=5).equals(pt.regularize(COUNTS, response="income"))
    rounded = p * (1 - 3e-7)
    assert math.isclose(float(pt.regularize(rounded, response="income", total=5).sum()), 1.0, rel_tol=1e-15)


def test_regularize__one_record_is_no_probability():
    assert pt.regularize(pt.tabulate({"a": ["x"]}), 1, response="a").values.tolist() == [1.0]


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ({"strength": -1}, pt.InvalidOptionError, "strength must be a finite pseudo-count of at least 0, got -1"),
        ({"strength": math.nan}, pt.InvalidOptionError, "strength .* got nan"),
        ({"strength": math.inf}, pt.InvalidOptionError, "strength"),
        ({"strength": "1"}, pt.InvalidOptionError, "strength"),
        ({"support": "all"}, pt.InvalidOptionError, "support must be 'observed', 'product' or a table, got 'all'"),
        ({"support": 7}, pt.InvalidTableError, "a table must be an xarray.DataArray"),
        ({"total": 0}, pt.InvalidOptionError, "total must be a positive sample size, got 0"),
        ({"total": 7}, pt.InvalidOptionError, "the table has total 5, which is neither 1 nor total=7"),
        ({"response": "wage"}, pt.UnknownAttributeError, "no attribute 'wage'"),
        ({"response": []}, pt.InvalidOptionError, "response must name the attribute"),
    ],
    ids=str,
)
def test_regularize__names_what_is_wrong(options, error, what):
    with pytest.raises(error, match=what):
        pt.regularize(COUNTS, **{"response": "income", **options})


def test_regularize__the_product_is_refused_before_it_is_built():
    """Case 14: the observed support of twelve attributes works, their product is refused with the bytes."""
    generator = np.random.default_rng(0)
    counts = pt.tabulate({f"a{i:02}": generator.integers(0, 20, 10_000) for i in range(12)})
    f = pt.regularize(counts, response="a00")
    assert f.size == 20 * 10_000
    assert math.isclose(f.sum(), 1)
    with pytest.raises(
        pt.TooLargeError, match=r"4096000000000000 profiles needs \d{18} bytes .*support='observed'"
    ) as got:
        pt.regularize(counts, response="a00", support="product")
    assert got.value.bytes_needed >= 8 * 20**12


def test_regularize__domains_beyond_64_bits():
    generator = np.random.default_rng(0)
    counts = pt.tabulate({f"a{i:02}": generator.integers(0, 10, 1000) for i in range(40)})
    f = pt.regularize(counts, response="a39")
    assert f.size == 10_000
    assert math.isclose(f.sum(), 1)


@given(sparse_tables())
def test_empirical__has_total_one_and_the_same_proportions(table):
    for layout in (table, pt.to_dense(table)):
        f = pt.empirical(layout)
        total = sum(as_dict(table).values())
        close(as_dict(f), {profile: value / total for profile, value in as_dict(table).items()})
        assert f.shape == layout.shape


@given(sparse_tables())
def test_uniform__on_the_support_only(table):
    for layout in (table, pt.to_dense(table)):
        u = pt.uniform(layout)
        profiles = len(as_dict(table))
        assert set(u.values.ravel()) <= {0.0, 1 / profiles}
        assert as_dict(u).keys() == as_dict(table).keys()


def test_uniform__refuses_an_empty_table():
    empty = sparse_table(Domain(("a",), (pd.Index([1]),)), [np.array([0])], np.array([0.0]))
    with pytest.raises(pt.InvalidTableError, match="empty"):
        pt.uniform(empty)
    with pytest.raises(pt.InvalidTableError, match="empty"):
        pt.empirical(empty)
    assert len(encode(COUNTS).values) == 3


@pytest.mark.parametrize("sparse", [True, False])
def test_uniform__over_all_combinations_or_a_declared_support(sparse):
    counts = pt.as_table([[12, 8], [5, 0]], {"a": ["x", "y"], "b": ["u", "v"]})
    counts = pt.to_sparse(counts) if sparse else counts
    product = pt.uniform(counts, support="product")
    assert product.values.reshape(-1).tolist() == [0.25] * 4
    assert (product.ndim == 1) == sparse
    fit = pt.project(product, pt.marginals_of(counts, "a | b"))
    assert fit.table.values.reshape(-1) == pytest.approx([13.6, 6.4, 3.4, 1.6])
    assert pt.degrees_of_freedom(product, fit.constraints) == 1
    assert pt.uniform(pt.to_sparse(counts), support=counts).values.tolist() == pytest.approx([1 / 3] * 3)
    assert pt.uniform(pt.empirical(counts), support=product).values.reshape(-1).tolist() == [0.25] * 4
    with pytest.raises(pt.InvalidTableError, match="the support does not have it"):
        pt.uniform(product, support=counts)
    with pytest.raises(pt.InvalidOptionError, match="support must be 'observed', 'product' or a table"):
        pt.uniform(counts, support="all")
