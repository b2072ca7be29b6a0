"""Bounds on tables where a miss of the size of rounding hides a large distance: they are never below the truth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from tests.solving.drawn import SOLVERS

ROUNDING = 4e-16
"""What distances of float64 tables, of total 1, may be off by."""


class Case(NamedTuple):
    """A problem whose only feasible point is known: it has as many independent rows as profiles."""

    reference: xr.DataArray
    constraints: tuple[pt.Marginal, ...]
    exact: xr.DataArray


def case_of(records: dict[str, list[str]], truth: np.ndarray, reference: np.ndarray) -> Case:
    exact = pt.tabulate(records, weights=truth)
    return Case(pt.tabulate(records, weights=reference), pt.marginals_of(exact, ["a", "b", "c"]), exact)


def doubling_chain(links: int, seed: int) -> Case:
    """Each link doubles an error of the one before; masses are whole numbers, so that all targets are exact."""
    rng = np.random.default_rng(seed)
    profiles = []
    for link in range(1, links + 1):
        own = "end" if link == links else f"n{link}"
        profiles.append((own, own, f"n{link - 1}"))
        if link < links:
            profiles += [(own, "end", own), ("end", own, own)]
    records = {name: [profile[k] for profile in profiles] for k, name in enumerate("abc")}
    truth = rng.integers(512, 1024, len(profiles)).astype(float)
    # the perturbation that the rows see least: alternating signs that grow along the chain
    rows = np.array(
        [[float(p[k] == label) for p in profiles] for k in range(3) for label in sorted({p[k] for p in profiles})]
    )
    weakest = np.linalg.svd(rows * np.sqrt(truth), full_matrices=False)[2][len(profiles) - 1] / np.sqrt(truth)
    return case_of(records, truth, truth * np.exp(-1e-7 * weakest / np.abs(weakest).max()))


def bridge(power: int, seed: int) -> Case:
    """Two parts tied together by one profile of mass 2^-power; all numbers are dyadic, so all targets are exact."""
    records = {"a": list("ppqq"), "b": list("rsss"), "c": list("ttuv")}
    truth = np.array([1.5, 2.0**-power, 0.0625, 2.4375 - 2.0**-power])
    return case_of(records, truth, truth * np.exp(np.random.default_rng(seed).normal(size=4)))


def judge(case: Case, result: Any, table: xr.DataArray) -> None:
    """Compare the bounds of a result, or of its verification, with the distances of the table to the only answer."""
    exact, returned = (pt.to_dense(table) for table in (case.exact, table))
    distance = float(pt.total_variation(exact, returned))
    divergence = float(pt.kl_divergence(exact, returned))
    assert distance <= result.tv_bound * (1.0 + 1e-9) + ROUNDING
    assert divergence <= result.bound * (1.0 + 1e-9) + 1e-28


@pytest.mark.parametrize("links", [8, 16, 24, 28])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", [None, pt.IPF(), pt.LBFGS()], ids=["chosen", "IPF", "LBFGS"])
def test_bounds__of_chains_that_double_an_error_hold(links, seed, solver):
    case = doubling_chain(links, seed)
    result = pt.project(case.reference, case.constraints, solver=solver, max_iterations=300, on_failure="return")
    judge(case, result, result.table)
    assert result.certified


@pytest.mark.parametrize("power", [20, 30, 36, 42, 45, 48])
@pytest.mark.parametrize("seed", range(4))
def test_bounds__of_parts_tied_together_by_next_to_nothing_hold(power, seed):
    case = bridge(power, seed)
    result = pt.project(case.reference, case.constraints, on_failure="return", max_iterations=1000)
    judge(case, result, result.table)
    assert result.certified


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-10, 1e-13])
@pytest.mark.parametrize("name", SOLVERS)
def test_bounds__of_runs_that_end_early_hold(name, tolerance):
    for case in (doubling_chain(12, 5), bridge(34, 1)):
        result = pt.project(
            case.reference,
            case.constraints,
            solver=SOLVERS[name],
            tolerance=tolerance,
            max_iterations=200,
            on_failure="return",
        )
        judge(case, result, result.table)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-10])
@pytest.mark.parametrize("seed", range(2))
def test_verify__holds_on_them_and_confirms_what_is_proved(seed, tolerance, exact):
    """A second opinion by code of its own: no bound below the truth, and no sound claim refused."""
    cases = [bridge(power, seed) for power in (20, 33, 39, 45, 48)]
    for case in (*cases, *(doubling_chain(links, seed) for links in ((8, 12) if exact else (8, 16, 28)))):
        result = pt.project(
            case.reference, case.constraints, tolerance=tolerance, max_iterations=300, on_failure="return"
        )
        found = pt.verify(result, exact=exact)
        judge(case, found, result.table)
        assert found.bound < np.inf
        assert found.passed == result.converged


def test_bounds__of_targets_met_by_one_point_alone_are_its_distance():
    """The bound on the divergence is tight where there is but one feasible point: D(q || p) itself."""
    case = bridge(30, 2)
    result = pt.project(case.reference, case.constraints, tolerance=1e-3, max_iterations=4, on_failure="return")
    divergence = float(pt.kl_divergence(case.exact, result.table))
    assert divergence * (1.0 - 1e-9) <= result.bound <= 1.01 * divergence
