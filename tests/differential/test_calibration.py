"""Calibrations of every kind by an interior-point method for cones, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt

rng = np.random.default_rng(5)
COUNT = 400
PEOPLE = {"g": rng.integers(0, 4, COUNT), "a": rng.integers(0, 3, COUNT), "x": rng.gamma(2.0, 1.0, COUNT).round(3)}
DESIGN = rng.uniform(0.5, 2.0, COUNT).round(3)
ROWS = np.vstack([*(PEOPLE["g"] == k for k in range(4)), *(PEOPLE["a"] == k for k in range(3)), PEOPLE["x"]])
TARGETS = ROWS @ (DESIGN * np.exp(0.2 * (PEOPLE["x"] - 2) + 0.15 * (PEOPLE["g"] == 1) - 0.2 * (PEOPLE["a"] == 2)))
LESS = 0.9 * float(TARGETS[7])
BY_GROUP = [
    pt.total(1, by="g", target=dict(enumerate(TARGETS[:4]))),
    pt.total(1, by="a", target=dict(enumerate(TARGETS[4:7]))),
]
HARD = pt.total("x", target=float(TARGETS[7]))


def asked(kind, cp, w):
    """What is minimised, and the conditions beside those on groups, in cvxpy's words; our control and options."""
    total = float(TARGETS[:4].sum())
    d = DESIGN * (total / DESIGN.sum())
    kl, x = cp.sum(cp.kl_div(w, d)), PEOPLE["x"] @ w
    met = [x == TARGETS[7]]
    soft = pt.total("x", target=LESS)
    return {
        "hard": lambda: (kl, met, HARD, {}),
        "bounds": lambda: (kl, [*met, w >= 0.5 * DESIGN, w <= 1.6 * DESIGN], HARD, {"bounds": (0.5, 1.6)}),
        "interval": lambda: (kl, [x >= LESS, x <= 1.05 * LESS], pt.total("x", lower=LESS, upper=1.05 * LESS), {}),
        "sd": lambda: (kl + cp.square(x - LESS) / 50, [], pt.soft(soft, sd=5.0), {}),
        "l1": lambda: (kl + 0.05 * cp.abs(x - LESS), [], pt.soft(soft, penalty="l1", strength=0.05), {}),
        "linear": lambda: (
            cp.sum(cp.multiply(1 / (2 * d), cp.square(w - d))),
            [*met, w >= 0.5 * DESIGN, w <= 1.8 * DESIGN],
            HARD,
            {"bounds": (0.5, 1.8), "distance": "linear"},
        ),
    }[kind]()


@pytest.mark.parametrize("kind", ["hard", "bounds", "interval", "sd", "l1", "linear"])
def test_clarabel__agrees_on_rows_of_every_kind(kind):
    cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    pytest.importorskip("clarabel", reason="Clarabel is not installed")
    w = cp.Variable(COUNT)
    objective, conditions, control, options = asked(kind, cp, w)
    problem = cp.Problem(cp.Minimize(objective), [ROWS[:7] @ w == TARGETS[:7], *conditions])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    c = pt.calibrate(PEOPLE, [*BY_GROUP, control], weights=DESIGN, **options)
    assert c.result.certified
    assert np.abs(w.value - c.array).sum() / c.array.sum() < 1e-9
