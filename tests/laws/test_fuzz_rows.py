"""Bounds on problems with rows of every kind, bounds and signed references against their exact answers."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import settings

from tests.laws.fuzz_bounds import Counts
from tests.laws.fuzz_rows import DIGITS, KINDS, attack, drawn

THOROUGH = settings.get_current_profile_name() == "thorough"


@pytest.mark.parametrize("batch", range(100 if THOROUGH else 4))
def test_bounds__of_rows_of_every_kind_are_never_below_the_truth(batch):
    counts = Counts()
    for seed in range(20 * batch, 20 * (batch + 1)):
        attack(seed, counts)
    assert counts.tried["verify: tv_bound"] == 20
    assert not counts.false, str(counts)


@pytest.mark.parametrize("batch", range(20 if THOROUGH else 2))
@pytest.mark.parametrize("kind", ["fixes_total", "weighs"])
def test_bounds__of_fixed_totals_and_of_weights_are_never_below_the_truth(kind, batch):
    counts = Counts()
    for seed in range(20 * batch, 20 * (batch + 1)):
        attack(seed, counts, **{kind: True})
    assert sum(counts.tried.values()) >= 40
    assert not counts.false, str(counts)


def test_bounds__of_divergence_take_in_what_is_left_of_misses():
    """Amounts of 1,000, 1,000 and 1,001 beside counts: a miss of an ulp moves cells by a thousand of it."""
    counts = Counts()
    attack(5010000147, counts, weighs=True)
    assert counts.tried["calibrate: bound"] == 1
    assert not counts.false, str(counts)


def test_bounds__of_amounts_with_a_divergence_beside_a_count_that_holds():
    """The row was centred, and its target with it, to one that no masses have: it was met as if it were hard."""
    counts = Counts()
    attack(30000039, counts)
    assert not counts.false, str(counts)


@pytest.mark.parametrize("seed", [10000138, 10000869, 20004190, 6110000482])
def test_bounds__of_prices_that_rounding_passes_and_of_amounts_beside_counts(seed):
    """A potential an ulp beyond its price had a gap below 0; a miss of some ulps of an amount moves cells by more."""
    counts = Counts()
    attack(seed, counts)
    assert not counts.false, str(counts)


@pytest.mark.parametrize("seed", [40000016, 40000180, 41000707, 41000708, 41000944, 41000007])
def test_verify__confirms_results_whose_potentials_belong_to_another_end_or_are_next_to_a_price(seed):
    """Ended early: a soft interval without potential is missed, or the sum is nearer to the other end."""
    counts = Counts()
    attack(seed, counts)
    assert counts.converged == 1
    assert not counts.refused
    assert not counts.false, str(counts)


def test_drawn__answers_are_optimal():
    """The masses answer potentials whose every row holds what it asks: no other masses cost less."""
    seen = set()
    for seed in range(60):
        problem = drawn(seed)
        seen.update(row.kind for row in problem.rows)
        with localcontext(prec=DIGITS):
            sizes = problem.answer()
            assert all(low <= x <= high for low, x, high in zip(problem.low, sizes, problem.high, strict=True))
            # the draw's own potentials are the answer's up to the rounding of the targets
            near, _ = problem.sizes([row.potential for row in problem.rows])
            apart = sum(abs(a - b) for a, b in zip(sizes, near, strict=True))
            assert apart <= Decimal("1e-9") * sum(sizes)
    assert seen == set(KINDS)


def test_bounds__of_a_run_that_ends_without_mass_claim_nothing():
    counts = Counts()
    attack(9510004174, counts)
    assert counts.tried
    assert not counts.false, str(counts)
