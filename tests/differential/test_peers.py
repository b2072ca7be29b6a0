"""The same answers by software that shares nothing with ours; each comparison skips where its peer is not installed."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy.optimize

import purtensor as pt

SEEDS = range(5)


def drawn(seed):
    """Counts over 3 x 4 x 2 categories, a reference, and two-way margins of the counts."""
    rng = np.random.default_rng(seed)
    labels = {"a": ["p", "q", "r"], "b": [1, 2, 3, 4], "c": ["u", "v"]}
    index = pd.MultiIndex.from_product(labels.values(), names=labels)
    counts, reference = (pd.Series(rng.integers(1, 40, 24), index, dtype=float).to_xarray() for _ in range(2))
    return counts, reference, pt.marginals_of(counts, "a b | b c | a c")


def projected(seed):
    counts, reference, constraints = drawn(seed)
    return counts, reference, constraints, pt.project(reference, constraints, tolerance=1e-13).table.values


@pytest.mark.parametrize("seed", SEEDS)
def test_ipfn__agrees_where_its_margins_are_in_the_order_of_the_axes(seed):
    ipfn = pytest.importorskip("ipfn.ipfn", reason="ipfn is not installed")
    counts, reference, _, expected = projected(seed)
    margins = [counts.sum("c").values, counts.sum("a").values, counts.sum("b").values]
    fit = ipfn.ipfn(
        reference.values.copy(), margins, [[0, 1], [1, 2], [0, 2]], convergence_rate=1e-14, max_iteration=2000
    )
    with np.errstate(all="ignore"):
        assert fit.iteration() == pytest.approx(expected, rel=1e-6)  # it stops when a sweep changes little


@pytest.mark.parametrize("seed", SEEDS)
def test_humanleague__agrees(seed):
    humanleague = pytest.importorskip("humanleague", reason="humanleague is not installed")
    counts, reference, _, expected = projected(seed)
    indices = [np.array([0, 1]), np.array([1, 2]), np.array([0, 2])]
    margins = [counts.sum("c").values, counts.sum("a").values, counts.sum("b").values]
    found, facts = humanleague.ipf(reference.values, indices, margins)
    assert facts["conv"]
    assert found == pytest.approx(expected, rel=1e-5)  # it stops at 1e-8 of the total


@pytest.mark.parametrize("seed", SEEDS)
def test_scipy__minimises_the_dual_to_the_same_table(seed):
    _, reference, constraints, expected = projected(seed)
    system = pt.coefficients(reference, constraints).reduce()
    matrix, targets = system.matrix.toarray(), system.targets
    start = reference.values.ravel() * expected.sum() / reference.values.sum()

    def minus_dual(t):
        masses = start * np.exp(matrix.T @ t)
        return masses.sum() - targets @ t, matrix @ masses - targets

    found = scipy.optimize.minimize(minus_dual, np.zeros(len(targets)), jac=True, method="BFGS", options={"gtol": 1e-7})
    assert start * np.exp(matrix.T @ found.x) == pytest.approx(expected.ravel(), rel=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_clarabel__minimises_the_divergence_over_the_exponential_cone(seed):
    clarabel = pytest.importorskip("clarabel", reason="Clarabel is not installed")
    from scipy import sparse

    _, reference, constraints, expected = projected(seed)
    system = pt.coefficients(reference, constraints).reduce()
    size, total = reference.size, expected.sum()
    q0 = reference.values.ravel() / reference.values.sum()
    # minimise sum z with (-z, p, q0) in the exponential cone: p log(p / q0) <= z
    cost = np.r_[np.zeros(size), np.ones(size)]
    blocks, right = [], []
    for i in range(size):
        rows = sparse.lil_array((3, 2 * size))
        rows[0, size + i], rows[1, i] = 1.0, -1.0
        blocks.append(rows)
        right += [0.0, 0.0, q0[i]]
    equalities = sparse.hstack([system.matrix, sparse.csr_array(system.matrix.shape)])
    matrix = sparse.vstack([equalities, *blocks]).tocsc()
    cones = [clarabel.ZeroConeT(len(system.targets)), *[clarabel.ExponentialConeT() for _ in range(size)]]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    zero = sparse.csc_array((2 * size, 2 * size))
    solver = clarabel.DefaultSolver(zero, cost, matrix, np.r_[system.targets / total, right], cones, settings)
    assert np.array(solver.solve().x)[:size] * total == pytest.approx(
        expected.ravel(), rel=1e-3, abs=1e-3
    )  # at its defaults


def test_statsmodels__fits_the_same_poisson_model():
    pytest.importorskip("statsmodels", reason="statsmodels is not installed")
    import statsmodels.formula.api as formulas

    counts, _, _, _ = projected(1)
    fit = pt.project(pt.uniform(counts), pt.marginals_of(counts, "a b | b c | a c"), tolerance=1e-13)
    frame = counts.to_series().rename("n").reset_index()
    model = formulas.poisson("n ~ (C(a) + C(b) + C(c)) ** 2", frame).fit(disp=0, method="newton", maxiter=100)
    assert model.predict(frame).to_numpy() == pytest.approx(fit.table.values.ravel(), rel=1e-6)


R = """
counts <- array(scan("stdin", quiet = TRUE), dim = c(3, 4, 2))
fit <- loglin(counts, list(c(1, 2), c(2, 3), c(1, 3)), fit = TRUE, print = FALSE, eps = 1e-12, iter = 500)$fit
frame <- as.data.frame(as.table(counts))
poisson <- glm(Freq ~ (Var1 + Var2 + Var3)^2, family = poisson, data = frame, epsilon = 1e-14)
cat(sprintf("%.17g", c(fit, fitted(poisson))))
"""


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r__loglin_and_glm_fit_the_same_table():
    counts, _, constraints, _ = projected(2)
    fit = pt.project(pt.uniform(counts), constraints, tolerance=1e-13).table.values.ravel(order="F")
    given = " ".join(map(str, counts.values.ravel(order="F")))
    done = subprocess.run(["Rscript", "-e", R], input=given, capture_output=True, text=True, timeout=60, check=True)
    numbers = np.array(done.stdout.split(), dtype=float)
    assert numbers[:24] == pytest.approx(fit, rel=1e-9)
    assert numbers[24:] == pytest.approx(fit, rel=1e-6)
