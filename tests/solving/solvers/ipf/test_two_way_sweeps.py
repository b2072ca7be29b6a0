"""Sweeps over a dense two-way table are the plain sweeps: the same iterates, records and ends."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor._threads import VARIABLE
from purtensor.kernels.engine import engine
from purtensor.solving.iterate import Budget, Iterate, iterate_at, starting_potentials
from purtensor.solving.problem import build_problem
from purtensor.solving.solvers.ipf import solver as ipf
from purtensor.solving.solvers.ipf import two_way_sweeps as module
from purtensor.solving.solvers.ipf.log_domain_sweeps import InLogarithms, spans_the_range
from purtensor.solving.solvers.ipf.two_way_sweeps import TwoWaySweeps, two_way_of
from tests.solving.drawn import coefficients, solved
from tests.solving.solvers.plain import plain_iterates, plain_run, stepped

ORDERS = pytest.mark.parametrize("order", [(0, 1), (1, 0)])


@pytest.fixture(autouse=True)
def also_small_ones(monkeypatch):
    monkeypatch.setattr(module, "SMALLEST", 1)


def table(values):
    return xr.DataArray(values, dims=("i", "j"), coords={"i": range(len(values)), "j": range(values.shape[1])})


def transport(rows=13, columns=19, reach=0.2, zeros=0.0, seed=0):
    """A kernel exp(-|x - y|^2 / reach) between points of the square, and random weights."""
    rng = np.random.default_rng(seed)
    x, y = rng.random((rows, 1, 2)), rng.random((1, columns, 2))
    kernel = np.exp(-((x - y) ** 2).sum(axis=2) / reach) * (rng.random((rows, columns)) >= zeros)
    goal = table(rng.dirichlet(np.full(rows, 5.0))[:, None] * rng.dirichlet(np.full(columns, 5.0)))
    return table(kernel), pt.marginals_of(goal, [("i",), ("j",)])


def arrays(**options):
    return build_problem(*transport(**options)).arrays


@ORDERS
@pytest.mark.parametrize("options", [{}, {"rows": 16, "columns": 8}, {"zeros": 0.3}], ids=["full", "octets", "zeros"])
def test_two_way__is_the_plain_sweep_sweep_by_sweep(order, options):
    problem = arrays(**options)
    iterate = iterate_at(problem, starting_potentials(problem))
    for masses in plain_iterates(problem, order, 8):
        iterate = pt.IPF(order=order).step(problem, iterate, Budget(1, -1.0, -1.0)).iterate
        assert isinstance(iterate.memory, TwoWaySweeps)
        np.testing.assert_allclose(iterate.masses, masses, rtol=1e-13)


@ORDERS
def test_two_way__records_what_the_plain_sweeps_record(order):
    problem = arrays()
    _, plain, _ = plain_run(problem, order, (-1.0, -1.0), 12)
    _, records = stepped(problem, order, [12])
    assert list(records) == plain[:, 0].tolist()
    for row, record in zip(plain, records.values(), strict=True):
        found = record.residual, record.residual_l1, record.kl_step
        assert found == pytest.approx(row[1:4] / problem.total, rel=1e-6, abs=1e-15)
        assert record.dual == pytest.approx(row[4], rel=1e-12, abs=1e-15)


@ORDERS
def test_two_way__ends_at_the_first_sweep_within_the_tolerance(order):
    problem = arrays(reach=0.05)
    expected, _, _ = plain_run(problem, order, (1e-8 * problem.total, 1e-6 * problem.total), 1000)
    run = solved(problem, pt.IPF(order=order), tolerance=1e-8)
    assert run.iterations == expected
    assert run.termination.converged


@pytest.mark.parametrize("largest", [module.LARGEST_FACTOR, 1.01])
def test_two_way__batches_do_not_change_the_bits(largest, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FACTOR", largest)
    problem = arrays(reach=0.05)
    whole, *others = (
        stepped(problem, (0, 1), batches)[0].potentials.tolist() for batches in ([70], [1] * 70, [13, 57])
    )
    assert all(other == whole for other in others)


@pytest.mark.compiled("takes too long as plain Python")
def test_two_way__threads_do_not_change_the_bits(monkeypatch):
    monkeypatch.setattr(module, "CELLS_PER_CHUNK", 100)
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setenv(VARIABLE, str(threads))
        iterate, records = stepped(arrays(), (0, 1), [30])
        assert len(iterate.memory.layout.chunks) > 3
        found.append((iterate.potentials.tolist(), records))
    assert found[0] == found[1] == found[2]


def test_two_way__the_base_takes_large_factors_in(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FACTOR", 1.5)
    problem = arrays(reach=0.05)
    iterate, _ = stepped(problem, (0, 1), [40])
    assert np.abs(iterate.memory.t - starting_potentials(problem)).max() > 0.0
    exact = problem.reference * np.exp(coefficients(problem).T @ iterate.potentials)
    np.testing.assert_allclose(iterate.masses, exact, rtol=1e-13)
    *_, plain = plain_iterates(problem, (0, 1), 40)
    np.testing.assert_allclose(iterate.masses, plain, rtol=1e-11)


def test_two_way__far_apart_masses_as_in_logarithms(monkeypatch):
    problem = arrays(reach=0.003)
    assert spans_the_range(problem)
    found, _ = stepped(problem, (0, 1), [60])
    assert isinstance(found.memory, TwoWaySweeps)
    monkeypatch.setattr(ipf, "two_way_of", lambda *_: None)
    expected, _ = stepped(problem, (0, 1), [60])
    assert isinstance(expected.memory, InLogarithms)
    np.testing.assert_allclose(found.masses, expected.masses, rtol=1e-9, atol=1e-300)


def test_two_way__a_column_that_its_rows_dwarf_is_left_to_logarithms():
    values = np.ones((9, 8))
    values[:, 3] = 1e-200
    goal = table(np.full((9, 8), 1.0 / 72.0))
    problem = build_problem(table(values), pt.marginals_of(goal, [("i",), ("j",)])).arrays
    assert two_way_of(problem, (0, 1)) is not None
    assert isinstance(stepped(problem, (0, 1), [3])[0].memory, InLogarithms)


def test_two_way_of__only_where_pairs_of_rows_are_profiles():
    rng = np.random.default_rng(0)
    cube = xr.DataArray(
        rng.random((4, 5, 3)) + 0.1, dims=("i", "j", "k"), coords={"i": range(4), "j": range(5), "k": range(3)}
    )
    assert two_way_of(build_problem(cube, pt.marginals_of(cube, [("i",), ("j",)])).arrays, (0, 1)) is None
    assert two_way_of(build_problem(cube, pt.marginals_of(cube, [("i", "k"), ("j", "k")])).arrays, (0, 1)) is None
    assert two_way_of(arrays(rows=30, columns=30, zeros=0.7), (0, 1)) is None
    assert two_way_of(arrays(), (0, 1)).shape == (13, 24)


def test_two_way__a_number_that_is_not_finite_ends_the_run():
    problem = arrays()
    broken = Iterate(np.full(problem.system.rows, np.nan), problem.reference)
    step = pt.IPF().step(problem, broken, Budget(5, 1e-9, 1e-7))
    assert step.iterations == 1
    assert np.isnan(step.records[-1].residual)


@pytest.mark.parametrize("reach", [0.2, 0.004])
def test_project__both_engines_agree_on_dense_two_way_tables(reach):
    compiled, plain = (_projected(choice, reach) for choice in (False, True))
    assert plain.termination is compiled.termination
    assert plain.iterations == compiled.iterations
    assert float(np.abs(plain.table - compiled.table).sum()) < 1e-12
    assert compiled.certified
    assert plain.certified


def _projected(plain, reach):
    with engine(plain=plain):
        return pt.project(*transport(20, 16, reach), max_iterations=300, on_failure="return")


def test_project__keeps_no_layout(monkeypatch):
    made = []
    monkeypatch.setattr(module.TwoWaySweeps, "at", classmethod(lambda cls, problem, *_: made.append(problem)))
    pt.project(*transport(), on_failure="return")
    assert made
    assert not any(key[0] == "layout" for key in made[0].system.kept)
