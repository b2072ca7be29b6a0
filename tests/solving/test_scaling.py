from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.scaling import exponent_to_unit, scale_emptied, scale_targets, scale_to


@pytest.mark.parametrize("masses", [[3.0, 2.0], [1e-300, 1e-290], [5e-324, 5e-324], [1e300, 1.0], [1.0, 1e-300]])
def test_exponent_to_unit__brings_the_total_below_one(masses):
    scaled = np.ldexp(np.array(masses), -exponent_to_unit(np.array(masses)))
    assert 0.5 <= scaled.sum() < 1.0


@pytest.mark.parametrize("masses", [[167.0, 5e-324], [0.7, 1.2e-322], [1e-10, 5e-324, 3e-320], [1.0, 2.3e-308]])
def test_exponent_to_unit__is_less_where_the_smallest_would_lose_digits(masses):
    exponent = exponent_to_unit(np.array(masses))
    scaled = np.ldexp(np.array(masses), -exponent)
    assert np.array_equal(np.ldexp(scaled, exponent), masses)
    assert scaled.min() >= 2.0**-1022


@pytest.mark.parametrize("power", [-1, -60, -1021, -1073])
def test_exponent_to_unit__keeps_totals_in_range(power):
    masses = np.ldexp(1.0, [power + 1958, power]) if power + 1958 < 1024 else np.ldexp(1.0, [1023, 1023 - 1958])
    scaled = np.ldexp(masses, -exponent_to_unit(masses))
    assert np.isfinite(scaled.sum() * 2.0**20)
    assert scaled.min() >= 2.0**-1022


@pytest.mark.parametrize("masses", [[1e308, 5e-324], [1e300, 1e-300], [1.0, 1e290, 1e-302]])
def test_exponent_to_unit__refuses_what_no_scale_holds(masses):
    with pytest.raises(pt.InvalidTableError, match=r"the smallest mass .* is less than 1e-590 of its total"):
        exponent_to_unit(np.array(masses))


CALLS = {"project": pt.project, "relax": lambda *tables: pt.relax(*tables, soft=1)}
COUNTS = pt.tabulate({"y": ["no", "yes", "no", "yes"], "s": ["f", "f", "m", "m"]}, weights=[3.0, 1.0, 2.0, 4.0])


@pytest.mark.parametrize("smallest", [5e-324, 1e-310])
def test_exponent_to_unit__no_profile_is_lost_without_a_word(smallest):
    """The potential of a row takes its scale: the answer is that of a row of any other."""
    constraints = pt.marginals_of(COUNTS, "y | s")
    found = pt.project(COUNTS.copy(data=[1.0, 2e10, smallest, 3 * smallest]), constraints).table
    plain = pt.project(COUNTS.copy(data=[1.0, 2e10, 1.0, 3.0]), constraints).table
    assert found.values == pytest.approx(plain.values, rel=1e-6)
    assert (found.values[2:] > 0.1).all()


@pytest.mark.parametrize("smallest", [5e-324, 1e-310])
def test_scaled_to__relaxations_refuse_what_would_be_lost(smallest):
    constraints = pt.marginals_of(COUNTS, "y | s")
    with pytest.raises(
        pt.InvalidTableError, match=r"the smallest mass of the reference, .*e-3.*, is less than 1e-307 when its total"
    ):
        pt.relax(COUNTS.copy(data=[1.0, 2e10, smallest, 3.0]), constraints, soft=1)


def test_scaled_to__relaxations_lose_none_that_float64_holds():
    counts = pt.tabulate({name: [k >> bit & 1 for k in range(8)] for bit, name in enumerate("abc")})
    wanted = pt.marginals_of(
        counts.copy(data=[5.0, 4.0, 3.0, 2.0, 2.0, 3.0, 4.0, 7.0]), [("a", "b"), ("b", "c"), ("a", "c")]
    )
    masses = np.array([40.0, 3.0, 1.0, 9.0, 2.0, 7.0, 5.0, 20.0])
    results = []
    for smallest in (1e-30, 1e-300):
        masses[[0, 3, 5]] = smallest
        results.append(pt.relax(counts.copy(data=masses), wanted, soft=0))
    assert all(result.converged for result in results)
    assert results[0].table.values == pytest.approx(results[1].table.values, abs=1e-7)


def test_scaled_to__tiny_masses_are_scaled_up_whole():
    masses = np.array([1e-310, 3e-310, 5e-324])
    scaled = scale_to(masses, 2.0**100)
    assert scaled.sum() == pytest.approx(2.0**100)
    assert scaled / scaled[2] == pytest.approx(np.ldexp(masses, 1000) / np.ldexp(masses, 1000)[2])


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_exponent_to_unit__is_asked_before_anything_is_lost(call):
    constraints = pt.marginals_of(COUNTS, "y | s")
    with pytest.raises(pt.InvalidTableError, match=r"4\.94066e-324, is less than 1e-590"):
        call(COUNTS.copy(data=[1.0, 2.0, 5e-324, 1e300]), constraints)


def test_scaled_with__refuses_what_float64_does_not_hold():
    assert scale_emptied(np.array([3.0, 8.0]), 2).tolist() == [0.75, 2.0]
    constraints = pt.marginals_of(COUNTS.copy(data=[3.0, 2.0, 0.0, 0.0]), "y")
    with pytest.raises(pt.InvalidTableError, match=r"targets of 0 exclude has 1e\+300, .* remove it"):
        pt.project(COUNTS.copy(data=[1e-310, 2e-310, 1e300, 1.0]), constraints)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("targets", [[1.0, 1.0, 5e-324, 0.0], [1e300, 1e300, 1e-30, 0.0]])
def test_scaled_targets__one_that_would_be_nothing_is_refused(call, targets):
    constraints = pt.marginals_of(COUNTS.copy(data=targets), "y | s")
    with pytest.raises(pt.InvalidTableError, match=r"a target of .* is less than 2\^-1074 of the total"):
        call(COUNTS, constraints)


def test_scaled_targets__zeros_stay():
    assert scale_targets(np.array([0.0, 6.0]), 1).tolist() == [0.0, 3.0]
