"""References given by their logarithms: the same answers as by masses, and answers where float64 holds none."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import purtensor as pt
from purtensor.errors import InfeasibleError, InvalidOptionError, InvalidTableError
from tests import oracles
from tests.solving.drawn import SOLVERS, labelled_problem

few = pytest.mark.parametrize("solver", [None, pt.IPF(), pt.Newton()], ids=["chosen", "IPF", "Newton"])


def logarithms(table):
    with np.errstate(divide="ignore"):
        return table.copy(data=np.log(table.values))


def two_way(values, rows, columns):
    labels = {"i": np.arange(len(rows)), "j": np.arange(len(columns))}
    table = xr.DataArray(np.asarray(values), dims=("i", "j"), coords=labels)
    targets = [
        xr.DataArray(np.asarray(t, dtype=float), dims=n, coords={n: labels[n]})
        for n, t in (("i", rows), ("j", columns))
    ]
    return table, [pt.Marginal(target) for target in targets]


def transport(size, epsilon, seed=0):
    """Optimal transport of two random measures on a line, at a cost of the squared distance."""
    rng = np.random.default_rng(seed)
    here, there = rng.random(size), rng.random(size)
    masses = rng.random((2, size)) + 0.1
    rows, columns = masses / masses.sum(axis=1, keepdims=True)
    return two_way(-((here[:, None] - there) ** 2) / epsilon, rows, columns)


def on_profiles(result):
    """Return the reference plus the potentials of each profile of a two-way table."""
    rows, columns = (np.asarray(table.values) for table in result.potentials)
    return result.reference.values + rows[:, None] + columns


@pytest.mark.parametrize("solver", [*SOLVERS.values(), None], ids=[*SOLVERS, "chosen"])
@pytest.mark.parametrize("name", ["PUR", "cube", "no freedom left"])
def test_project__logarithms_of_masses_give_what_the_masses_give(name, solver):
    reference, constraints = labelled_problem(name)
    options = {"solver": solver, "tolerance": 1e-8, "on_failure": "return"}
    plain = pt.project(reference, constraints, **options)
    logs = pt.project(logarithms(reference) + 800.0, constraints, reference_in="log", **options)
    assert logs.termination is plain.termination
    assert abs(logs.table.values - plain.table.values).sum() <= 1e-7 * plain.table.values.sum()
    assert logs.divergence == pytest.approx(plain.divergence, rel=1e-6, abs=1e-9)
    assert pt.verify(logs).passed is pt.verify(plain).passed


@given(size=st.sampled_from([1.0, 400.0, 20_000.0]), seed=st.integers(0, 100))
@settings(max_examples=8)
@pytest.mark.slow
def test_project__potentials_in_the_reference_change_nothing(size, seed):
    reference, constraints = labelled_problem("cube")
    rng = np.random.default_rng(seed)
    moved = logarithms(reference)
    for constraint in constraints:
        moved = moved + constraint.target.copy(data=size * rng.standard_normal(constraint.target.shape))
    moved = moved.transpose(*reference.dims)
    plain = pt.project(reference, constraints, tolerance=1e-9)
    found = pt.project(moved, constraints, reference_in="log", tolerance=1e-9)
    assert abs(found.table.values - plain.table.values).sum() <= 1e-7
    assert pt.verify(found).membership <= 1e-14 * (1 + 10 * size)


@few
def test_project__two_by_two_tables_far_beyond_float64_are_those_of_the_formula(solver):
    logs, constraints = two_way([[-2000.0, -3000.0], [-4000.0, -5001.0]], [0.3, 0.7], [0.6, 0.4])
    found = pt.project(logs, constraints, reference_in="log", solver=solver, tolerance=1e-12)
    # p (p + 0.1) = e^-1 (0.3 - p) (0.6 - p): the odds ratio is that of the reference
    ratio = math.exp(-1.0)
    a, b, c = 1.0 - ratio, 0.1 + 0.9 * ratio, -0.18 * ratio
    p = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
    assert np.allclose(found.table.values, [[p, 0.3 - p], [0.6 - p, 0.1 + p]], rtol=1e-11)
    assert found.certified


def in_extended_precision(logs, rows, columns, sweeps):
    """Return the masses of sweeps in long doubles, which hold exp(-11,000)."""
    masses = np.exp(np.asarray(logs, dtype=np.longdouble))
    for _ in range(sweeps):
        masses *= (rows / masses.sum(axis=1))[:, None]
        masses *= columns / masses.sum(axis=0)
    return masses


@few
@pytest.mark.parametrize("size", [12, 70])  # the larger one has a layout of its own
def test_project__transport_is_that_of_long_doubles(size, solver):
    logs, constraints = transport(size, 1e-3)
    assert (np.exp(logs.values) == 0).any()
    found = pt.project(logs, constraints, reference_in="log", solver=solver, tolerance=1e-9, on_failure="return")
    assert found.converged
    rows, columns = (constraint.target.values for constraint in constraints)
    expected = in_extended_precision(logs.values, rows, columns, 20_000)
    assert abs(found.table.values - expected).sum() <= 1e-6
    assert np.allclose(np.exp(on_profiles(found)), found.table.values, rtol=1e-11, atol=1e-300)
    own = (expected * (np.log(expected) - logs.values)).sum() + np.log(np.exp(logs.values.astype(np.longdouble)).sum())
    assert found.divergence == pytest.approx(float(own), rel=1e-6)


def test_project__transport_at_a_tiny_epsilon_is_proved_and_verified():
    logs, constraints = transport(40, 1e-4)
    found = pt.project(logs, constraints, reference_in="log")
    assert found.converged
    assert found.tv_bound < 1e-9
    checked = pt.verify(found)
    assert checked.support
    assert checked.membership < 1e-10
    assert checked.divergence == pytest.approx(found.divergence, rel=1e-9)


def test_project__minus_infinity_is_a_structural_zero():
    logs, constraints = two_way([[0.0, -np.inf, -900.0], [-1e4, 0.0, 3.0]], [1.0, 2.0], [1.0, 1.0, 1.0])
    found = pt.project(logs, constraints, reference_in="log")
    assert found.table.values[0, 1] == 0
    assert found.table.values == pytest.approx(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), abs=1e-12)
    with pytest.raises(InfeasibleError):
        pt.project(
            logs,
            two_way(logs.values, [2.5, 0.5], [0.5, 2.0, 0.5])[1],
            reference_in="log",
        )


def test_project__targets_of_zero_leave_logarithms_of_the_rest():
    logs, constraints = two_way([[-2000.0, -3000.0], [-4000.0, -5001.0], [-1999.0, -2500.0]], [0.3, 0.7, 0], [0.6, 0.4])
    found = pt.project(logs, constraints, reference_in="log")
    without = pt.project(logs.isel(i=[0, 1]), two_way(np.zeros((2, 2)), [0.3, 0.7], [0.6, 0.4])[1], reference_in="log")
    assert found.table.values[:2] == pytest.approx(without.table.values, rel=1e-9)
    assert not found.table.values[2].any()
    # D = D without the row + log of the mass that is left of the reference: e^-2000 of e^-2000 + e^-1999
    assert found.divergence == pytest.approx(without.divergence + math.log1p(math.e), rel=1e-9)
    assert found.trace.dual.values[-1] == pytest.approx(found.divergence, rel=1e-7)


def test_project__sparse_tables_and_files_keep_logarithms(tmp_path):
    logs, constraints = transport(12, 1e-3)
    sparse = pt.to_sparse(logs + 2000.0) - 2000.0
    found = pt.project(sparse, constraints, reference_in="log", tolerance=1e-9)
    dense = pt.project(logs, constraints, reference_in="log", tolerance=1e-9)
    assert found.table.sizes["profile"] == 144
    assert pt.to_dense(found.table).values == pytest.approx(dense.table.values, abs=1e-8)
    pt.save(found, tmp_path / "found.nc")
    again = pt.load(tmp_path / "found.nc")
    assert again.reference_in == "log"
    assert pt.verify(again).divergence == pytest.approx(found.divergence, rel=1e-9)
    assert again.jvp(log_reference=sparse * 0 + 1.0).values == pytest.approx(np.zeros(144), abs=1e-9)


def test_project__warm_starts_take_potentials_of_logarithms():
    logs, constraints = transport(30, 1e-3)
    first = pt.project(logs, constraints, reference_in="log")
    again = pt.project(logs, constraints, reference_in="log", start=first, tolerance=1e-8)
    assert again.iterations == 0
    assert again.table.values == pytest.approx(first.table.values, rel=1e-9, abs=1e-300)


def test_project__refuses_what_are_no_logarithms():
    logs, constraints = two_way([[0.0, 1.0], [2.0, 3.0]], [0.5, 0.5], [0.5, 0.5])

    def refused(values, error=InvalidTableError, **options):
        with pytest.raises(error) as told:
            pt.project(logs.copy(data=np.asarray(values)), constraints, **{"reference_in": "log", **options})
        return str(told.value)

    assert "i=1, j=0" in refused([[0.0, 1.0], [np.nan, 3.0]])
    assert "-inf says that it is 0" in refused([[0.0, np.inf], [2.0, 3.0]])
    assert "empty" in refused(np.full((2, 2), -np.inf))
    assert "bool" in refused(np.ones((2, 2), dtype=bool))
    assert "mass, log" in refused(logs.values, InvalidOptionError, reference_in="logs")
    assert "marginals with targets" in refused(logs.values, InvalidOptionError, ratio_bounds=(0.5, 2.0))
    with pytest.raises(InvalidTableError, match="give these -inf"):
        pt.project(
            logs + xr.DataArray([0.0, 2000.0], dims="i"),
            two_way(logs.values, [1, 0], [0.5, 0.5])[1],
            reference_in="log",
        )


def test_project__stored_tables_are_refused(tmp_path):
    logs, constraints = two_way([[0.0, 1.0], [2.0, 3.0]], [0.5, 0.5], [0.5, 0.5])
    stored = pt.store_table(np.exp(logs), tmp_path / "masses.zarr", chunk=2)
    with pytest.raises(InvalidOptionError, match="to_table"):
        pt.project(stored, constraints, reference_in="log")


def test_results__what_reads_masses_is_refused_by_name():
    logs, constraints = two_way([[0.0, 1.0], [2.0, 3.0]], [0.5, 0.5], [0.5, 0.5])
    found = pt.project(logs, constraints, reference_in="log")
    with pytest.raises(InvalidOptionError, match=r"standard_errors .* numpy\.exp"):
        pt.standard_errors(found, size=100)
    with pytest.raises(InvalidOptionError, match=r"plot .* numpy\.exp"):
        found.plot()
    assert found.rows.miss.values == pytest.approx(np.zeros(4), abs=1e-9)


@few
@pytest.mark.parametrize("seed", range(12))
def test_project__bounds_take_in_what_is_rounded_of_logarithms(seed, solver):
    """One constraint has no potentials to hide it: logarithms of 1e6 are rounded by 1e-10 when they are shifted."""
    rng = np.random.default_rng(seed)
    values = 10.0 ** rng.uniform(0, 8) * rng.normal(size=(3, 1)) + rng.normal(size=(3, 2))
    reference, (constraint, _) = two_way(values, (3.0, 5.0, 1.0), (1.0, 1.0))
    found = pt.project(reference, [constraint], reference_in="log", solver=solver, tolerance=1e-6)
    with localcontext(prec=60):
        rows = [[(Decimal(float(x)) - Decimal(float(row[0]))).exp() for x in row] for row in values]
        exact = {
            (i, j): Fraction(x / sum(row) * target)
            for i, (row, target) in enumerate(zip(rows, (3, 5, 1), strict=True))
            for j, x in enumerate(row)
        }
    answer, table = oracles.normalised(exact), oracles.normalised(oracles.masses_of(found.table))
    apart = float(oracles.total_variation(answer, table))
    largest = max(abs(float(oracles.log_of(answer[profile] / table[profile]))) for profile in table)
    for proof in (found, pt.verify(found)):
        assert apart <= proof.tv_bound + 2e-16
        assert oracles.kl(answer, table) <= proof.bound * (1 + 1e-9) + 1e-30
        assert largest <= proof.log_ratio_bound + 2e-16
    assert found.tv_bound <= 3 * apart + 1e-7
