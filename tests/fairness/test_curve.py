"""The price of parity: convex, falling, equal to what other programs say at its ends and in between."""

from __future__ import annotations

import itertools
import math
import pickle
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar

import purtensor as pt
from purtensor.fairness.disparity import parity_violation
from tests.strategies import COSTLY, random_masses, table_from

ADULT = {"response": "income", "protected": ["gender", "race"]}
PROXY = {"response": "y", "protected": "s"}
CATEGORIES = (("no", "yes", "later"), ("f", "m", "d"), (0, 1, 2, 3))


def random_data(seed):
    """Positive data over all profiles of y, s, x, of random sizes, with x telling something of s."""
    random = Random(seed)
    sizes = [random.randint(2, len(labels)) for labels in CATEGORIES]
    categories = tuple(labels[:size] for labels, size in zip(CATEGORIES, sizes))
    profiles = [(y, s, x) for y in categories[0] for s in categories[1] for x in categories[2]]
    return table_from(("y", "s", "x"), categories, random_masses(random, profiles, spread=random.choice((0, 1, 3))))


@COSTLY
@given(seed=st.integers(0, 2**32))
def test_parity_curve__is_convex_and_falls_from_the_data_to_the_smallest_violation(seed):
    f = random_data(seed)
    own = parity_violation(f, **PROXY)
    least = pt.parity_curve(f, **PROXY, slacks=[own]).attrs["smallest_violation"]
    slacks = np.linspace(least, own, 7)
    curve = pt.parity_curve(f, **PROXY, slacks=slacks)
    kl = curve.kl.values
    assert curve.attrs["violation"] == own
    assert np.all(np.diff(kl) <= 1e-11)
    assert np.all(np.diff(kl, 2) >= -1e-10)
    assert kl[-1] == 0.0
    assert kl[0] > 0.0
    assert np.all(curve.reached.values <= slacks + 1e-9)
    # tangents lie below: the multiplier is minus the slope
    for i in range(1, len(slacks)):
        below = kl[i] - curve.multiplier.values[i] * (slacks - slacks[i])
        assert np.all(kl >= below - 1e-9)
    assert float(curve.bound.max()) < 1e-9


@COSTLY
@given(seed=st.integers(0, 2**32))
def test_parity_curve__is_what_relax_pays_at_the_multiplier(seed):
    f = random_data(seed)
    own = parity_violation(f, **PROXY)
    curve = pt.parity_curve(f, **PROXY, slacks=[0.8 * own])
    if np.isnan(curve.kl.item()):
        assert curve.attrs["smallest_violation"] > 0.8 * own
        return
    parity, *others = pt.pur(f, **PROXY)
    relaxed = pt.relax(f, [parity, *others], soft=parity, penalty="l1", strength=curve.multiplier.item())
    # the misses of the relaxation may lie anywhere on a straight piece of the curve; the objective may not
    total = curve.kl.item() + curve.multiplier.item() * curve.reached.item()
    assert relaxed.objective == pytest.approx(total, abs=1e-10)


def with_holes(seed):
    """Small counts with profiles that were never seen, as a survey gives them; x tells much of s."""
    random = Random(seed)
    categories = tuple(labels[: random.randint(2, len(labels))] for labels in CATEGORIES)
    seen = [(s, x) for s in categories[1] for x in categories[2] if random.random() < 0.6 or (s, x) == ("f", 0)]
    masses = {(y, s, x): random.randint(1, 60) for y in categories[0] for s, x in seen if random.random() < 0.8}
    return table_from(("y", "s", "x"), categories, masses or {("no", "f", 0): 1})


def smallest_violation_by_linear_program(f):
    """The least sum of |p(y, s) - f(y) f(s)| with f(y, x) and f(s, x) kept, one variable a seen profile."""
    labels = [tuple(label) for label in f.indexes["profile"]]
    p = f.values / f.values.sum()
    equal, wanted, split, product = [], [], [], []
    for scope in ((0, 2), (1, 2)):
        for key in {tuple(label[i] for i in scope) for label in labels}:
            equal.append([float(tuple(label[i] for i in scope) == key) for label in labels])
            wanted.append(float(np.dot(equal[-1], p)))
    for y, s in itertools.product({label[0] for label in labels}, {label[1] for label in labels}):
        split.append([float(label[:2] == (y, s)) for label in labels])
        of_y, of_s = ([float(label[i] == key) for label in labels] for i, key in ((0, y), (1, s)))
        product.append(float(np.dot(of_y, p) * np.dot(of_s, p)))
    rows, slack = np.array(split), np.eye(len(split))
    above = np.block([[rows, -slack], [-rows, -slack]])
    cost = np.concatenate([np.zeros(len(labels)), np.ones(len(split))])
    fixed = np.hstack([np.array(equal), np.zeros((len(equal), len(split)))])
    limits = np.concatenate([product, -np.array(product)])
    return linprog(cost, A_ub=above, b_ub=limits, A_eq=fixed, b_eq=wanted, method="highs").fun


