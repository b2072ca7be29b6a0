"""Bounds of random problems against their exact answers: a few daily, many under the thorough profile."""

from __future__ import annotations

import math
from random import Random
from types import SimpleNamespace

import dask
import pytest
from hypothesis import settings

import purtensor as pt
from tests import oracles
from tests.laws.fuzz_bounds import TOLERANCES, Counts, attack, attack_on_disk, hold
from tests.laws.fuzz_problems import FAMILIES, contradicting, met_by_named_rows, posed
from tests.solving.drawn import SOLVERS

THOROUGH = settings.get_current_profile_name() == "thorough"
CLAIMED = (
    *("table", "reference", "reference_in", "constraints", "potentials", "termination", "converged", "certified"),
    *("residual", "residual_l1", "divergence", "bound", "tv_bound"),
)
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
@pytest.mark.parametrize("family", FAMILIES)
def test_bounds__of_drawn_problems_on_disk_are_never_below_the_truth(family):
    pytest.importorskip("zarr")
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


def test_bounds__are_about_the_masses_of_the_table_where_rounding_keeps_another_total():
    """Potentials of 450 nats: shifted by a constant they make other masses: by 3e-13, and the bound by 7e-4."""
    counts = Counts()
    attack(720028455, counts, checked=False)
    assert counts.tried
    assert not counts.false, str(counts)


@pytest.mark.parametrize("seed", [720023701, 720028781])
def test_verify__meets_rows_that_depend_on_each_other_only_where_the_table_has_mass(seed):
    """What targets leave a profile that underflowed, 1e-14, is no contradiction between those of the others."""
    counts = Counts()
    attack(seed, counts, "nearly dependent")
    assert counts.tried["verify: tv_bound"] == 1
    assert not counts.false, str(counts)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "family"), [(310002000, "nearly dependent"), (310016900, "PUR")])
def test_bounds__on_disk_take_in_the_rounding_of_the_scale(seed, family):
    """The masses are scaled to the total before they are proved, and written as they were."""
    pytest.importorskip("zarr")
    counts = Counts()
    attack_on_disk(seed, counts, family)
    assert counts.tried
    assert not counts.false, str(counts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "family"), [(720002600, "contradicting"), (720020000, "contradicting"), (710029600, "contradicting")]
)
def test_log_ratio_bound__on_disk_is_about_the_rows_that_the_result_names(seed, family):
    """The problem in memory meets others: 2e-13 are between both answers. The last is on a face, and names its rows."""
    pytest.importorskip("zarr")
    counts = Counts()
    attack_on_disk(seed, counts, family)
    assert counts.unproved["verify: log_ratio_bound"] == 0
    assert not counts.false, str(counts)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "family"), [(720020800, "PUR"), (830002000, "nearly dependent")])
def test_verify__confirms_results_on_disk_with_another_total_and_with_denormal_masses(seed, family):
    """The total is off by 4e-14, half whose square is more than the divergence; a mass of 1e-313 lacks digits."""
    pytest.importorskip("zarr")
    counts = Counts()
    attack_on_disk(seed, counts, family)
    assert counts.converged == 1
    assert not counts.refused


def test_bounds__on_disk_where_a_part_has_no_row_to_sweep_in_logarithms():
    pytest.importorskip("zarr")
    counts = Counts()
    attack_on_disk(108, counts, "nearly dependent")
    assert counts.tried
    assert not counts.false, str(counts)


@pytest.mark.parametrize("seed", [10000083, 310000052, 310000218])
def test_verify__of_targets_that_contradict_each_other_is_about_the_rows_that_the_result_names(seed):
    """The first independent rows are others: 2e-16 are between both answers, more than is proved of either."""
    problem, counts = contradicting(seed), Counts()
    result = pt.project(problem.reference, problem.constraints, tolerance=1e-13)
    assert met_by_named_rows(problem, result.independent_rows) == problem.answer
    hold(counts, seed, problem, result, oracles.masses_of(result.table), exactly=True)
    assert counts.tried["verify, exact: tv_bound"] == 1
    assert not counts.false, str(counts)


@pytest.mark.parametrize(
    ("seed", "solver", "tolerance"),
    [
        (55, "Newton at once", 1e-13),
        (61, "over-relaxed", 1e-13),
        (85, "IPF", 1e-4),
        (110, "Anderson", 1e-10),
        (190, "Newton at once", 0.1),
        (247, "LBFGS", 1e-2),
        (310, "both", 1e-10),
    ],
)
def test_verify__confirms_results_on_targets_that_contradict_each_other(seed, solver, tolerance):
    """Where rows are not named it keeps others, and proves less than the result claims of its own."""
    problem = contradicting(seed)
    result = pt.project(problem.reference, problem.constraints, solver=SOLVERS[solver], tolerance=tolerance)
    assert pt.verify(result).failures == ()
    fields = {name: getattr(result, name) for name in CLAIMED}
    assert not pt.verify(SimpleNamespace(**fields)).passed
    assert pt.verify(SimpleNamespace(**fields, independent_rows=result.independent_rows)).passed


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "family"), [(99, "contradicting"), (2, "one ulp"), (70, "mixed"), (85, "mixed")])
def test_verify__confirms_results_on_disk_whose_total_is_off_or_whose_targets_contradict(seed, family, tmp_path):
    """Newton's masses have another total before they have converged; and the masses decide which rows are met."""
    pytest.importorskip("zarr")
    problem, size = FAMILIES[family](seed), {2: 4, 70: 8, 85: 4, 99: 8}[seed]
    with dask.config.set({"scheduler": "synchronous", "purtensor.part-profiles": size}):
        reference = pt.store_table(problem.reference, tmp_path / "t.zarr")
        result = pt.project(reference, problem.constraints, solver=pt.Newton(warm_up=0), tolerance=0.1)
        assert result.independent_rows is not None
        assert pt.verify(result).failures == ()


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
