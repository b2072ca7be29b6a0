"""Totals, means, shares, linear combinations, intervals, soft targets as rows: what they say, what is refused."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse

import purtensor as pt
from purtensor.constraints.marginals import as_constraints
from purtensor.constraints.rows import Cells, cells_of
from purtensor.tables.coded import encode

RECORDS = {
    "sex": list("fffmmmfmfm"),
    "brand": ["A", "none", "B", "A", "A", "none", "none", "B", "none", "A"],
    "income": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
}


@pytest.fixture
def counts() -> xr.DataArray:
    return pt.tabulate(RECORDS)


def table(values, **labels):
    return xr.DataArray(np.array(values, dtype=float), dims=tuple(labels), coords=labels)


def by_income(block, counts):
    """The rows of a block in the order of the records: the income is the number of each."""
    order = np.argsort(counts.indexes["profile"].get_level_values("income"))
    return block.coefficients.toarray()[:, order]


def rows(constraint, counts):
    block = constraint.rows(cells_of(encode(counts)))
    assert block.coefficients.shape == (len(block.labels), counts.size)
    assert len(block.lower) == len(block.upper) == len(block.labels)
    return block


def test_total__adds_up_a_numeric_attribute_by_group_whatever_the_order_of_the_labels(counts):
    block = rows(pt.total("income", by="sex", target={"m": 6.0, "f": 5.0}), counts)
    assert block.name == "total of income by sex"
    assert dict(zip(block.labels, block.lower, strict=True)) == {"sex=m": 6.0, "sex=f": 5.0}
    assert block.lower.tolist() == block.upper.tolist()
    m = np.array([1.0 if sex == "m" else 0.0 for sex in RECORDS["sex"]])
    expected = {"sex=m": m * RECORDS["income"], "sex=f": (1 - m) * RECORDS["income"]}
    for label, row in zip(block.labels, by_income(block, counts), strict=True):
        assert row.tolist() == expected[label].tolist()
    assert block.counts.sum(axis=1).tolist() == [5, 5]


@pytest.mark.parametrize(
    "target",
    [
        {"f": 5.0, "m": 6.0},
        pd.Series({"m": 6.0, "f": 5.0}).rename_axis("sex"),
        table([6, 5], sex=["m", "f"]),
        pt.to_sparse(table([6, 5], sex=["m", "f"])),
    ],
    ids=["mapping", "series", "dense", "sparse"],
)
def test_total__reads_every_spelling_of_a_target(counts, target):
    block = rows(pt.total(1, by="sex", target=target), counts)
    assert dict(zip(block.labels, block.lower, strict=True)) == {"sex=f": 5.0, "sex=m": 6.0}
    assert set(block.coefficients.data) == {1.0}


def test_total__takes_tables_of_values_and_selections(counts):
    litres = table([0, 1.5, 3], brand=["none", "A", "B"])
    block = rows(pt.total(litres, of=[{"sex": "f", "brand": ["A", "B"]}, {"sex": "m"}], lower=1.0), counts)
    worth = {"none": 0.0, "A": 1.5, "B": 3.0}
    expected = [
        worth[b] if s == "m" or b != "none" else 0.0 for s, b in zip(RECORDS["sex"], RECORDS["brand"], strict=True)
    ]
    assert by_income(block, counts)[0].tolist() == expected
    assert (block.lower[0], block.upper[0]) == (1.0, np.inf)


def test_total__one_number_goes_for_every_group_with_mass(counts):
    block = rows(pt.total(1, by=("sex", "brand"), lower=0.5), counts)
    assert len(block.labels) == len({*zip(RECORDS["sex"], RECORDS["brand"], strict=True)})
    assert block.lower.tolist() == [0.5] * len(block.labels)


def test_mean__rows_vanish_exactly_where_the_means_are_met(counts):
    block = rows(pt.mean("income", by="sex", target={"f": 22 / 5, "m": 33 / 5}), counts)
    np.testing.assert_allclose(block.coefficients @ counts.values, 0, atol=1e-14)
    moved = rows(pt.mean("income", by="sex", target={"f": 5.4, "m": 6.6}), counts)
    np.testing.assert_allclose(moved.coefficients @ counts.values, [-5, 0], atol=1e-12)


def test_share__is_among_those_within(counts):
    block = rows(pt.share(of={"brand": "A"}, within={"brand": ["A", "B"]}, target=4 / 6), counts)
    np.testing.assert_allclose(block.coefficients @ counts.values, 0, atol=1e-14)
    assert (block.lower[0], block.upper[0]) == (0.0, 0.0)
    own = {"none": 0.0, "A": 1 - 4 / 6, "B": -4 / 6}
    np.testing.assert_allclose(by_income(block, counts)[0], [own[b] for b in RECORDS["brand"]])


@pytest.mark.parametrize("width", [0.1, 0.3])
def test_between__a_share_holds_exactly_inside_its_interval(counts, width):
    block = rows(
        pt.between(pt.share(of={"brand": "A"}, within={"brand": ["A", "B"]}, target=0.5), absolute=width), counts
    )
    sums = block.coefficients @ counts.values  # the share is 2/3
    inside = ((block.lower <= sums) & (sums <= block.upper)).all()
    assert inside == (abs(2 / 3 - 0.5) <= width)
    assert len(block.labels) == 2


def test_between__widens_targets_that_a_sparse_marginal_does_not_list_too(counts):
    few = pt.to_sparse(table([6.0, 4.0], brand=["A", "none"]))
    with pytest.raises(pt.UnknownCategoryError, match="brand=B"):
        rows(pt.between(pt.Marginal(few), absolute=1), counts)
    known = pt.marginal(counts, "brand").copy(data=[6.0, 0.0, 4.0])
    block = rows(pt.between(pt.Marginal(pt.to_sparse(pt.to_dense(known))), absolute=1), counts)
    assert dict(zip(block.labels, block.lower, strict=True)) == {"brand=A": 5, "brand=B": -1, "brand=none": 3}
    assert dict(zip(block.labels, block.upper, strict=True)) == {"brand=A": 7, "brand=B": 1, "brand=none": 5}


def test_between__relative_and_by_label_and_over_several(counts):
    sex = pt.Marginal(table([4.0, 6.0], sex=["f", "m"]))
    relative, other = pt.between([sex, pt.total("income", target=50.0)], relative=0.1)
    assert rows(relative, counts).upper.tolist() == pytest.approx([4.4, 6.6])
    assert rows(other, counts).lower.tolist() == pytest.approx([45.0])
    own = rows(pt.between(sex, absolute={"m": 2.0, "f": 0.0}), counts)
    assert (own.lower.tolist(), own.upper.tolist()) == ([4, 4], [4, 8])


def test_linear__is_aligned_by_name_whatever_the_order_of_dimensions(counts):
    coefficients = table([[1, 2], [3, 4]], sex=["m", "f"], r=[0, 1])
    block = rows(pt.Linear(coefficients.transpose("r", "sex"), table([1, 2], r=[1, 0])), counts)
    assert dict(zip(block.labels, block.lower, strict=True)) == {"r=1": 1.0, "r=0": 2.0}
    m = np.array([sex == "m" for sex in RECORDS["sex"]])
    expected = {"r=0": np.where(m, 1.0, 3.0), "r=1": np.where(m, 2.0, 4.0)}
    for label, row in zip(block.labels, by_income(block, counts), strict=True):
        assert row.tolist() == expected[label].tolist()


def test_rows__of_members_are_summed_into_their_cells(counts):
    coded = encode(counts)
    homes = sparse.csr_array(np.kron(np.eye(5), np.ones((1, 2))))
    cells = Cells(coded.domain, coded.codes, {}, homes)
    for constraint in (
        pt.total("income", target=1.0),
        pt.share(of={"sex": "f"}, target=0.4),
        pt.Marginal(pt.marginal(counts, "sex")),
        pt.Linear(table([2, 5], sex=["f", "m"]), 1.0),
    ):
        alone = constraint.rows(cells_of(coded)).coefficients
        np.testing.assert_allclose(constraint.rows(cells).coefficients.toarray(), (alone @ homes.T).toarray())


def test_soft__carries_what_missing_costs_row_by_row(counts):
    sex = pt.Marginal(table([4.0, 6.0], sex=["f", "m"]))
    assert rows(pt.soft(sex, sd={"m": 1.0, "f": 2.0}), counts).softness.sd.tolist() == [2.0, 1.0]
    plain = rows(pt.soft(sex), counts).softness
    assert (plain.penalty, plain.strength.tolist()) == ("kl", [1.0, 1.0])
    assert rows(pt.soft(sex, penalty="l1", strength=3), counts).softness.strength.tolist() == [3.0, 3.0]
    dead = rows(pt.soft(pt.between(sex, absolute=1), sd=2.0), counts)
    assert (dead.lower.tolist(), dead.upper.tolist(), dead.softness.penalty) == ([3, 5], [5, 7], "quadratic")
    both = pt.soft([sex, pt.total(1, target=3)], penalty="huber", sd=1.0, k=2.0)
    assert [rows(one, counts).softness.k for one in both] == [2.0, 2.0]
    assert rows(pt.soft(sex, covariance=[[2, 1], [1, 2]]), counts).softness.covariance.tolist() == [[2, 1], [1, 2]]


SEX = table([4.0, 6.0], sex=["f", "m"])
REFUSED = [
    (lambda: pt.Marginal(), pt.InvalidTableError, "needs target="),
    (lambda: pt.Marginal(SEX, lower=SEX), pt.InvalidTableError, "both a target and lower or upper"),
    (lambda: pt.Marginal(lower=2 * SEX, upper=SEX), pt.InvalidTableError, "sex=f is 8, above the upper limit 4"),
    (lambda: pt.Marginal(np.nan * SEX), pt.InvalidTableError, "sex=f"),
    (lambda: pt.Marginal(lower=np.nan * SEX), pt.InvalidTableError, "sex=f.* is NaN"),
    (lambda: pt.Marginal(lower=SEX, upper=table([1], age=["y"])), pt.InvalidTableError, "the same attributes"),
    (lambda: pt.Marginal(lower=3), pt.InvalidTableError, "xarray.DataArray"),
    (lambda: pt.Linear(np.nan * SEX, 1.0), pt.InvalidTableError, "coefficient.*sex=f.*NaN"),
    (lambda: pt.Linear(SEX / 0, 1.0), pt.InvalidTableError, "finite"),
    (lambda: pt.Linear(SEX, table([1.0], r=[0])), pt.InvalidTableError, "dimension 'r'"),
    (lambda: pt.Linear(SEX, SEX), pt.InvalidTableError, "no attribute to sum over"),
    (lambda: pt.Linear(SEX, 1.0, lower=0.0), pt.InvalidTableError, "both a target and lower or upper"),
    (lambda: pt.total(SEX), pt.InvalidTableError, "purtensor.marginal.*purtensor.to_records"),
    (lambda: pt.mean(SEX), pt.InvalidTableError, "purtensor.marginal.*purtensor.to_records"),
    (lambda: pt.total("income", target=np.inf), pt.InvalidTableError, "finite"),
    (lambda: pt.total("income", by="sex", target={"f": "many"}), pt.InvalidTableError, "must be a number"),
    (lambda: pt.total(1, target={"f": 1.0}), pt.InvalidTableError, "give a number, or by="),
    (lambda: pt.total(1, lower=2, upper=1), pt.InvalidTableError, "above the upper limit"),
    (lambda: pt.share(of={"sex": "f"}, target=1.2), pt.InvalidTableError, "between 0 and 1"),
    (lambda: pt.share(of="f", target=0.5), pt.InvalidOptionError, "of must be a dict"),
    (lambda: pt.between(pt.Marginal(SEX)), pt.InvalidOptionError, "exactly one"),
    (lambda: pt.between(pt.Marginal(SEX), absolute=1, rate=1), pt.InvalidOptionError, "exactly one"),
    (lambda: pt.between(pt.Marginal(SEX), absolute=-1), pt.InvalidOptionError, "not negative"),
    (lambda: pt.between(pt.Marginal(SEX), rate=0.1), pt.InvalidOptionError, "shares within groups"),
    (lambda: pt.between(pt.soft(pt.Marginal(SEX)), absolute=1), pt.InvalidOptionError, "soft\\(between"),
    (lambda: pt.between(pt.Marginal(lower=SEX), absolute=1), pt.InvalidOptionError, "already an interval"),
    (lambda: pt.soft(SEX), pt.InvalidOptionError, "Marginal\\(table\\)"),
    (lambda: pt.soft(pt.soft(pt.Marginal(SEX))), pt.InvalidOptionError, "already soft"),
    (lambda: pt.soft(pt.Marginal(SEX), penalty="huber"), pt.InvalidOptionError, "needs sd"),
    (lambda: pt.soft(pt.Marginal(SEX), penalty="kl", sd=1), pt.InvalidOptionError, "takes strength"),
    (lambda: pt.soft(pt.Marginal(SEX), sd=1, strength=1), pt.InvalidOptionError, "give only one of"),
    (lambda: pt.soft(pt.Marginal(SEX), sd=0), pt.InvalidOptionError, "positive"),
    (lambda: pt.soft(pt.Marginal(SEX), covariance=[[1, 2], [2, 1]]), pt.InvalidTableError, "positive definite"),
    (lambda: pt.soft(pt.Marginal(SEX), covariance=[[1, 2], [0, 1]]), pt.InvalidTableError, "symmetric"),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_constructors__refuse_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


UNFIT = [
    (pt.total("brand", target=3), pt.InvalidTableError, "labels of 'brand' must all be numbers.*got 'A'"),
    (pt.total("age", target=3), pt.UnknownAttributeError, "age"),
    (pt.total(1, by="sex", target={"f": 1.0}), pt.UnknownCategoryError, "sex=m.*has no number"),
    (pt.total(1, by="sex", target={"f": 1.0, "m": 2.0, "d": 3.0}), pt.UnknownCategoryError, "sex='d'"),
    (pt.total(1, of={"sex": "x"}, target=3), pt.UnknownCategoryError, "'x'"),
    (pt.Linear(table([1.0], sex=["f"]), 1.0), pt.UnknownCategoryError, "sex=m.*do not cover"),
    (pt.Linear(table([1.0, 1, 1], sex=["f", "m", "d"]), 1.0), pt.UnknownCategoryError, "sex=d"),
    (pt.soft(pt.Marginal(SEX), sd={"f": 1.0}), pt.UnknownCategoryError, "no number for the row \\(m\\)"),
    (pt.soft(pt.Marginal(SEX), covariance=[[1.0]]), pt.InvalidTableError, "each of its 2 rows"),
    (pt.between(pt.total(1, lower=3), absolute=1), pt.InvalidOptionError, "already an interval"),
]


@pytest.mark.parametrize(("constraint", "error", "message"), UNFIT)
def test_rows__refuse_what_does_not_fit_the_reference(counts, constraint, error, message):
    with pytest.raises(error, match=message):
        rows(constraint, counts)


def test_mean__of_a_group_without_records_cannot_be_met():
    few = pt.tabulate({"sex": pd.Categorical(["f", "f"], categories=["f", "m"]), "income": [1, 2]})
    with pytest.raises(pt.InfeasibleError, match="sex=m has no profile"):
        rows(pt.mean("income", by="sex", target={"f": 1.0, "m": 1.0}), few)


def test_marginal__with_ends_or_negative_targets_is_for_those_who_can(counts):
    for constraint, error in (
        (pt.Marginal(lower=SEX), pt.InvalidOptionError),
        (pt.Marginal(-SEX), pt.InvalidTableError),
    ):
        assert constraint.scope == ("sex",)
        with pytest.raises(error, match=r"Marginals with targets|-4\.0"):
            as_constraints([constraint])
    block = rows(pt.Marginal(lower=table([1.0], sex=["m"]), upper=table([3.0, 4.0], sex=["m", "f"])), counts)
    ends = dict(zip(block.labels, zip(block.lower, block.upper, strict=True), strict=True))
    assert ends == {"sex=f": (0.0, 4.0), "sex=m": (1.0, 3.0)}
    assert rows(pt.Marginal(-SEX), counts).lower.tolist() == [-4.0, -6.0]


def test_repr__says_what_it_is():
    shown = [repr(pt.total(1, of={"sex": "f"}, lower=3)), repr(pt.Marginal(-SEX)), repr(pt.Linear(SEX, 1.0))]
    assert shown[0] == "<count of sex=f: at least 3>"
    assert re.fullmatch(r"Marginal\(sex: negative targets, total -10\)", shown[1])
    assert shown[2] == "<linear in sex: 1 row>"
