"""Parity within strata, parity of free rates, the four-fifths rule and rising rates, as rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.constraints.rows import cells_of
from purtensor.tables.coded import encode
from tests.strategies import table_from

ADMISSIONS = {
    ("adm", "f", "A"): 89,
    ("adm", "m", "A"): 512,
    ("rej", "f", "A"): 19,
    ("rej", "m", "A"): 313,
    ("adm", "f", "F"): 24,
    ("adm", "m", "F"): 22,
    ("rej", "f", "F"): 317,
    ("rej", "m", "F"): 351,
}
NAMES, CATEGORIES = ("decision", "sex", "dept"), (["adm", "rej"], ["f", "m"], ["A", "F"])
ROLES = {"response": "decision", "protected": "sex"}


def berkeley(layout="sparse"):
    return table_from(NAMES, CATEGORIES, ADMISSIONS, layout)


def rows(constraint, table):
    return constraint.rows(cells_of(encode(table)))


@pytest.mark.parametrize("layout", ["sparse", "dense"])
def test_parity__within_strata_has_the_published_targets(layout):
    target = pt.parity(berkeley(layout), **ROLES, given="dept").target
    # P. J. Bickel and others, Science 187, 1975: two departments; each cell is f(y, t) f(s, t) / f(t)
    expected = {
        ("adm", "f", "A"): 601 * 108 / 933,
        ("rej", "m", "F"): 668 * 373 / 714,
        ("adm", "m", "F"): 46 * 373 / 714,
    }
    for (y, s, t), value in expected.items():
        assert float(target.sel(decision=y, sex=s, dept=t).item()) == pytest.approx(value, rel=1e-14)
    found = pt.to_dense(target) if layout == "sparse" else target
    np.testing.assert_allclose(found.sum("sex").values, pt.to_dense(berkeley()).sum("sex").values, rtol=1e-14)


def test_parity__given_nothing_is_the_unconditional_one_to_the_bit():
    pairs = pt.marginal(berkeley(), ("decision", "sex"))
    alone = table_from(
        ("decision", "sex"), CATEGORIES[:2], dict(zip(pairs.indexes["profile"], pairs.values, strict=True))
    )
    assert pt.parity(alone, **ROLES).target.identical(pt.parity(alone, **ROLES, given=()).target)
    with_stratum = alone.to_series().to_frame("n").assign(all="x").reset_index()
    stratified = pt.tabulate(with_stratum, ["decision", "sex", "all"], weights="n")
    np.testing.assert_allclose(
        pt.parity(stratified, **ROLES, given="all").target.values, pt.parity(alone, **ROLES).target.values, rtol=1e-14
    )


@pytest.mark.parametrize("strata", [None, "dept"])
@given(rates=st.lists(st.floats(0.1, 0.9), min_size=2, max_size=2))
def test_parity__of_free_rates_holds_for_every_rate_and_only_where_groups_agree(strata, rates):
    f = pt.to_dense(berkeley())
    constraint = pt.parity(f, **ROLES, given=strata, keep_rates=False)
    assert isinstance(constraint, pt.Linear)
    sizes = (
        f.sum("decision").values if strata else np.repeat(f.sum(("decision", "dept")).values[:, None] / 2, 2, axis=1)
    )
    rate = np.array(rates) if strata else np.full(2, rates[0])
    fair = f.copy(data=np.stack([sizes * rate, sizes * (1 - rate)]))
    block = rows(constraint, fair)
    np.testing.assert_allclose(block.coefficients @ fair.values.reshape(-1), 0, atol=1e-12)
    unfair = fair.values.copy()
    unfair[0, 0, 0] += 1
    unfair[1, 0, 0] -= 1
    assert np.abs(block.coefficients @ unfair.reshape(-1)).max() > 0.1


def test_between__a_rate_bounds_the_difference_of_shares():
    f = pt.to_dense(berkeley())
    p = (f.sum("dept") / f.sum(("decision", "dept"))).values
    apart = np.abs(p - (f.sum(("sex", "dept")) / f.sum()).values[:, None]).max()
    for rate, holds in ((apart * 1.001, True), (apart * 0.999, False)):
        block = rows(pt.between(pt.parity(f, **ROLES), rate=rate), f)
        sums = block.coefficients @ f.values.reshape(-1)
        assert bool(((block.lower <= sums) & (sums <= block.upper)).all()) is holds
    free = pt.parity(f, **ROLES, keep_rates=False)
    for rate, holds in ((apart * 1.001, True), (apart * 0.999, False)):  # f keeps its own sizes, so the same limit
        block = rows(pt.between(free, rate=rate), f)
        sums = block.coefficients @ f.values.reshape(-1)
        assert bool(((block.lower <= sums) & (sums <= block.upper)).all()) is holds


@pytest.mark.parametrize(("at_least", "holds"), [(0.59, True), (0.6, False)])
def test_ratio_parity__is_the_ratio_of_rates(at_least, holds):
    f = berkeley()
    # 113 of 449 women and 534 of 1198 men were admitted: a ratio of .5646 among the two departments' applicants
    ratio = (113 / 449) / (534 / 1198)
    limit = at_least / 0.595 * ratio
    rule = pt.ratio_parity(f, response={"decision": "adm"}, protected="sex", reference={"sex": "m"}, at_least=limit)
    block = rows(rule, f)
    assert bool((block.coefficients @ f.values >= block.lower).all()) is holds
    assert block.upper.tolist() == [np.inf]
    np.testing.assert_array_equal(block.denominators.sum(axis=0), np.ones(f.size))
    assert "realism" in block.denominators_say


def test_ratio_parity__compares_every_response_unless_named():
    rule = pt.ratio_parity(berkeley(), response="decision", protected="sex", reference={"sex": "m"})
    assert rows(rule, berkeley()).labels == ("decision=adm, sex=f", "decision=rej, sex=f")


@pytest.mark.parametrize(("values", "rises"), [((1, 2, 3), True), ((1, 3, 2), False), ((2, 2, 2), True)])
def test_monotone__holds_exactly_for_rates_that_rise(values, rises):
    sizes = np.array([7.0, 11.0, 5.0])
    yes = sizes * np.array(values) / 10
    f = pt.to_sparse(
        pt.to_dense(
            table_from(
                ("y", "a"),
                ([0, 1], ["low", "mid", "top"]),
                {
                    **{(1, a): n for a, n in zip(["low", "mid", "top"], yes, strict=True)},
                    **{(0, a): n for a, n in zip(["low", "mid", "top"], sizes - yes, strict=True)},
                },
            )
        )
    )
    block = rows(pt.monotone(f, response="y", along="a"), f)
    assert block.coefficients.shape[0] == 2
    assert bool((block.coefficients @ encode(f).values >= -1e-12).all()) is rises
    falling = rows(pt.monotone(f, response="y", along="a", decreasing=True), f)
    np.testing.assert_allclose(falling.coefficients.toarray(), -block.coefficients.toarray())


def test_monotone__within_strata_compares_no_two_strata():
    f = berkeley()
    labels = rows(pt.monotone(f, response="decision", along="sex", given="dept"), f).labels
    assert labels == ("decision>=rej, dept=A, sex=m", "decision>=rej, dept=F, sex=m")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda f: pt.parity(f, **ROLES, given="sex"), pt.InvalidOptionError, "'sex' is in given"),
        (lambda f: pt.parity(f, **ROLES, given="age"), pt.UnknownAttributeError, "age"),
        (lambda f: pt.parity(f, **ROLES, keep_rates="no"), pt.InvalidOptionError, "keep_rates"),
        (
            lambda f: pt.ratio_parity(f, response="decision", protected="sex", reference={"sex": "m"}, at_least=2),
            pt.InvalidOptionError,
            "at_least",
        ),
        (
            lambda f: pt.ratio_parity(f, response="decision", protected="sex", reference={"sex": "d"}),
            pt.UnknownCategoryError,
            "'d'",
        ),
        (lambda f: pt.monotone(f, response="decision", along=("sex", "dept")), pt.InvalidOptionError, "along must be"),
    ],
)
def test_fairness_rows__refuse_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make(berkeley())
