"""Bounds that are never violated: far from convergence, next to it, with wrong masses, and where nothing is proved."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.certificate import DualCertifier, best_change
from purtensor.solving.iterate import Iterate, iterate_at, starting_potentials
from purtensor.solving.spaces.arrays import ArraySpace
from tests.oracles import DIGITS
from tests.solving.drawn import (
    SOLVERS,
    answer,
    arrays_of,
    coefficients,
    random_arrays,
    single_sweeps,
    solved,
    variation,
)


def divergence(q, p):
    """D(q || p) of masses divided by their totals, without cancellation."""
    p, q = p / p.sum(), q / q.sum()
    w = (q - p) / p
    near = np.abs(w) < 1e-4
    small = w * w / 2 - w**3 / 6 + w**4 / 12
    return float(p @ np.where(near, small, (1 + w) * np.log1p(np.where(near, 0.0, w)) - w))


def exact_shares(problem, sweeps=4000):
    """The projection in 60 digits by plain sweeps; None where these are too slow. Targets must agree exactly."""
    with localcontext() as context:
        context.prec = DIGITS
        masses = [Decimal(mass) for mass in problem.reference]
        targets = [Decimal(target) for target in problem.targets]
        total = sum(targets[problem.system.block(0)], Decimal(0))
        rows = [[int(r + problem.offsets[k]) for r in problem.index[k]] for k in range(len(problem.index))]
        for _ in range(sweeps):
            worst = Decimal(0)
            for of_profile in rows:
                sums = dict.fromkeys(of_profile, Decimal(0))
                for mass, row in zip(masses, of_profile, strict=True):
                    sums[row] += mass
                worst = max(worst, *(abs(sums[row] - targets[row]) for row in sums))
                masses = [mass * targets[row] / sums[row] for mass, row in zip(masses, of_profile, strict=True)]
            if worst < Decimal(10) ** -45:
                return [mass / total for mass in masses]
    return None


def exact_distances(shares, masses):
    """D(q || p) in nats and TV(q, p), q in digits and p in float64."""
    with localcontext() as context:
        context.prec = DIGITS
        mass = sum(map(Decimal, masses), Decimal(0))
        p = [Decimal(one) / mass for one in masses]
        kl = sum((q * logarithm(q / own) for q, own in zip(shares, p, strict=True)), Decimal(0))
        return kl, sum((abs(q - own) for q, own in zip(shares, p, strict=True)), Decimal(0)) / 2


def logarithm(ratio):
    excess = ratio - 1
    if abs(excess) > Decimal("1e-6"):
        return ratio.ln()
    return sum(((-1) ** (k + 1) * excess**k / k for k in range(1, 9)), Decimal(0))


@pytest.mark.parametrize("seed", range(60))
def test_certify__holds_to_the_last_digit(seed):
    problem = random_arrays(seed)
    shares = exact_shares(problem)
    if shares is None:
        pytest.skip("too slow for sweeps in many digits")
    certifier = DualCertifier(problem)
    iterates = list(single_sweeps(problem, pt.IPF(), 12))
    points = [iterates[n] for n in (0, 1, 4, 11)]
    points.append(solved(problem, pt.Newton(), tolerance=1e-13).iterate)
    points.append(solved(problem, pt.IPF(), tolerance=1e-9).iterate)
    for iterate in points:
        proved = certifier.certify(iterate)
        kl, tv = exact_distances(shares, iterate.masses)
        assert kl <= Decimal(proved.bound)
        assert tv <= Decimal(proved.tv_bound)
    last = certifier.certify(points[-2])
    assert last.certified
    assert last.tv_bound <= 1e-12


@pytest.mark.parametrize(
    "seed", [*range(100), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(100, 300))]
)
def test_certify__is_never_violated_on_random_problems(seed):
    problem = random_arrays(seed, spread=seed % 5)
    exact = answer(problem)
    rng = np.random.default_rng(seed)
    certifier = DualCertifier(problem)
    solver = list(SOLVERS.values())[seed % len(SOLVERS)]
    far = starting_potentials(problem) + 2.0 ** rng.integers(-6, 3) * rng.standard_normal(problem.system.rows)
    close = solved(problem, solver, tolerance=10.0 ** rng.integers(-9, -1)).iterate
    points = [iterate_at(problem, far), close, next(single_sweeps(problem, solver, 1))]
    shifted = close.potentials.copy()
    shifted[problem.system.block(0)] += rng.standard_normal()  # the wrong total mass is a potential's fault
    points.append(iterate_at(problem, shifted))
    for iterate in points:
        proved = certifier.certify(iterate)
        assert divergence(exact, iterate.masses) <= proved.bound * (1 + 1e-9) + 1e-15
        assert variation(exact, iterate.masses) <= proved.tv_bound * (1 + 1e-9) + 1e-13
        assert proved.certified == (proved.bound < np.inf)
        assert proved.certified or proved.tv_bound == 1.0


def test_certify__proves_something_about_most_points():
    proved = 0
    for seed in range(40):
        problem = random_arrays(seed)
        iterate = list(single_sweeps(problem, pt.IPF(), 2))[-1]
        proved += DualCertifier(problem).certify(iterate).certified
    assert proved >= 24


def test_certify__does_not_see_the_total_mass():
    problem = arrays_of("a")
    potentials = solved(problem, pt.IPF(), tolerance=1e-6).iterate.potentials
    certifier = DualCertifier(problem)
    first = certifier.certify(iterate_at(problem, potentials))
    potentials = potentials.copy()
    potentials[problem.system.block(1)] += np.log(3.0)
    second = certifier.certify(iterate_at(problem, potentials))
    assert second.bound == pytest.approx(first.bound, rel=1e-6)
    assert second.tv_bound == pytest.approx(first.tv_bound, rel=1e-6)


@pytest.mark.parametrize("residual", [1e-4, 1e-7, 1e-9, 1e-10])
def test_certify__is_sharp_next_to_convergence(residual):
    problem = arrays_of("b")
    exact = solved(problem, pt.Newton(), tolerance=1e-15, iterations=20).iterate.masses
    iterate = solved(problem, pt.IPF(), tolerance=residual).iterate
    proved = DualCertifier(problem).certify(iterate)
    kl, tv = divergence(exact, iterate.masses), variation(exact, iterate.masses)
    assert kl <= proved.bound <= 30 * kl
    assert tv <= proved.tv_bound <= 30 * tv


def test_certify__where_the_miss_of_the_marginals_says_far_too_little():
    """The naive formulas take half the L1 miss for the distance, and half its square for the divergence."""
    problem = arrays_of("b")
    exact = solved(problem, pt.Newton(), tolerance=1e-15, iterations=20).iterate.masses
    outcome = solved(problem, pt.IPF(), tolerance=1e-6)
    proved = DualCertifier(problem).certify(outcome.iterate)
    tv, kl = variation(exact, outcome.iterate.masses), divergence(exact, outcome.iterate.masses)
    assert proved.tv_bound >= tv > 3 * outcome.residual.l1 / 2
    assert proved.bound >= kl > 1000 * outcome.residual.l1**2 / 2


def test_certify__takes_masses_that_would_fall_below_zero_for_empty():
    """The nearest change makes some masses negative; they are emptied, and others take what that misses."""
    problem = arrays_of("b_hard2")
    exact = solved(problem, pt.Newton(), tolerance=1e-14, iterations=60).iterate.masses
    iterate = solved(problem, pt.IPF(), tolerance=1e-3).iterate
    proved = DualCertifier(problem).certify(iterate)
    assert variation(exact, iterate.masses) <= proved.tv_bound < 0.02
    assert divergence(exact, iterate.masses) <= proved.bound < 1e-3


def test_best_change__meets_the_targets():
    problem = arrays_of("a")
    iterate = solved(problem, pt.IPF(), tolerance=1e-4).iterate
    found = best_change(ArraySpace(problem), iterate)
    feasible = iterate.masses + found.moves
    assert coefficients(problem) @ feasible == pytest.approx(problem.targets, abs=1e-15)
    assert found.moves == pytest.approx(iterate.masses * (coefficients(problem).T @ found.potentials), rel=1e-12)
    assert feasible.min() >= 0.0
    assert found.left <= 1e-14
    assert found.uneven <= 1e-12


@pytest.mark.parametrize("masses", [np.nan, np.inf, 0.0])
def test_certify__proves_nothing_of_what_is_no_distribution(masses):
    problem = arrays_of("a")
    iterate = iterate_at(problem, starting_potentials(problem))
    spoilt = iterate.masses.copy()
    spoilt[3] = masses
    if masses == 0.0:
        spoilt[:] = 0.0
    with np.errstate(all="ignore"):
        proved = DualCertifier(problem).certify(Iterate(iterate.potentials, spoilt))
    assert (proved.bound, proved.tv_bound, proved.certified) == (np.inf, 1.0, False)


def test_certify__an_infeasible_problem_is_never_close_to_an_answer():
    problem = arrays_of("proxy")
    for iterate in single_sweeps(problem, pt.IPF(), 20):
        proved = DualCertifier(problem).certify(iterate)
        assert not proved.certified