@COSTLY
@given(seed=st.integers(0, 2**32))
def test_parity_curve__ends_where_the_linear_program_does(seed):
    f = with_holes(seed)
    curve = pt.parity_curve(f, **PROXY, slacks=[0.0, parity_violation(f, **PROXY)])
    assert curve.attrs["smallest_violation"] == pytest.approx(smallest_violation_by_linear_program(f), abs=1e-9)
    assert np.isnan(curve.kl.values[0]) == (curve.attrs["smallest_violation"] > 1e-9)
    assert curve.kl.values[1] == 0.0


@COSTLY
@given(seed=st.integers(0, 2**32))
def test_parity_curve__of_data_with_holes_never_violates_what_it_was_allowed(seed):
    f = with_holes(seed)
    own = parity_violation(f, **PROXY)
    least = pt.parity_curve(f, **PROXY, slacks=[0.0]).attrs["smallest_violation"]
    slacks = least + (own - least) * np.array([1e-6, 0.3, 0.6, 1 - 1e-6])
    curve = pt.parity_curve(f, **PROXY, slacks=slacks)
    assert np.all(curve.reached.values <= slacks + 1e-10)
    assert np.all(curve.reached.values >= slacks - 1e-8)
    assert np.all(np.diff(curve.kl.values) <= 1e-11)
    assert float(curve.bound.max()) < 1e-6  # next to the smallest violation less is proved


@COSTLY
@given(seed=st.integers(0, 2**32))
def test_parity_curve__multiplier_is_minus_the_slope(seed):
    f = random_data(seed)
    own = parity_violation(f, **PROXY)
    least = pt.parity_curve(f, **PROXY, slacks=[own]).attrs["smallest_violation"]
    middle, step = least + 0.55 * (own - least), 1e-4 * (own - least)
    curve = pt.parity_curve(f, **PROXY, slacks=[middle - step, middle, middle + step])
    kl, multipliers = curve.kl.values, curve.multiplier.values
    assert (kl[0] - kl[2]) / (2 * step) == pytest.approx(multipliers[1], rel=1e-3, abs=1e-7)
    assert multipliers[0] >= multipliers[1] >= multipliers[2] > 0


@COSTLY
@given(seed=st.integers(0, 2**32))
def test_parity_curve__tends_to_the_fair_projection(seed):
    f = random_data(seed)
    fair = pt.project(f, pt.pur(f, **PROXY), on_failure="return")
    curve = pt.parity_curve(f, **PROXY, slacks=[1e-7, 1e-6])
    if not fair.converged:
        assert curve.attrs["smallest_violation"] > 0
        return
    # convex: from 1e-6 to 1e-7 it rises by nine times what is left at most, from below
    assert curve.kl.values[0] <= fair.divergence + 1e-10
    assert fair.divergence - curve.kl.values[0] <= 1e-7 * 50
    assert curve.kl.values[1] < curve.kl.values[0]


def least_by_hand(f, slack):
    """Two slabs of 2 x 2 with fixed margins leave one number each, a and b: the violation is 4 |d + a + b|."""
    p = f.values / f.values.sum()
    sign = np.array([[1, -1], [-1, 1]])
    d = p[0, 0].sum() - p[0].sum() * p[:, 0].sum()
    gap = np.sign(d) * slack / 4 - d  # a + b where the slack is used up

    def divergence(a):
        q = p.copy()
        q[:, :, 0] += a * sign
        q[:, :, 1] += (gap - a) * sign
        with np.errstate(invalid="ignore"):
            return float((q * np.log(q / p)).sum()) if q.min() > 0 else math.inf

    grid = np.linspace(-1, 1, 20001)
    best = grid[int(np.argmin([divergence(a) for a in grid]))]
    return minimize_scalar(
        divergence, bounds=(best - 1e-4, best + 1e-4), method="bounded", options={"xatol": 1e-12}
    ).fun


def test_parity_curve__two_slabs_by_hand():
    f = pt.problems.proxy(0.07).reference
    curve = pt.parity_curve(f, **PROXY, slacks=[0.2, 0.05, 0.0])
    assert curve.kl.values == pytest.approx([least_by_hand(f, slack) for slack in (0.2, 0.05, 0.0)], abs=1e-9)


def test_parity_curve__proxy_that_never_reaches_parity():
    # at a = 0.01 the smallest violation is 0.32 / 1.08
    f = pt.problems.proxy(0.01).reference
    curve = pt.parity_curve(f, **PROXY, slacks=[0.1, 0.32 / 1.08, 0.35, 0.36])
    assert curve.attrs["smallest_violation"] == pytest.approx(0.32 / 1.08, abs=1e-12)
    assert np.isnan(curve.kl.values).tolist() == [True, False, False, False]
    assert np.isnan(curve.disparity_ratio.values[0]).all()
    assert curve.reached.values[1] == pytest.approx(0.32 / 1.08, abs=1e-12)
    assert math.isinf(curve.multiplier.values[1])
    assert curve.kl.values[1:] == pytest.approx(sorted(curve.kl.values[1:], reverse=True))


