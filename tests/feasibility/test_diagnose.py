"""Verdicts that are known by hand or published, in labels, and what they carry."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.projection.diagnose import diagnose
from tests import oracles


def load(name):
    problem = pt.problems.load(name)
    return problem.reference, problem.constraints


def labels(table):
    return [tuple(profile) for profile in table.indexes["profile"]]


def costs(diagnosis):
    """C^T t at every profile of the support."""
    masses = oracles.masses_of(diagnosis.reference)
    attributes = oracles.attributes_of(diagnosis.reference)
    found = dict.fromkeys(masses, 0)
    for table in diagnosis.certificate:
        weights = dict(zip(*_stored(table)))
        at = [attributes.index(name) for name in oracles.attributes_of(table)]
        for profile in found:
            found[profile] += weights.get(tuple(profile[i] for i in at), 0)
    return found


def value(diagnosis):
    """b.t, in the targets' own units."""
    total = Fraction(0)
    for table, constraint in zip(diagnosis.certificate, diagnosis.constraints):
        target = oracles.masses_of(constraint.target)
        total += sum(int(t) * target.get(row, 0) for row, t in zip(*_stored(table)))
    return total


def _stored(table):
    if table.dims == ("profile",):
        return labels(table), table.values.tolist()
    return oracles.all_profiles([list(table.indexes[name]) for name in table.dims]), table.values.reshape(-1).tolist()


def test_diagnose__staircase_empties_its_corner():
    diagnosis = diagnose(*load("staircase"))
    assert diagnosis.verdict == "boundary"
    assert labels(diagnosis.implied_zeros) == [(1, 1)]
    np.testing.assert_allclose(diagnosis.solution.values, [[0, 1], [1, 0]], rtol=0, atol=1e-15)
    assert value(diagnosis) == 0
    assert costs(diagnosis) == {(1, 1): 1, (1, 2): 0, (2, 1): 0}
    assert diagnosis.verify()


