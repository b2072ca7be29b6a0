"""Bounds of random problems against their exact answers: a few daily, many under the thorough profile."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.laws.fuzz_bounds import Counts, attack

THOROUGH = settings.get_current_profile_name() == "thorough"
BATCHES, EACH = (100, 1000) if THOROUGH else (4, 12)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_bounds__of_drawn_problems_are_never_below_the_truth(batch):
    counts = Counts()
    for seed in range(batch * EACH, (batch + 1) * EACH):
        attack(seed, counts)
    assert sum(counts.tried.values()) >= 2 * EACH
    assert not counts.false, str(counts)
