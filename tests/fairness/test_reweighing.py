"""The projection onto parity in closed form."""

from __future__ import annotations

import pytest
from hypothesis import given

import purtensor as pt
from purtensor.fairness.reweighing import reweigh
from tests import oracles
from tests.strategies import cases, table_from


@given(cases(least=2, spread=3, kinds=("full",)))
def test_reweigh__is_kamiran_and_calders_and_the_projection_onto_parity(case):
    y, *rest = case.attributes
    s = tuple(rest[: (len(rest) + 1) // 2])
    f = pt.regularize(case.reference * 1000.0, 1, response=case.attributes, support="product")
    answer = reweigh(f, response=y, protected=s)
    expected = oracles.reweighed(oracles.masses_of(f), case.attributes, y, s)
    assert oracles.masses_of(answer).keys() == expected.keys()
    for profile, value in oracles.masses_of(answer).items():
        assert float(value) == pytest.approx(float(expected[profile]), rel=1e-14)
    projection = pt.project(f, pt.parity(f, response=y, protected=s))
    assert pt.total_variation(answer, projection.table) <= 1e-14
    assert pt.pythagorean_defect(answer, projection) == pytest.approx(0, abs=1e-14)


def test_reweigh__keeps_units_layout_and_zeros():
    f = table_from(
        ("y", "s"), (["a", "b"], ["c", "d", "e"]), {("a", "c"): 4, ("b", "c"): 1, ("a", "d"): 2, ("b", "d"): 3}, "dense"
    )
    answer = reweigh(f, response="y", protected="s")
    assert answer.dims == ("y", "s")
    assert answer.values.tolist() == [[3, 3, 0], [2, 2, 0]]


def test_reweigh__refuses_a_pair_that_never_occurs():
    f = table_from(("y", "s"), (["a", "b"], ["c", "d"]), {("a", "c"): 1, ("b", "c"): 1, ("a", "d"): 2})
    with pytest.raises(pt.InfeasibleError, match=r"\(y=b, s=d\) has no mass, but parity requires 0.5"):
        reweigh(f, response="y", protected="s")


def test_reweigh__pays_on_adult_what_the_projection_onto_parity_pays():
    f = pt.regularize(pt.datasets.adult(split="train"), 1e-4, response="income")
    answer = reweigh(f, response="income", protected=["gender", "race"])
    # the prototype's figure for P on UCI's train split, default bins
    assert pt.kl_divergence(answer, f) == pytest.approx(0.032925849, abs=5e-10)
