"""Bounds on the factor of sweeps, and the counterexamples to those that look as good."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.solving.convergence.friedrichs import pair_spectrum
from purtensor.solving.convergence.grouped_sweep import GroupedSweep, leading_eigenvalue
from purtensor.solving.convergence.linear_sweep import Dependencies, LinearSweep
from purtensor.solving.convergence.observed import course_of
from purtensor.solving.convergence.rates import (
    best_relaxation_of,
    distinct_rates,
    gap_by_trace,
    gap_of_three,
    growth,
    orders_up_to_rotation,
    spectrum_of,
    sweeps_per_decade,
)
from purtensor.solving.iterate import Budget, iterate_at
from purtensor.solving.problem import build_problem
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping
from tests.constraints.exact import dense_matrix
from tests.solving.drawn import PROBLEMS, arrays_of, labelled_problem


@cache
def solved(name):
    """A problem, and the iterate at its projection to rounding."""
    problem = build_problem(*labelled_problem(name)).arrays if name in PROBLEMS else arrays_of(name)
    ended = run(problem, pt.Newton(), Stopping(0.0, "residual", 100, math.inf))
    return problem, ended.iterate


def product_of_means(problem, masses, order):
    """The sweep as a dense matrix on profiles: (I - E_K) ... (I - E_1)."""
    matrix = dense_matrix(problem.system)
    product = np.eye(len(masses))
    for k in order:
        rows = matrix[problem.system.block(k)]
        product = product - rows.T @ ((rows * masses) / (rows @ masses)[:, None]) @ product
    return product


@pytest.mark.parametrize("name", ["PUR without regularisation", "binary, all pairs", "cube", "records"])
def test_spectrum_of__has_the_leading_eigenvalues_of_the_dense_sweep(name):
    problem, limit = solved(name)
    order = range(len(problem.index))
    product = product_of_means(problem, limit.masses, order)
    basis = np.linalg.svd(dense_matrix(problem.system).T, full_matrices=False)
    span = basis.U[:, 1e-9 * basis.S[0] < basis.S]
    expected = np.linalg.eigvals(span.T @ product @ span)  # the span is invariant
    expected = expected[np.argsort(-np.abs(expected))]
    found = spectrum_of(LinearSweep.at(problem, limit.masses))
    assert np.abs(found.eigenvalues[:2]) == pytest.approx(np.abs(expected[:2]), rel=1e-3)
    assert 0.01 < abs(found.eigenvalues[0]) < 1.0


@pytest.mark.parametrize("name", ["PUR without regularisation", "binary, all pairs"])
def test_spectrum_of__slowest_error_is_shrunk_by_the_eigenvalue(name):
    problem, limit = solved(name)
    sweep = LinearSweep.at(problem, limit.masses)
    found = spectrum_of(sweep)
    slowest, value = found.slowest, found.eigenvalues[0]
    swept = sweep.sweep(slowest.real) + 1j * sweep.sweep(slowest.imag)
    assert swept == pytest.approx(value * slowest, rel=1e-2, abs=1e-3 * np.abs(slowest).max())


def test_spectrum_of__two_constraints_have_squared_canonical_correlations():
    rng = np.random.default_rng(5)
    masses = rng.gamma(0.5, 1.0, (4, 6)) + 0.01
    counts = pt.tabulate(
        {"a": np.repeat(np.arange(4), 6), "b": np.tile(np.arange(6), 4)}, weights=masses.reshape(-1).tolist()
    )
    problem = build_problem(counts, pt.marginals_of(counts, ["a", "b"])).arrays
    scaled = masses / np.sqrt(np.outer(masses.sum(axis=1), masses.sum(axis=0)))
    correlations = np.linalg.svd(scaled, compute_uv=False)  # the first is 1, of the total
    found = spectrum_of(LinearSweep.at(problem, problem.reference))
    assert found.eigenvalues[:3].real == pytest.approx(correlations[1:4] ** 2, rel=1e-9)


def test_spectrum_of__is_zero_where_there_is_a_closed_form():
    counts = pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [0, 1, 1, 0]})
    problem = build_problem(pt.uniform(pt.to_dense(counts)), pt.marginals_of(pt.to_dense(counts), "a | b")).arrays
    assert spectrum_of(LinearSweep.at(problem, problem.reference)).eigenvalues.tolist() == [0.0]


def test_linear_sweep__is_the_derivative_of_the_real_sweep():
    problem, limit = solved("PUR without regularisation")
    sweep = LinearSweep.at(problem, limit.masses)
    error = np.random.default_rng(6).standard_normal(sweep.size)
    potentials = np.zeros(problem.system.rows)
    potentials[sweep.dependencies.independent] = error
    step = 1e-6
    moved = pt.IPF().step(problem, iterate_at(problem, limit.potentials + step * potentials), Budget(1, -1.0, -1.0))
    real = sweep.exponents(moved.iterate.potentials - limit.potentials) / step
    assert sweep.exponents(sweep.sweep(potentials)) == pytest.approx(real, rel=1e-4, abs=1e-4)


def test_dependencies__emptying_rows_changes_no_exponent():
    problem, limit = solved("binary, all pairs")
    sweep = LinearSweep.at(problem, limit.masses)
    known = Dependencies.of(problem)
    assert 0 < known.independent.sum() < problem.system.rows
    x = np.random.default_rng(7).standard_normal(problem.system.rows)
    kept = LinearSweep.at(problem, limit.masses, order=(0,), dependencies=known)
    once = kept.sweep(x)
    assert once[~known.independent].tolist() == [0.0] * int((~known.independent).sum())
    first = dense_matrix(problem.system)[problem.system.block(0)]
    z = sweep.exponents(x)
    mean = first.T @ ((first @ (limit.masses * z)) / (first @ limit.masses))
    assert sweep.exponents(once) == pytest.approx(z - mean, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", ["a", "b_lam0", "b", "binary, all pairs", "cube"])
def test_sweeps_per_decade__are_those_of_the_real_sweeps(name):
    problem, limit = solved(name)
    course = course_of(problem, pt.IPF(), limit.potentials)
    observed = course.per_decade(course.errors, 1e-12)
    rates = distinct_rates(spectrum_of(LinearSweep.at(problem, limit.masses)).eigenvalues)
    assert observed == pytest.approx(rates[0], rel=0.1)


def test_growth__is_the_spectral_radius():
    problem, limit = solved("b_lam0")
    sweep = LinearSweep.at(problem, limit.masses)
    assert growth(sweep) == pytest.approx(abs(spectrum_of(sweep).eigenvalues[0]), rel=2e-3)


def test_best_relaxation_of__two_constraints_follow_young():
    rng = np.random.default_rng(8)
    masses = np.diag(rng.uniform(0.5, 1.0, 12)) + 0.02
    codes = np.indices(masses.shape).reshape(2, -1)
    counts = pt.tabulate({"a": codes[0], "b": codes[1]}, weights=masses.reshape(-1).tolist())
    problem = build_problem(counts, pt.marginals_of(counts, ["a", "b"])).arrays
    sweep = LinearSweep.at(problem, problem.reference)
    leading = spectrum_of(sweep).eigenvalues[0]
    young = 2.0 / (1.0 + math.sqrt(1.0 - abs(leading)))
    relaxation, factor = best_relaxation_of(sweep, leading)
    assert relaxation == pytest.approx(young, abs=0.05)
    assert factor == pytest.approx(young - 1.0, abs=0.05)


def test_best_relaxation_of__makes_real_sweeps_few():
    problem, limit = solved("b")
    sweep = LinearSweep.at(problem, limit.masses)
    relaxation, factor = best_relaxation_of(sweep, spectrum_of(sweep).eigenvalues[0])
    assert sweeps_per_decade(factor) < 100
    stopping = Stopping(1e-10, "residual", 10_000, math.inf)
    assert run(problem, pt.IPF(relaxation=relaxation), stopping).iterations < 600 < 7066


def test_orders_up_to_rotation__no_two_are_rotations_or_reversals():
    orders = orders_up_to_rotation(5, 60)
    assert len(orders) == 12
    classes = set()
    for order in orders:
        turned = [order[n:] + order[:n] for n in range(5)]
        classes.add(frozenset([*turned, *(one[::-1] for one in turned)]))
    assert len(classes) == 12
    assert set(itertools.permutations(range(5))) == set().union(*classes)


def test_orders_up_to_rotation__draws_where_there_are_too_many():
    orders = orders_up_to_rotation(9, 7)
    assert len(set(orders)) == 7
    assert orders[0] == tuple(range(9))
    assert all(sorted(order) == list(range(9)) for order in orders)


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0), (1, 0, 2)])
def test_spectrum_of__three_constraints_end_equally_fast_in_every_order(order):
    problem, limit = solved("PUR without regularisation")
    plain = spectrum_of(LinearSweep.at(problem, limit.masses)).eigenvalues[0]
    turned = spectrum_of(LinearSweep.at(problem, limit.masses, order=order)).eigenvalues[0]
    assert abs(turned) == pytest.approx(abs(plain), rel=1e-4)


def test_sweeps_per_decade__of_known_factors():
    assert sweeps_per_decade(0.1) == pytest.approx(1.0)
    assert sweeps_per_decade(0.01j) == pytest.approx(0.5)
    assert sweeps_per_decade(1.0) == math.inf
    assert sweeps_per_decade(0.0) == 0.0


def test_distinct_rates__counts_conjugates_once():
    assert distinct_rates([0.06 + 0.08j, 0.06 - 0.08j, 0.01]) == pytest.approx([1.0, 0.5])


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