def test_diagnose__and_gate_empties_110():
    diagnosis = diagnose(*load("and_gate"))
    assert diagnosis.verdict == "boundary"
    assert labels(diagnosis.implied_zeros) == [(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    assert labels(diagnosis.zeros_beyond_targets) == [(1, 1, 0)]  # the others have targets of 0
    gate = np.zeros((2, 2, 2))
    gate[[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]] = 0.25
    np.testing.assert_allclose(diagnosis.solution.values, gate, rtol=0, atol=1e-15)
    assert diagnosis.verify()


def test_diagnose__haberman_is_determined_and_forces_two_zeros():
    assert diagnose(*load("haberman")).verdict == "interior"
    diagnosis = diagnose(*load("haberman_boundary"))
    assert diagnosis.verdict == "boundary"
    assert labels(diagnosis.implied_zeros) == [(1, 1, 1), (2, 2, 2)]
    assert diagnosis.exact == "rational"


def test_diagnose__rows_that_share_a_column_are_infeasible():
    # mipfp and surveysd 26 say "converged" 80 % off: rows 2 and 3 need 2 from column 3, which has 1
    diagnosis = diagnose(*load("cut_3x3"))
    assert diagnosis.verdict == "infeasible"
    assert not diagnosis.implied_zeros.size
    assert diagnosis.solution is None
    of_rows, of_columns = (table.values.tolist() for table in diagnosis.certificate)
    assert (of_rows, of_columns) == ([0, -1, -1], [0, 0, 1])
    assert value(diagnosis) == -1
    assert min(costs(diagnosis).values()) == 0
    assert diagnosis.verify()


@pytest.mark.parametrize(
    ("added", "verdict"), [(0, "infeasible"), (9, "infeasible"), (10, "boundary"), (11, "interior")]
)
def test_diagnose__proxy_is_feasible_exactly_from_a_twentieth_on(added, verdict):
    # counts of 200: f(0,0,0)=.3, f(1,0,0)=.2, f(0,1,1)=.1, f(1,1,1)=.4, and `added` on all 8 profiles
    counts = np.zeros((2, 2, 2))
    counts[:, 0, 0], counts[:, 1, 1] = (60, 40), (20, 80)
    names = ("y", "s", "x")
    table = xr.DataArray(counts + added, coords={name: [0, 1] for name in names}, dims=names)
    for f in (table, table / table.sum()):
        diagnosis = diagnose(f, pt.pur(f, response="y", protected="s"))
        assert diagnosis.verdict == verdict
        assert diagnosis.exact == "rational"
        assert diagnosis.verify()


def test_diagnose__small_pseudo_counts_do_not_hide_the_proxy():
    counts = pt.tabulate({"y": [0, 1, 0, 1], "s": [0, 0, 1, 1], "x": [0, 0, 1, 1]}, weights=[3, 2, 1, 4])
    f = pt.regularize(counts, 1e-4, response="y")
    assert diagnose(f, pt.pur(f, response="y", protected="s")).verdict == "infeasible"


def test_diagnose__a_column_without_support_is_named():
    # humanleague 50: ones(3, 3) with column 0 empty, all marginals 1
    support = np.ones((3, 3))
    support[:, 0] = 0
    coords = {"row": [0, 1, 2], "column": [0, 1, 2]}
    table = xr.DataArray(support, coords=coords, dims=("row", "column"))
    ones = [pt.Marginal(xr.DataArray(np.ones(3), coords={name: [0, 1, 2]}, dims=name)) for name in coords]
    diagnosis = diagnose(table, ones)
    assert diagnosis.verdict == "infeasible"
    assert [table.values.tolist() for table in diagnosis.certificate] == [[0, 0, 0], [-1, 0, 0]]
    assert diagnosis.verify()


def test_diagnose__totals_that_differ_are_refused_before():
    # synthpop PR 29
    table = xr.DataArray(np.ones((2, 3)), coords={"r": [0, 1], "c": [0, 1, 2]}, dims=("r", "c"))
    rows = pt.Marginal(xr.DataArray([40.0, 60.0], coords={"r": [0, 1]}, dims="r"))
    columns = pt.Marginal(xr.DataArray([50.0, 31.0, 20.0], coords={"c": [0, 1, 2]}, dims="c"))
    with pytest.raises(pt.InconsistentTargetsError, match="total 100 in"):
        diagnose(table, (rows, columns))


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_diagnose__zero_targets_empty_their_profiles(layout):
    table = xr.DataArray(np.ones((2, 3)), coords={"r": ["a", "b"], "c": [0, 1, 2]}, dims=("r", "c"))
    columns = xr.DataArray([4.0, 0.0, 6.0], coords={"c": [0, 1, 2]}, dims="c")
    rows = xr.DataArray([3.0, 7.0], coords={"r": ["a", "b"]}, dims="r")
    if layout == "sparse":
        table = pt.to_sparse(table)
    diagnosis = diagnose(table, [pt.Marginal(rows), pt.Marginal(columns)])
    assert diagnosis.verdict == "boundary"
    assert labels(diagnosis.implied_zeros) == [("a", 1), ("b", 1)]
    assert float(diagnosis.solution.sum()) == pytest.approx(10, rel=1e-14)
    assert {profile for profile, cost in costs(diagnosis).items() if cost} == {("a", 1), ("b", 1)}
    assert diagnosis.verify()


def test_diagnose__a_zero_target_can_starve_another_row():
    # row b lies in column 1 alone, whose target is 0
    table = xr.DataArray([[1.0, 1.0], [0.0, 1.0]], coords={"r": ["a", "b"], "c": [0, 1]}, dims=("r", "c"))
    rows = pt.Marginal(xr.DataArray([1.0, 1.0], coords={"r": ["a", "b"]}, dims="r"))
    columns = pt.Marginal(xr.DataArray([2.0, 0.0], coords={"c": [0, 1]}, dims="c"))
    diagnosis = diagnose(table, (rows, columns))
    assert diagnosis.verdict == "infeasible"
    assert [t.values.tolist() for t in diagnosis.certificate] == [[0, -1], [0, 1]]
    assert diagnosis.verify()


def test_diagnose__components_must_agree_on_their_own():
    # each s has an x of its own, so parity's rows follow from utility's: they contradict them
    f = pt.tabulate({"y": [0, 1, 0, 1, 1], "s": [0, 0, 1, 1, 1], "x": [0, 0, 1, 1, 1]})
    diagnosis = diagnose(f, pt.pur(f, response="y", protected="s"))
    assert diagnosis.verdict == "infeasible"
    assert diagnosis.verify()


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_diagnose__order_and_layout_do_not_matter(layout):
    reference, constraints = load("and_gate")
    table = reference.transpose("z", "x", "y").isel(x=[1, 0])
    diagnosis = diagnose(table if layout == "dense" else pt.to_sparse(table), reversed(constraints))
    assert diagnosis.verdict == "boundary"
    assert labels(diagnosis.zeros_beyond_targets) == [(0, 1, 1)]  # z, x, y


def test_verify__a_wrong_certificate_proves_nothing():
    diagnosis = diagnose(*load("cut_3x3"))
    for number, table in enumerate(diagnosis.certificate):
        for position in range(table.size):
            spoiled = table.copy(data=table.values + (np.arange(table.size) == position) * -1)
            tables = list(diagnosis.certificate)
            tables[number] = spoiled
            changed = dataclasses.replace(diagnosis, certificate=tuple(tables))
            assert changed.verify() == (min(costs(changed).values()) >= 0 and value(changed) < 0)
    nothing = tuple(0 * table for table in diagnosis.certificate)
    assert not dataclasses.replace(diagnosis, certificate=nothing).verify()
    assert not dataclasses.replace(diagnosis, certificate=()).verify()


def test_verify__implied_zeros_must_be_those_of_the_certificate():
    diagnosis = diagnose(*load("haberman_boundary"))
    fewer = diagnosis.implied_zeros.isel(profile=[0])
    assert not dataclasses.replace(diagnosis, implied_zeros=fewer).verify()
    assert not dataclasses.replace(diagnosis, certificate=()).verify()


def test_verify__the_targets_must_be_the_ones_that_were_diagnosed():
    reference, constraints = load("staircase")
    diagnosis = diagnose(reference, constraints)
    other = pt.Marginal(xr.DataArray([1.5, 0.5], coords={"row": [1, 2]}, dims="row"))
    assert not dataclasses.replace(diagnosis, constraints=(other, constraints[1])).verify()


def test_verdict__is_text_and_says_its_sentence():
    verdict = diagnose(*load("proxy")).verdict
    assert (verdict, str(verdict)) == ("infeasible", "infeasible")
    assert "no distribution" in verdict.sentence


def test_diagnose__floats_on_a_face_are_a_boundary_to_rounding():
    masses = np.random.default_rng(3).random((2, 2, 2))
    masses[0, 0, 0] = masses[1, 1, 1] = 0
    table = xr.DataArray(masses, coords={name: range(2) for name in "abc"}, dims=tuple("abc"))
    constraints = pt.marginals_of(table, [("a", "b"), ("b", "c"), ("a", "c")])
    diagnosis = diagnose(xr.ones_like(table), constraints)
    assert diagnosis.verdict == "boundary"
    assert labels(diagnosis.implied_zeros) == [(0, 0, 0), (1, 1, 1)]
    assert diagnosis.exact == "boundary to rounding"
    np.testing.assert_allclose(diagnosis.solution.values, masses, rtol=1e-13)
    assert diagnosis.verify()


@pytest.mark.parametrize("name", ["a", "b", "b_lam0", "b_hard2"])
def test_diagnose__samples_of_a_positive_population_are_interior(name):
    diagnosis = diagnose(*load(name))
    assert (diagnosis.verdict, diagnosis.exact) == ("interior", "rational")
    assert float(diagnosis.solution.where(diagnosis.reference > 0).min()) > 0
    assert diagnosis.certificate == ()
    assert diagnosis.verify()


def test_diagnose__b_inf_is_refuted_exactly():
    diagnosis = diagnose(*load("b_inf"))
    assert (diagnosis.verdict, diagnosis.exact) == ("infeasible", "rational")
    assert min(costs(diagnosis).values()) >= 0
    assert value(diagnosis) < 0
    assert diagnosis.verify()


def test_diagnose__ends_where_rounding_hides_the_target_of_a_row_without_profiles() -> None:
    # (y=1, s=0) is forced to zero where x=0; it is all that z=1 has, with a target that rounding could have made
    table = pt.tabulate({"y": [0, 1, 1, 0, 1], "s": [0, 1, 0, 0, 1], "z": [0, 0, 1, 0, 0], "x": [0, 0, 0, 1, 1]})
    goal = table.copy(data=np.where(table["z"].values == 1, 0.0, 1.0))
    few = pt.tabulate({"z": [0, 1]}, weights=[4.0 - 1e-15, 1e-15])
    found = pt.diagnose(table, [pt.Marginal(few), *pt.marginals_of(goal, [("y", "x"), ("s", "x")])])
    assert found.verdict in ("open", "boundary")


def test_smallest_violation__names_constraints_as_relax_does():
    problem = pt.problems.load("proxy")
    found = pt.diagnose(problem.reference, problem.constraints)
    wanted = found.smallest_violation(0).proved
    for soft in (np.int64(0), [0], np.array([0]), iter([0]), found.constraints[0], [found.constraints[0]]):
        assert found.smallest_violation(soft).proved == wanted
    for soft in (True, "0", 3, -1, [0, 3], [], 0.0, None, pt.problems.load("proxy").constraints[0]):
        with pytest.raises(pt.InvalidOptionError, match="soft"):
            found.smallest_violation(soft)
