"""The three conditions as constraints."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given

import purtensor as pt
from tests import oracles
from tests.strategies import cases, table_from

ATTRIBUTES = ("y", "s", "x")
CATEGORIES = (["no", "yes"], ["f", "m", "d"], ["old", "young"])
MASSES = {
    ("no", "f", "old"): 4,
    ("yes", "f", "young"): 1,
    ("no", "m", "old"): 3,
    ("yes", "m", "old"): 7,
    ("no", "m", "young"): 5,
}


def table(layout="sparse", scale=1):
    return table_from(ATTRIBUTES, CATEGORIES, {k: v * scale for k, v in MASSES.items()}, layout)


def targets(constraints):
    return [oracles.masses_of(constraint.target) for constraint in constraints]


@pytest.mark.parametrize("layout", ["sparse", "dense"])
def test_pur__has_the_three_targets_in_the_order_of_the_letters(layout):
    roles = {"response": "y", "protected": "s"}
    f = table(layout)
    parity, utility, realism = targets(pt.pur(f, **roles))
    # f(y) = (12, 8), f(s) = (5, 15), total 20; "d" has no mass and no pair
    assert parity == {("no", "f"): 3, ("no", "m"): 9, ("yes", "f"): 2, ("yes", "m"): 6}
    assert utility == {("no", "old"): 7, ("no", "young"): 5, ("yes", "old"): 7, ("yes", "young"): 1}
    assert realism == {("f", "old"): 4, ("f", "young"): 1, ("m", "old"): 10, ("m", "young"): 5}
    assert targets(pt.pur(f, **roles, conditions="RP")) == [realism, parity]
    assert targets([make(f, **roles) for make in (pt.parity, pt.utility, pt.realism)]) == [parity, utility, realism]


def test_pur__keeps_the_layout():
    assert all(c.target.dims == ("profile",) for c in pt.pur(table("sparse"), response="y", protected="s"))
    dense = pt.pur(table("dense"), response="y", protected="s")
    assert [c.target.dims for c in dense] == [("y", "s"), ("y", "x"), ("s", "x")]
    assert dense[0].target.shape == (2, 3)
    assert dense[0].target.sel(s="d").values.tolist() == [0, 0]


def test_parity__keeps_whole_counts_whole_and_survives_huge_and_tiny_masses():
    counts = table_from(
        ("y", "s"), (["a", "b"], ["c", "d"]), {("a", "c"): 3, ("b", "c"): 2, ("a", "d"): 6, ("b", "d"): 4}
    )
    assert pt.parity(counts, response="y", protected="s").target.values.tolist() == [3, 6, 2, 4]
    for scale in (2.0**1000, 2.0**-1000):
        target = pt.parity(counts * scale, response="y", protected="s").target
        assert (target / scale).values.tolist() == [3, 6, 2, 4]


def test_pur__without_unprotected_attributes_asks_for_response_and_population():
    f = pt.marginal(table(), ["y", "s"])
    _, utility, realism = pt.pur(f, response="y", protected="s")
    assert utility.scope == ("y",)
    assert realism.scope == ("s",)
    assert targets([utility, realism]) == [{("no",): 12, ("yes",): 8}, {("f",): 5, ("m",): 15}]


def test_pur__takes_several_protected_attributes():
    parity, utility, realism = pt.pur(table(), response="y", protected=["s", "x"])
    assert (parity.scope, utility.scope, realism.scope) == (("y", "s", "x"), ("y",), ("s", "x"))
    # pairs are of protected profiles that occur, not of all combinations
    f = table_from(("y", "s", "x"), CATEGORIES, {("no", "f", "old"): 1, ("yes", "m", "young"): 3})
    assert oracles.masses_of(pt.parity(f, response="y", protected=["s", "x"]).target) == {
        ("no", "f", "old"): 0.25,
        ("no", "m", "young"): 0.75,
        ("yes", "f", "old"): 0.75,
        ("yes", "m", "young"): 2.25,
    }


@pytest.mark.parametrize("conditions", ["", "PP", "pur", "X", "PURE", None, ["P", "U"], 3])
def test_pur__refuses_other_letters(conditions):
    with pytest.raises(pt.InvalidOptionError, match="conditions"):
        pt.pur(table(), response="y", protected="s", conditions=conditions)


@pytest.mark.parametrize("make", [pt.parity, pt.utility, pt.realism, pt.pur])
def test_conditions__refuse_roles_that_do_not_fit(make):
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'sex'; this table has y, s, x"):
        make(table(), response="y", protected="sex")
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'z'"):
        make(table(), response="z", protected="s")
    with pytest.raises(pt.InvalidOptionError, match="an attribute must have one role"):
        make(table(), response="y", protected=["s", "y"])
    with pytest.raises(pt.InvalidOptionError, match="protected must name at least one attribute"):
        make(table(), response="y", protected=[])
    with pytest.raises(pt.InvalidOptionError, match="response must be the name of one attribute"):
        make(table(), response=["y"], protected="s")


@given(cases(least=2, spread=4))
def test_parity__keeps_the_marginals_of_response_and_population(case):
    y, *rest = case.attributes
    s = rest[: (len(rest) + 1) // 2]
    target = pt.parity(case.reference, response=y, protected=s).target
    for scope in ([y], s):
        expected = pt.marginal(case.reference, scope)
        assert pt.total_variation(pt.marginal(target, scope), expected) <= 1e-15
    assert float(target.sum()) == pytest.approx(float(case.reference.sum()), rel=1e-14)
    # independence: the mutual information is 0
    product = pt.entropy(pt.marginal(target, [y])) + pt.entropy(pt.marginal(target, s))
    assert pt.entropy(target) == pytest.approx(product, abs=1e-13)
    assert math.isfinite(pt.kl_divergence(pt.marginal(case.reference, [y, *s]), target))


def test_parity__asks_for_all_the_memory_that_it_takes_before_it_takes_any(monkeypatch):
    many = np.arange(1000)
    counts = pt.tabulate({"y": np.append(many, 0 * many), "s": np.append(0 * many, many)})
    tracemalloc.start()
    try:
        pt.parity(counts, response="y", protected="s")
        peak = tracemalloc.get_traced_memory()[1]
        monkeypatch.setattr("purtensor.tables.memory.available_memory", lambda: 1 << 20)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        with pytest.raises(pt.TooLargeError) as refused:
            pt.parity(counts, response="y", protected="s")
        assert tracemalloc.get_traced_memory()[1] - before < 1 << 20
    finally:
        tracemalloc.stop()
    assert 0.7 * peak < refused.value.bytes_needed < 2 * peak


@given(cases(least=2, spread=3, kinds=("full",)))
def test_parity__its_projection_is_the_reweighing_of_kamiran_and_calders(case):
    y, *rest = case.attributes
    s = tuple(rest[: (len(rest) + 1) // 2])
    f = pt.regularize(case.reference * 1000.0, 1, response=case.attributes, support="product")
    expected = oracles.reweighed(oracles.masses_of(f), case.attributes, y, s)
    found = oracles.masses_of(pt.project(f, pt.parity(f, response=y, protected=s)).table)
    assert found.keys() == expected.keys()
    assert sum(abs(float(found[profile] - mass)) for profile, mass in expected.items()) <= 2e-14
