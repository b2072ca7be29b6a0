"""Bounds of random problems against their exact answers: a few daily, many under the thorough profile."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import settings

import purtensor as pt
from tests import oracles
from tests.laws.fuzz_bounds import TOLERANCES, Counts, attack, attack_on_disk, hold
from tests.laws.fuzz_problems import FAMILIES, contradicting, met_by_first_rows, posed
from tests.solving.drawn import SOLVERS

THOROUGH = settings.get_current_profile_name() == "thorough"
BATCHES, EACH = (100, 200) if THOROUGH else (2, 6)
"""Five families in 100 batches of 200 are 10^5 solves."""


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("family", FAMILIES)
def test_bounds__of_drawn_problems_are_never_below_the_truth(family, batch):
    counts = Counts()
    for seed in range(batch * EACH, (batch + 1) * EACH):
        attack(seed, counts, family)
    assert sum(counts.tried.values()) >= 2 * EACH
    assert not counts.false, str(counts)


@pytest.mark.slow
@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "contradicting"])
def test_bounds__of_drawn_problems_on_disk_are_never_below_the_truth(family, monkeypatch):
    pytest.importorskip("zarr")
    monkeypatch.setattr("os.fsync", lambda _: None)
    counts = Counts()
    for seed in range(200 if THOROUGH else 1):
        attack_on_disk(seed, counts, family)
    assert counts.tried
    assert not counts.false, str(counts)


@pytest.mark.parametrize("seed", [120000521, 120000635, 120000655, 120000669, 120000711, 120001330])
def test_bounds__of_tables_that_lack_a_profile_of_next_to_no_mass(seed):
    """Ended early, or solved on a face that the targets imply to rounding only: the exact masses are about 1e-16."""
    counts = Counts()
    attack(seed, counts)
    assert counts.tried
    assert not counts.false, str(counts)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "family"), [(310002000, "nearly dependent"), (310016900, "PUR")])
def test_bounds__on_disk_take_in_the_rounding_of_the_scale(seed, family, monkeypatch):
    """The masses are scaled to the total before they are proved, and written as they were."""
    pytest.importorskip("zarr")
    monkeypatch.setattr("os.fsync", lambda _: None)
    counts = Counts()
    attack_on_disk(seed, counts, family)
    assert counts.tried
    assert not counts.false, str(counts)


def test_bounds__on_disk_where_a_part_has_no_row_to_sweep_in_logarithms(monkeypatch):
    pytest.importorskip("zarr")
    monkeypatch.setattr("os.fsync", lambda _: None)
    counts = Counts()
    attack_on_disk(108, counts, "nearly dependent")
    assert counts.tried
    assert not counts.false, str(counts)


@pytest.mark.parametrize("seed", [10000083, 310000052, 310000218])
def test_verify__of_targets_that_contradict_each_other_is_about_the_first_independent_rows(seed):
    """The result keeps other rows: 2e-16 are between both answers, more than `verify` proves of its own."""
    problem, counts = contradicting(seed), Counts()
    result = pt.project(problem.reference, problem.constraints, tolerance=1e-13)
    masses = oracles.masses_of(result.table)
    table, own = oracles.normalised(masses), met_by_first_rows(result)
    checked = pt.verify(result, exact=True)
    assert oracles.total_variation(own, table) <= checked.tv_bound
    assert oracles.kl(own, table) <= checked.bound
    assert own != problem.answer
    hold(counts, seed, problem, result, masses, exactly=True)
    assert counts.tried["verify, exact: tv_bound"] == 1
    assert not counts.false, str(counts)


@pytest.mark.parametrize("seed", [900599, 901642, 901962, 902765, 902885])
def test_bounds__prove_nothing_of_a_table_that_lost_a_profile_by_underflow(seed):
    """L-BFGS stopped at 1e-7 with masses of 0 where the exact ones are not: no divergence from it is finite."""
    _, reference, constraints, answer = posed(seed)
    solver = SOLVERS["LBFGS"]
    result = pt.project(reference, constraints, solver=solver, tolerance=1e-7, max_iterations=1000, on_failure="return")
    table = oracles.masses_of(result.table)
    assert any(not table.get(profile) for profile in answer)
    assert result.bound == math.inf


@pytest.mark.parametrize("seed", [88000028, 88000099, 88000128, 88000550, 88000588])
def test_verify__passes_converged_tables_of_lbfgs_with_profiles_without_mass(seed):
    """Lost by potentials beyond extended precision, or on a face that the targets imply to rounding only."""
    _, reference, constraints, _ = posed(seed)
    random = Random(seed + 1)
    random.choice(list(SOLVERS))
    tolerance = random.choice(TOLERANCES)
    result = pt.project(reference, constraints, solver=pt.LBFGS(), tolerance=tolerance, max_iterations=1000)
    assert (result.table.values == 0).any()
    checked = pt.verify(result)
    assert checked.passed, checked.failures
