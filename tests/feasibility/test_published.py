"""Published figures and users' complaints: what the verdict must be, and by how much constraints fail."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import linprog

import purtensor as pt
from purtensor._typing import FloatArray
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.farkas import spread_whole
from purtensor.problems.named import NamedProblem, number_domain
from purtensor.problems.pur import pur_targets

ADULT = ["income", "gender", "race", "age_group", "workclass", "education"]


def diagnosed(name: str) -> Diagnosis:
    problem = pt.problems.load(name)
    return pt.diagnose(problem.reference, problem.constraints)


@pytest.fixture(scope="module")
def adult() -> Diagnosis:
    f = pt.regularize(pt.datasets.adult(attributes=[*ADULT, "relationship"]), response="income")
    return pt.diagnose(f, pt.pur(f, response="income", protected=["gender", "race"]))


def table(values: object, **categories: list[object]) -> xr.DataArray:
    return xr.DataArray(np.array(values, dtype=float), coords=categories, dims=list(categories))


def test_b_inf__is_short_of_parity_by_the_published_amount() -> None:
    diagnosis = diagnosed("b_inf")
    least = diagnosis.smallest_violation(0)
    assert diagnosis.verdict == "infeasible"
    assert least is not None
    assert float(least.proved) == pytest.approx(0.1957743258, abs=5e-11)
    assert least.value == pytest.approx(float(least.proved), abs=1e-12)


def test_b_inf__certificate_has_entries_of_one_on_parity_and_proves_all_of_it() -> None:
    diagnosis = diagnosed("b_inf")
    parity = diagnosis.certificate[0]
    assert set(np.unique(parity.values)) == {-1, 1}
    value = sum(float((t * c.target).sum()) for t, c in zip(diagnosis.certificate, diagnosis.constraints))
    assert value == pytest.approx(-0.1957743258, abs=1e-10)
    assert diagnosis.verify()


def test_b_inf__its_matrix_on_parity_is_refused_by_every_slab() -> None:
    # of every x the cheapest transport of f(y, x) to f(s, x) at the costs t(y, s): together they cost more than parity
    problem = pt.problems.load("b_inf")
    costs = pt.diagnose(problem.reference, problem.constraints).certificate[0].values
    f = problem.masses
    cheapest = math.fsum(cheapest_transport(costs, f[:, :, x]) for x in range(f.shape[2]))
    at_parity = float((costs * np.outer(f.sum(axis=(1, 2)), f.sum(axis=(0, 2)))).sum())
    assert cheapest - at_parity == pytest.approx(0.1957743258, abs=1e-9)


def cheapest_transport(costs: FloatArray, slab: FloatArray) -> float:
    """The least cost of a table with the row and column sums of a slab on its support, by a linear program."""
    y, s = np.nonzero(slab)
    rows = np.array([y == i for i in range(len(slab))] + [s == j for j in range(slab.shape[1])], dtype=float)
    sums = np.concatenate([slab.sum(axis=1), slab.sum(axis=0)])
    return float(linprog(costs[y, s], A_eq=rows, b_eq=sums / sums.max(), method="highs").fun * sums.max())


@pytest.mark.parametrize("slabs", [500, 1500])
def test_c_hard2__its_prefixes_are_feasible_though_a_program_says_otherwise(slabs: int) -> None:
    masses = pt.problems.load("c_hard2").masses[:, :, :slabs]
    masses = np.ascontiguousarray(masses / masses.sum())
    domain = number_domain(("y", "s", "x"), masses.shape)
    problem = NamedProblem(f"prefix of {slabs}", "pur", "a prefix of c_hard2", domain, masses, pur_targets(masses))
    diagnosis = pt.diagnose(problem.reference, problem.constraints)
    assert (diagnosis.verdict, diagnosis.exact) == ("interior", "rational")
    assert diagnosis.verify()  # an exact solution: the smallest L1 violation is 0


def test_adult__violation_is_four_times_the_deficit_and_the_linear_programs(adult: Diagnosis) -> None:
    flow, program = adult.smallest_violation(0), adult.smallest_violation([0, 0])  # named twice: not by the flow
    assert adult.verdict == "infeasible"
    assert flow is not None
    assert program is not None
    assert round(flow.value, 4) == 0.0826
    assert abs(flow.value - program.value) < 1e-8
    assert float(flow.proved) == flow.value
    deficit = -sum(float((t * c.target).sum()) for t, c in zip(adult.certificate, adult.constraints))
    assert flow.value == pytest.approx(4 * deficit, abs=1e-8)


def test_adult__missing_everything_is_cheaper_than_missing_parity(adult: Diagnosis) -> None:
    miss, violation = adult.smallest_miss(), adult.smallest_violation(0)
    assert miss is not None
    assert violation is not None
    assert miss.value == pytest.approx(0.75 * violation.value, abs=1e-9)  # missed in three rows, not in four
    assert abs(float(miss.proved) - miss.value) < 1e-9


def test_proxy__violates_parity_by_two_fifths() -> None:
    least = diagnosed("proxy").smallest_violation(0)
    assert least is not None
    assert least.proved == Fraction(2, 5)


@pytest.mark.parametrize("name", ["proxy", "b_inf"])
@pytest.mark.parametrize("which", ["miss", "violation"])
def test_violation__weights_prove_the_bound(name: str, which: str) -> None:
    diagnosis = diagnosed(name)
    system, targets = diagnosis.evidence.system, diagnosis.evidence.decision.targets
    least = diagnosis.smallest_miss() if which == "miss" else diagnosis.smallest_violation(0)
    assert least is not None
    counted = least.weights if which == "miss" else least.weights[system.block(0)]
    assert spread_whole(system.index, system.offsets, least.weights).min() >= 0
    assert np.abs(counted).max() <= least.unit
    assert least.proved == -targets.dot(least.weights) / least.unit > 0


def test_violation__of_what_can_be_met_is_nothing() -> None:
    diagnosis = diagnosed("a")
    for least in (diagnosis.smallest_miss(), diagnosis.smallest_violation(0), diagnosis.smallest_violation([1, 2])):
        assert least is not None
        assert least.value == pytest.approx(0, abs=1e-9)
        assert least.proved == 0


@pytest.mark.parametrize("soft", [3, -1, [], [0, 7]])
def test_smallest_violation__positions_must_exist(soft: int | list[int]) -> None:
    with pytest.raises(pt.InvalidOptionError, match=r"positions? from 0 to 2"):
        diagnosed("proxy").smallest_violation(soft)


def test_project__says_what_the_empty_column_needs() -> None:
    # humanleague 50: an opaque failure there
    support = table([[0, 1, 1], [0, 1, 1], [0, 1, 1]], row=[0, 1, 2], column=[0, 1, 2])
    ones = [pt.Marginal(table([1, 1, 1], **{name: [0, 1, 2]})) for name in ("row", "column")]
    with pytest.raises(pt.InfeasibleError, match=r"column=0 needs 1 by the target over .column., but its support"):
        pt.project(support, ones)


def test_project__totals_that_differ_are_refused_before_any_solve() -> None:
    # synthpop PR 29: endless oscillation there
    rows = pt.Marginal(table([40, 60], row=[0, 1]))
    columns = pt.Marginal(table([50, 31, 20], column=[0, 1, 2]))
    with pytest.raises(pt.InconsistentTargetsError, match=r"total 100 in \(row\) but 101 in \(column\)"):
        pt.project(table(np.ones((2, 3)), row=[0, 1], column=[0, 1, 2]), [rows, columns])


def test_project__a_target_of_zero_empties_its_profiles_exactly() -> None:
    # spatial-microsim-book 141, rakeR 64 and 91: NaN there
    reference = table([[1, 2, 3], [4, 5, 6]], row=["a", "b"], column=[0, 1, 2])
    rows = pt.Marginal(table([3, 7], row=["a", "b"]))
    columns = pt.Marginal(table([4, 0, 6], column=[0, 1, 2]))
    found = pt.project(reference, [rows, columns])
    assert found.table.values[:, 1].tolist() == [0, 0]
    assert np.isfinite(found.table.values).all()
    assert found.residual <= 1e-10
    np.testing.assert_allclose(found.table.sum("column"), [3, 7], rtol=0, atol=1e-9)  # 1e-10 of the total


def test_project__rows_that_share_one_column_are_told_by_their_cut() -> None:
    # surveysd 26 and mipfp: "converged" 80 % off there
    problem = pt.problems.load("cut_3x3")
    with pytest.raises(pt.InfeasibleError, match=r"row=2 \(1\) and row=3 \(1\) need 2.*column=3, which may hold 1"):
        pt.project(problem.reference, problem.constraints)