def test_parity_curve__counts_what_no_profile_can_reach():
    # no m answers yes: that much of the violation stays whatever happens, beside what x allows
    masses = {
        ("no", "f", 0): 3,
        ("yes", "f", 0): 2,
        ("no", "m", 0): 1,
        ("no", "f", 1): 1,
        ("yes", "f", 1): 2,
        ("no", "m", 1): 4,
    }
    f = table_from(("y", "s", "x"), (("no", "yes"), ("f", "m"), (0, 1)), masses)
    own = parity_violation(f, **PROXY)
    curve = pt.parity_curve(f, **PROXY, slacks=[0.0, own - 1e-3, own - 1e-9, own])
    assert own == pytest.approx(4 * 4 / 13 * 5 / 13)  # all four cells of a 2 x 2 table miss the same
    assert curve.attrs["smallest_violation"] == pytest.approx(own, abs=1e-12)
    assert np.isnan(curve.kl.values).tolist() == [True, True, True, False]

    more = masses | {("yes", "d", 0): 1, ("no", "d", 0): 4, ("yes", "d", 1): 1, ("no", "d", 1): 3}
    f = table_from(("y", "s", "x"), (("no", "yes"), ("f", "m", "d"), (0, 1)), more)
    own = parity_violation(f, **PROXY)
    least = pt.parity_curve(f, **PROXY, slacks=[0.0]).attrs["smallest_violation"]
    slacks = np.linspace(least, own, 5)
    curve = pt.parity_curve(f, **PROXY, slacks=slacks)
    assert 0.1 < least < own - 1e-3
    assert curve.reached.values == pytest.approx(slacks, abs=1e-9)
    assert np.all(np.diff(curve.kl.values) < 0)
    assert float(curve.bound.max()) < 1e-9


def test_parity_curve__adult_ends_at_the_paper_s_projection():
    # KL 0.039140317 of the train split, lambda 1e-4, PUR
    f = pt.regularize(pt.datasets.adult(split="train"), response="income")
    curve = pt.parity_curve(f, **ADULT, slacks=[0.0, 1e-6, 0.05, 0.1, 0.15, 0.2])
    assert curve.kl.values[0] == pytest.approx(0.039140317, abs=5e-10)
    assert curve.kl.values[1] == pytest.approx(0.0391397729, abs=1e-9)
    assert curve.kl.values[-1] == 0.0
    assert np.all(np.diff(curve.kl.values) < 0)
    assert curve.disparity_ratio.dims == ("slack", "income", "gender", "race")
    assert curve.disparity_ratio.values[0] == pytest.approx(1.0, abs=1e-8)
    whole = curve.disparity_ratio.sel(slack=0.2, income=">50K", gender="female", race="non-white").item()
    ratio = pt.disparity_ratio(f, **ADULT, reference={"gender": "male", "race": "white"})
    assert whole == pytest.approx(ratio.sel(income=">50K", gender="female", race="non-white").item())
    assert "gender=male, race=white" in curve.disparity_ratio.attrs["long_name"]


def test_parity_curve__order_scale_and_layout_do_not_matter():
    f = random_data(5)
    own = parity_violation(f, **PROXY)
    slacks = [0.9 * own, 0.97 * own, 1.0, 0.93 * own, 0.97 * own]
    plain = pt.parity_curve(f, **PROXY, slacks=slacks)
    assert plain.slack.values.tolist() == slacks
    assert plain.kl.values[1] == plain.kl.values[4]
    one_by_one = [pt.parity_curve(f, **PROXY, slacks=[slack]).kl.item() for slack in slacks]
    assert plain.kl.values == pytest.approx(one_by_one, abs=1e-12)
    dense = pt.parity_curve(pt.to_dense(f) * 7, **PROXY, slacks=tuple(slacks))
    assert dense.kl.values == pytest.approx(plain.kl.values, abs=1e-11)


@pytest.mark.parametrize("slacks", [[], [-0.1], [math.nan], [math.inf], ["x"], 3, [[0.1]]])
def test_parity_curve__refuses_slacks(slacks):
    with pytest.raises(pt.InvalidOptionError, match="slack"):
        pt.parity_curve(pt.problems.proxy(0.06).reference, **PROXY, slacks=slacks)


def test_parity_curve__refuses_attributes_named_like_its_variables():
    f = pt.tabulate({"kl": [0, 1, 0, 1], "s": [0, 0, 1, 1], "slack": [0, 1, 1, 0]})
    with pytest.raises(pt.InvalidOptionError, match="'kl'"):
        pt.parity_curve(f, response="kl", protected="s", slacks=[0])
    with pytest.raises(pt.InvalidOptionError, match="'slack'"):
        pt.parity_curve(f, response="s", protected="slack", slacks=[0])


def test_parity_curve__draws_itself_and_keeps_the_plots_of_a_dataset() -> None:
    f = pt.problems.proxy(0.06).reference
    curve = pt.parity_curve(f, response="y", protected="s", slacks=[0.3, 0.1])
    assert curve.plot(title="mine").get_title(loc="left") == "mine"
    assert curve.isel(slack=[0, 1]).plot().get_ylabel() == "divergence from the data (nats)"
    assert callable(curve.plot.scatter)
    assert pickle.loads(pickle.dumps(curve)).identical(curve)
