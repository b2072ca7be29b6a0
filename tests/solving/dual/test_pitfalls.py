"""What goes wrong in solvers of this kind, on arrays: tests/projection/test_pitfalls.py has more, through labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import purtensor as pt
from purtensor.solving.dual.certificate import certify, distance_from_gap
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.columns.kind import bregman_entropy
from purtensor.solving.dual.problem import RowCosts, dual_problem
from purtensor.solving.dual.solve import solve
from purtensor.solving.dual.watch import Watch

FOUR = pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=[4.0, 3.0, 2.0, 1.0])


def labelled(values, **categories):
    (name, labels), *_ = categories.items()
    return pt.tabulate({name: labels}, weights=values)


def column_problem(reference, rows, mass, lower=0.0, upper=np.inf):
    cells = len(reference)
    return dual_problem(EntropyColumns(reference, 1.0, np.full(cells, lower), np.full(cells, upper)), rows, mass)


def solved(problem):
    watch = Watch(500)
    run = solve(problem, watch)
    return run, certify(problem, run.point, advance=True), watch.iterations


def test_dependent_equalities_are_told_from_contradictions():
    again = pt.total(1, of={"a": 0}, target=6.0)
    marginal = pt.Marginal(labelled([6.0, 4.0], a=[0, 1]))
    assert pt.project(FOUR, [marginal, again]).converged
    with pytest.raises(pt.InfeasibleError):
        pt.project(FOUR, [marginal, pt.total(1, of={"a": 0}, target=6.1)])


def test_distance__of_unequal_masses_is_not_pinskers():
    """KL of masses 1.2 and 1 is 0.0188; Pinsker's inequality would say that they differ by 0.194 at most."""
    gap = float(bregman_entropy(np.array([1.2]), np.array([1.0])).sum())
    assert np.sqrt(2.0 * gap) < 0.2
    cells = EntropyColumns(np.ones(1), 1.0, np.zeros(1), np.full(1, np.inf))
    assert distance_from_gap(cells, gap, np.array([1.2])) >= 0.2


@pytest.mark.parametrize("strength", [10.0, 1e4])
def test_certify__dust_on_slacks_costs_no_digits(strength):
    """A slack of 1e-12 at a price of 1e4 would cost 1e-8 nats, the root of which is 1e-4."""
    rng = np.random.default_rng(1)
    c = (rng.random((8, 30)) < 0.4).astype(float)
    reference = rng.random(30) + 0.5
    targets = c @ reference * np.exp(rng.normal(0, 0.3, 8))
    rows = RowCosts(sparse.csr_array(c), targets, targets, np.full(8, strength), np.zeros(8), np.full(8, np.nan))
    run, proof, _ = solved(column_problem(reference, rows, reference.sum(), 0.0, 2.0))
    assert run.converged
    assert proof.distance <= 1e-14 * max(10.0, strength) * reference.sum()


def test_solve__misses_do_not_stall_at_large_masses():
    """Proximal widths that grow without limit lose the digits of the misses."""
    rng = np.random.default_rng(2)
    c = (rng.random((6, 20)) < 0.4).astype(float)
    reference = 1e9 * (rng.random(20) + 0.5)
    targets = c @ reference * np.exp(rng.normal(0, 0.3, 6))
    rows = RowCosts(sparse.csr_array(c), targets, targets, np.full(6, 0.5), np.zeros(6), np.full(6, np.nan))
    run, proof, _ = solved(column_problem(reference, rows, reference.sum()))
    assert run.converged
    assert run.residual <= 1e-12
    assert proof.distance <= 1e-12 * reference.sum()


def test_certify__says_what_tiny_standard_errors_cost():
    """Two values of one cell, each with a standard error of 1e-6: potentials of 5e11, and few digits are left."""
    c = sparse.csr_array(np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]]))
    targets = np.array([2.0, 0.4, 1.4])
    rows = RowCosts(c, targets, targets, np.full(3, np.inf), np.array([0.0, 1e-12, 1e-12]), np.full(3, np.nan))
    run, proof, _ = solved(column_problem(np.ones(2), rows, 2.0))
    # the mean of the two values, moved by variance / 2 times a slope of less than 1
    assert proof.cells == pytest.approx([0.9, 1.1], abs=1e-4)
    exact = np.array([0.9 + 0.5e-12 * np.log(1.1 / 0.9), 1.1 - 0.5e-12 * np.log(1.1 / 0.9)])
    assert np.abs(proof.cells - exact).sum() <= proof.distance
    assert np.abs(run.point.potentials).max() > 1e11
    assert proof.distance > 1e-12
