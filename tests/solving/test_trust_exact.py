"""Newton's answer against an independent optimiser: scipy's trust-exact on the dual, with dense matrices."""

from __future__ import annotations

import os

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import minimize

import purtensor as pt

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
SLOW = pytest.mark.skipif(not THOROUGH, reason="half a minute; set HYPOTHESIS_PROFILE=thorough")


def by_trust_exact(reference: xr.DataArray, constraints: tuple[pt.Marginal, ...]) -> np.ndarray:
    """Return the projection's masses on the support, total 1."""
    coefficients = pt.coefficients(reference, constraints)
    rows = coefficients.independent_rows
    matrix = coefficients.matrix[rows].toarray()
    targets = coefficients.targets[rows]
    q0 = np.asarray(reference.values).reshape(-1)
    q0 = q0[q0 > 0] / q0.sum()

    def masses(t: np.ndarray) -> np.ndarray:
        return q0 * np.exp(np.clip(matrix.T @ t, -700, 700))

    def value(t: np.ndarray) -> float:
        return float(masses(t).sum() - targets @ t)

    t = np.zeros(len(rows))
    found = minimize(
        value,
        t,
        method="trust-exact",
        jac=lambda t: matrix @ masses(t) - targets,
        hess=lambda t: (matrix * masses(t)) @ matrix.T,
        options={"gtol": 1e-15, "maxiter": 200},
    )
    t = found.x
    for _ in range(2):  # it compares values, which cannot tell the last 1e-8 of t: plain dense steps do
        t = t + np.linalg.solve((matrix * masses(t)) @ matrix.T, targets - matrix @ masses(t))
    return masses(t)


@pytest.mark.parametrize("name", ["a", pytest.param("b_hard2", marks=SLOW), pytest.param("b", marks=SLOW)])
def test_newton__agrees_with_trust_exact(name: str) -> None:
    problem = pt.problems.load(name)
    found = pt.project(problem.reference, problem.constraints, solver=pt.Newton(), tolerance=1e-14)
    values = np.asarray(found.table.values).reshape(-1)
    values = values[np.asarray(problem.reference.values).reshape(-1) > 0]
    other = by_trust_exact(problem.reference, problem.constraints)
    distance = 0.5 * float(np.abs(values / values.sum() - other / other.sum()).sum())
    assert distance < 1e-12
    assert found.tv_bound < 1e-9
