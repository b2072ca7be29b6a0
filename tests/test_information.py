"""Information measures: golden values, edges and refusals; their laws are in laws/test_information.py."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.information import divergence_excess
from tests.strategies import table_from


def table(values, labels=("a", "b", "c", "d"), *, name="x", layout="sparse"):
    labels = list(labels)[: len(values)]
    masses = {(label,): value for label, value in zip(labels, values, strict=True)}
    return table_from((name,), (labels,), masses, layout)


def test_kl_divergence__of_a_fair_and_a_biased_coin():
    assert pt.kl_divergence(table([1, 3]), table([5, 5])) == pytest.approx(math.log(2) - 0.5623351446188083, abs=1e-15)


def test_kl_divergence__is_directed():
    p, q = table([1, 3]), table([1, 1])
    assert pt.kl_divergence(q, p) == pytest.approx(math.log(2 / math.sqrt(3)), abs=1e-15)
    assert pt.kl_divergence(p, q) != pt.kl_divergence(q, p)


def test_kl_divergence__counts_nothing_where_p_is_zero():
    assert pt.kl_divergence(table([1, 1, 0]), table([1, 1, 2])) == pytest.approx(math.log(2), abs=1e-15)


@pytest.mark.parametrize("q", [table([1, 0], layout="dense"), table([1, 1]).isel(profile=[0])])
def test_kl_divergence__is_infinite_where_q_is_zero_or_not_listed(q):
    assert pt.kl_divergence(table([1, 1]), q) == math.inf
    assert pt.kl_divergence(table([1, 0], layout="dense"), q) == 0


def test_kl_divergence__stays_finite_beyond_the_range_of_floats():
    # shares of 1e-400 and 1/2: their ratio is no float64, its logarithm is
    p, q = table([1, 1]), table([1e-200, 1e200])
    assert pt.kl_divergence(p, q) == pytest.approx(0.5 * 400 * math.log(10) - math.log(2), rel=1e-15)
    assert pt.kl_divergence(q, p) == pytest.approx(math.log(2), rel=1e-15)


def test_kl_divergence__of_the_smallest_change_is_half_its_square():
    step = 2.0**-52
    p = table([0.5, 0.5 + step / 2])
    assert pt.kl_divergence(p, table([0.5, 0.5])) == pytest.approx((step / 2) ** 2 / 2, rel=1e-12)


def test_kl_divergence__takes_both_layouts_in_any_order():
    p = table([1, 2, 3], layout="dense")
    q = table([6, 3, 1], ("c", "a", "b"))
    assert pt.kl_divergence(p, q) == pytest.approx(
        (math.log(10 / 18) + 2 * math.log(20 / 6) + 3 * math.log(30 / 36)) / 6, abs=1e-15
    )


@pytest.mark.parametrize("measure", [pt.kl_divergence, pt.total_variation])
def test_measures__refuse_other_attributes(measure):
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'x'; q has y"):
        measure(table([1, 2]), table([1, 2], name="y"))
    both = table_from(("x", "y"), (["a"], ["b"]), {("a", "b"): 1})
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'y'; p has x"):
        measure(table([1]), both)


@pytest.mark.parametrize("measure", [pt.kl_divergence, pt.total_variation])
def test_measures__refuse_categories_that_the_other_does_not_list(measure):
    with pytest.raises(
        pt.UnknownCategoryError, match=r"p has mass in x=c, a category that q does not list \(it has a, b"
    ):
        measure(table([1, 2, 3]), table([1, 2]))
    with pytest.raises(pt.UnknownCategoryError, match="p has mass in x=1"):
        measure(table([1, 2], (1, 0)), table([1, 2], (True, False)))
    assert measure(table([1, 2, 0], layout="dense"), table([1, 2])) == 0


@pytest.mark.parametrize("bad", [[1, -1], [1, math.nan], [0, 0]])
def test_measures__refuse_what_is_no_distribution(bad):
    dense = xr.DataArray(np.array(bad, dtype=float), coords={"x": ["a", "b"]}, dims="x")
    for measure in (lambda p: pt.kl_divergence(p, table([1, 1])), lambda p: pt.total_variation(table([1, 1]), p)):
        with pytest.raises(pt.InvalidTableError):
            measure(dense)
    with pytest.raises(pt.InvalidTableError):
        pt.entropy(dense)


def test_entropy__of_known_tables():
    assert pt.entropy(table([1, 1, 1, 1])) == pytest.approx(2 * math.log(2), abs=1e-15)
    assert pt.entropy(table([7])) == 0
    assert pt.entropy(table([1, 0, 0], layout="dense")) == 0
    assert pt.entropy(table([1, 1, 2])) == pytest.approx(1.5 * math.log(2), abs=1e-15)


def test_entropy__keeps_its_digits_near_a_single_profile():
    small = 1e-30
    assert pt.entropy(table([1, small])) == pytest.approx(small * (1 - math.log(small)), rel=1e-14)


def test_total_variation__of_known_tables():
    assert pt.total_variation(table([1, 3]), table([2, 2])) == 0.25
    assert pt.total_variation(table([1, 1, 0, 0]), table([0, 0, 5, 2])) == 1
    # 2^-53 of the mass moves, and nothing of it is lost
    assert pt.total_variation(table([0.5, 0.5]), table([0.5 + 2.0**-53, 0.5 - 2.0**-53])) == 2.0**-53


class Projected:
    def __init__(self, reference, answer):
        self.reference, self.table = reference, answer


def test_pythagorean_defect__is_minus_infinite_off_the_projection():
    projected = Projected(table([1, 1, 1]), table([1, 1, 0]))
    assert pt.pythagorean_defect(table([1, 1, 1]), projected) == -math.inf


def test_pythagorean_defect__refuses_mass_off_the_reference():
    projected = Projected(table([1, 1, 0]), table([1, 2, 0]))
    with pytest.raises(pt.InvalidTableError, match=r"p has mass at \(x=c\)"):
        pt.pythagorean_defect(table([1, 1, 1]), projected)
    with pytest.raises(pt.InvalidTableError, match="not a projection of it"):
        pt.pythagorean_defect(table([1, 1, 0]), Projected(table([1, 1, 0]), table([1, 1, 1])))


def test_pythagorean_defect__tells_an_infeasible_table():
    # onto x: (1/2, 1/2); p has (3/4, 1/4): the defect is (p - q) . log(q / reference)
    projected = Projected(table([1, 3]), table([1, 1]))
    assert pt.pythagorean_defect(table([3, 1]), projected) == pytest.approx(
        0.25 * math.log(2) - 0.25 * math.log(2 / 3), abs=1e-15
    )


@pytest.mark.parametrize("w", [-0.999, -0.5, -0.1, -1e-3, 1e-12, 0.0999, 0.1001, 3.0, 1e6])
def test_divergence_excess__joins_series_and_closed_form(w):
    with localcontext() as context:
        context.prec = 60
        one = 1 + Decimal(w)
        expected = float(one * one.ln() - Decimal(w))
    assert float(divergence_excess(np.array([w]))[0]) == pytest.approx(expected, rel=1e-14)
