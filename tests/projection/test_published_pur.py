"""PUR on the Berkeley admissions of 1973: admission, gender, department."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from tests.published.test_reference_fits import DATA
from tests.solving.drawn import SOLVERS

ROLES = {"response": "Admit", "protected": "Gender"}

COSTS = {"P": 0.010516659, "PU": 0.013992621, "PUR": 0.018939559}
"""KL(q || f) in nats at lambda = 1e-4, by plain sweeps in numpy to 1e-14."""


@pytest.fixture(scope="module")
def regularized():
    frame = pd.read_csv(DATA / "UCBAdmissions.csv")
    counts = pt.tabulate(frame.drop(columns="count"), weights=frame["count"].to_numpy())
    return pt.regularize(counts, 1e-4, response="Admit")


@pytest.mark.parametrize("solver", [*SOLVERS.values(), None], ids=[*SOLVERS, "chosen"])
@pytest.mark.parametrize("conditions", COSTS)
def test_project__pays_what_is_known(regularized, conditions, solver):
    result = pt.project(regularized, pt.pur(regularized, **ROLES, conditions=conditions), solver=solver)
    assert result.divergence == pytest.approx(COSTS[conditions], abs=6e-10)
    assert pt.kl_divergence(result.table, regularized) == pytest.approx(COSTS[conditions], abs=6e-10)


def test_project__plain_sweeps_in_numpy_pay_the_same(regularized):
    f = pt.to_dense(regularized).transpose("Admit", "Gender", "Dept").values
    y, s = f.sum((1, 2)), f.sum((0, 2))
    targets = (np.multiply.outer(y, s)[:, :, None], f.sum(1, keepdims=True), f.sum(0, keepdims=True))
    axes = (2, 1, 0)
    for count, cost in enumerate(COSTS.values(), 1):
        q = f.copy()
        for _ in range(400):
            for target, axis in zip(targets[:count], axes[:count], strict=True):
                q = q * target / q.sum(axis, keepdims=True)
        assert float(np.sum(q * np.log(q / f))) == pytest.approx(cost, abs=6e-10)


def test_project__parity_utility_and_realism_hold(regularized):
    q = pt.project(regularized, pt.pur(regularized, **ROLES), tolerance=1e-13).table
    f = regularized
    for scope in (("Admit", "Dept"), ("Gender", "Dept")):
        assert pt.total_variation(pt.marginal(q, scope), pt.marginal(f, scope)) <= 1e-12
    ratios = pt.disparity_ratio(q, **ROLES, reference={"Gender": "Male"})
    assert ratios.values == pytest.approx(1.0, abs=1e-11)
    before = pt.disparity_ratio(f, **ROLES, reference={"Gender": "Male"})
    assert np.abs(before.values - 1.0).max() > 0.3
