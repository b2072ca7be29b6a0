"""At the ends of the range of floats: the residual and the bound hold, or the ending says why they do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from tests.feasibility.oracle import decide

LABELS = {"y": ["no", "yes"], "s": ["f", "m"], "x": ["a", "b", "c"]}
INDEX = pd.MultiIndex.from_product(LABELS.values(), names=LABELS)
COUNTS = np.array([40, 30, 2, 12, 5, 9, 10, 20, 6, 30, 1, 2])


def table(values):
    return pd.Series(np.asarray(values, dtype=float), INDEX).to_xarray()


def judged(result):
    """Residual and bound recomputed by code that shares nothing with the solver."""
    if result.termination is pt.results.Termination.INFEASIBLE:
        assert result.diagnosis.verify()
        return result
    seen = pt.verify(result)
    assert seen.passed, seen.failures
    if not result.converged:
        assert result.termination in (pt.results.Termination.STALLED, pt.results.Termination.ITERATION_LIMIT)
    return result


def with_small_profiles(smallest):
    reference = table(COUNTS).where(table(np.arange(12)) % 5 != 0, smallest)
    return reference, pt.marginals_of(table(COUNTS[::-1]), "y s | y x | s x")


@pytest.mark.parametrize("smallest", [1e-3, 1e-6])
def test_reference__of_moderate_range(smallest):
    result = judged(pt.project(*with_small_profiles(smallest), max_iterations=5000, on_failure="return"))
    assert result.converged


@pytest.mark.parametrize("smallest", [1e-30, 1e-100, 1e-300])
def test_reference__ipf_goes_down_to_the_smallest_normal_numbers(smallest):
    result = pt.project(*with_small_profiles(smallest), solver=pt.IPF(), max_iterations=5000)
    seen = pt.verify(result)
    assert seen.residual == pytest.approx(result.residual, abs=1e-15)
    assert seen.membership <= 1e-12


@pytest.mark.parametrize("smallest", [1e-100, 1e-300, 5e-324])
@pytest.mark.parametrize("solver", [pt.Newton(), None], ids=["Newton", "chosen"])
def test_reference__nothing_is_claimed_that_was_not_reached(smallest, solver):
    result = pt.project(*with_small_profiles(smallest), solver=solver, max_iterations=500, on_failure="return")
    if result.converged:
        assert pt.verify(result).residual <= 1.01e-10
    else:
        assert not result.certified or result.tv_bound >= result.residual


@pytest.mark.parametrize("ratio", [1e-3, 1e-12, 1e-100, 1e-300])
def test_targets__of_very_different_size(ratio):
    wanted = table(np.where(np.arange(12) % 5 == 0, ratio, COUNTS))
    constraints = pt.marginals_of(wanted, "y s | x")
    result = judged(pt.project(table(COUNTS), constraints, max_iterations=2000, on_failure="return"))
    assert result.converged


def test_targets__a_whole_row_of_very_small_mass():
    small = pd.Series({"a": 1e-300, "b": 0.5, "c": 0.5}).rename_axis("x").to_xarray()
    result = judged(pt.project(table(COUNTS), pt.Marginal(small)))
    assert float(pt.marginal(result.table, "x").sel(x="a")) == pytest.approx(1e-300, rel=1e-14)


@pytest.mark.parametrize("people", [1, 10**3, 10**9, 10**15])
def test_counts__from_one_person_to_many(people):
    counts = table(COUNTS * people if people > 1 else np.arange(12) == 3)
    f = pt.regularize(counts, response="y")
    result = judged(pt.project(f, pt.pur(f, response="y", protected="s"), max_iterations=5000, on_failure="return"))
    assert result.converged or people == 1


@pytest.mark.parametrize("strength", [1e-12, 1e-8, 1e-4, 1.0, 1e6])
def test_strength__over_eighteen_decades(strength):
    counts = table(np.where(np.arange(12) % 7 == 0, 0, COUNTS))
    f = pt.regularize(counts, strength, response="y")
    result = judged(pt.project(f, pt.pur(f, response="y", protected="s"), max_iterations=5000, on_failure="return"))
    assert result.converged or result.termination is pt.results.Termination.INFEASIBLE


@pytest.mark.parametrize("power", [-1000, -300, 0, 300, 900])
def test_scale__of_everything_by_powers_of_two_gives_the_same_bits(power):
    def at(exponent):
        both = (table(COUNTS) * 2.0**exponent, table(COUNTS[::-1]) * 2.0**exponent)
        return pt.project(both[0], pt.marginals_of(both[1], "y s | y x"))

    here, there = at(0), at(power)
    assert np.array_equal(there.table.values * 2.0**-power, here.table.values)
    assert (there.iterations, there.residual, there.divergence) == (here.iterations, here.residual, here.divergence)


@pytest.mark.parametrize("size", [1e-18, 1e-9, 1e-3])
def test_totals__that_differ_by_rounding_are_one_total_and_by_more_are_refused(size):
    rows = pd.Series({"no": 0.4, "yes": 0.6}).rename_axis("y").to_xarray()
    columns = pd.Series({"f": 0.3, "m": 0.7 + size}).rename_axis("s").to_xarray()
    both = [pt.Marginal(rows), pt.Marginal(columns)]
    if size < 1e-15:
        assert judged(pt.project(table(COUNTS), both)).converged
    else:
        with pytest.raises(pt.InconsistentTargetsError, match="total"):
            pt.project(table(COUNTS), both)


def test_largest_and_smallest_masses_keep_their_digits():
    """Row totals 2^60 and 2^-60; a potential t costs about t units of rounding."""
    reference = pd.DataFrame([[1.0, 1.0], [1.0, 1.0]], ["p", "q"], ["u", "v"])
    reference = reference.rename_axis("r").rename_axis("c", axis=1).stack().to_xarray()
    rows = pd.Series({"p": 2.0**60, "q": 2.0**-60}).rename_axis("r").to_xarray()
    result = pt.project(reference, pt.Marginal(rows))
    expected = [2.0**59, 2.0**59, 2.0**-61, 2.0**-61]
    assert result.table.values.ravel() == pytest.approx(expected, rel=1e-14)
    assert decide([[1, 1, 0, 0], [0, 0, 1, 1]], [Fraction(2) ** 60, Fraction(1, 2**60)]).verdict == "interior"
