"""Bounds on the factor of sweeps, and the counterexamples to those that look as good."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.solving.convergence.friedrichs import pair_spectrum
from purtensor.solving.convergence.grouped_sweep import GroupedSweep, leading_eigenvalue
from purtensor.solving.convergence.rates import gap_by_trace, gap_of_three
from purtensor.solving.problem import build_problem


def at_parity(rows):
    """The factor rho, s and mu at a table [y][s] = (x0, x1), scaled to parity."""
    counts = np.array(rows, dtype=float)
    joint = counts.sum(2)
    counts *= (np.outer(joint.sum(1), joint.sum(0)) / joint)[:, :, None]
    coords = {name: [f"{name}0", f"{name}1"] for name in "ysx"}
    table = xr.DataArray(counts / counts.sum(), dims=list("ysx"), coords=coords)
    problem = build_problem(table, pt.pur(table, response="y", protected="s")).arrays
    groups = [(0,), (1,), (2,)], [(0,), (1, 2)]
    sweeps = [GroupedSweep.at(problem, problem.reference, some) for some in groups]
    rho, mu = (abs(leading_eigenvalue(sweep).value) for sweep in sweeps)
    rank = len(sweeps[0].independent)
    return (
        rho,
        1 - pair_spectrum(problem, problem.reference, 1, 2).gap,
        mu,
        gap_by_trace(problem, problem.reference, rank),
    )


def test_counterexample__the_slab_alone_may_be_slower_than_the_sweep():
    rho, slab, *_ = at_parity([[(9, 3), (1, 11)], [(1, 11), (3, 9)]])
    assert (rho, slab) == pytest.approx((0.405704, 0.4225), abs=1e-6)


def test_counterexample__the_product_of_gaps_is_no_bound():
    rho, slab, mu, _ = at_parity([[(1, 11), (6, 6)], [(6, 6), (11, 1)]])
    assert (1 - rho, (1 - slab) * (1 - mu)) == pytest.approx((0.415989, 0.447426), abs=1e-6)
    assert gap_of_three(1 - mu, 1 - slab) <= 1 - rho


@pytest.mark.parametrize("seed", range(20))
def test_bounds__hold_on_both_sides(seed):
    rho, slab, mu, upper = at_parity(np.random.default_rng(seed).gamma(0.5, size=(2, 2, 2)) + 1e-3)
    assert gap_of_three(1 - mu, 1 - slab) <= (1 - rho) * (1 + 1e-9)
    assert 1 - rho <= upper * (1 + 1e-9)
    assert upper <= 1


def test_gap_of_three__is_the_formula():
    sigma = 0.3
    assert gap_of_three(0.5, 1 - sigma**2) == pytest.approx(0.5 * (1 - (sigma + sigma**2) / 2), rel=1e-12)


def norm_of_a_sweep(problem):
    """The norm of S on V in L2(q), from dense projections."""
    root = np.sqrt(problem.reference / problem.reference.sum())
    rows = np.concatenate(
        [problem.index[k][None, :] == np.arange(row)[:, None] for k, row in enumerate(sizes(problem))]
    )
    weighted = rows * root
    _, values, basis = np.linalg.svd(weighted, full_matrices=False)
    basis = basis[values > 1e-9 * values[0]]
    sweep = np.eye(len(root))
    begin = 0
    for size in sizes(problem):
        own = weighted[begin : begin + size]
        own = own / np.linalg.norm(own, axis=1)[:, None]
        sweep = (np.eye(len(root)) - own.T @ own) @ sweep
        begin += size
    return float(np.linalg.norm(basis @ sweep @ basis.T, 2))


def sizes(problem):
    return np.diff(problem.offsets)


@pytest.mark.parametrize("seed", range(20))
def test_bounds__of_the_norm_of_a_sweep(seed):
    """Equation 7 of notes/rate_bounds.md."""
    rng = np.random.default_rng(seed)
    shape = (*rng.integers(2, 4, 2), rng.integers(2, 5))
    masses = rng.gamma(0.5, size=shape) + 1e-3
    if seed % 2:
        masses[rng.random(shape) < 0.15] = 0.0
    coords = {name: range(size) for name, size in zip("ysx", shape, strict=True)}
    table = xr.DataArray(masses, dims=list("ysx"), coords=coords)
    problem = build_problem(table, pt.marginals_of(table, [("y", "s"), ("y", "x"), ("s", "x")])).arrays
    sweep, grouped = (
        GroupedSweep.at(problem, problem.reference, some) for some in ([(0,), (1,), (2,)], [(0,), (1, 2)])
    )
    rho, mu = (abs(leading_eigenvalue(one).value) for one in (sweep, grouped))
    gap = pair_spectrum(problem, problem.reference, 1, 2).gap
    norm = norm_of_a_sweep(problem)
    assert mu * (1 - 1e-9) - 1e-12 <= norm**2 <= (1 - gap * (1 - mu)) * (1 + 1e-9)
    assert rho <= norm * (1 + 1e-9)
