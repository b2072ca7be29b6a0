"""When IPF hands over to Newton: what its residuals predict."""

from __future__ import annotations

import math

import pytest

from purtensor.solving.solvers import automatic
from purtensor.solving.solvers.automatic import sweeps_to_go
from tests.solving.drawn import arrays_of

FALLING = [(n, 0.5**n) for n in range(1, 41)]
STAYING = [(n, max(0.5**n, 1e-6)) for n in range(1, 41)]


def test_sweeps_to_go__of_a_constant_rate():
    assert sweeps_to_go(FALLING, 0.5**50) == pytest.approx(10.0)
    assert sweeps_to_go(FALLING, 1.0) == 0.0


def test_sweeps_to_go__without_a_rate_has_no_end():
    assert sweeps_to_go(STAYING, 1e-10) == math.inf
    assert sweeps_to_go([], 1e-10) == math.inf


@pytest.mark.parametrize(("largest", "l1"), [(FALLING, FALLING), (STAYING, FALLING), (FALLING, STAYING)])
def test_reason_to_switch__looks_at_the_slower_residual(largest, l1):
    """A few rows that miss for ever are not seen in the sum of all misses."""
    problem = arrays_of("b")
    history = automatic._History(41, None, 40, largest, l1)
    reason = automatic._reason_to_switch(problem, history, automatic.Budget(1, 1e-10, 1e-10))
    assert (reason is None) == (largest is l1)
