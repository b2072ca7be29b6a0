"""Masses of the reference next to denormals: on disk they are scaled as in memory, and none is lost."""

from __future__ import annotations

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.outofcore.diagnose import diagnose_stored
from purtensor.outofcore.partition import Extent, exponent_of, nats_left_out
from tests.laws.test_extremes import ALL_PAIRS, COUNTS, NAMES, OTHERS, PROFILES, constraints_of, tabled
from tests.outofcore.test_boundary import TWO_PROOFS, assert_as_in_memory, forced_case
from tests.outofcore.test_kills import assert_same_bits
from tests.outofcore.test_project import SETS, by_profile

pytestmark = pytest.mark.slow

pytest.importorskip("zarr")

SOLVERS = {"Newton": pt.Newton(), "IPF": pt.IPF(), "LBFGS": pt.LBFGS()}
each_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)


@pytest.fixture(autouse=True)
def small_parts():
    with dask.config.set({"scheduler": "synchronous", "purtensor.part-profiles": 4}):
        yield


def row_of(profile, scope):
    return tuple(profile[NAMES.index(name)] for name in scope)


def with_a_row(scope, small, large):
    """The counts, of which one row is as small as a number, and all others as large as another."""
    first = row_of(PROFILES[0], scope)
    return tabled({p: float(m) * (small if row_of(p, scope) == first else large) for p, m in COUNTS.items()})


def tied(small, large):
    """A table that falls apart but for three profiles of very small mass."""
    return tabled({p: small if i % 5 == 0 else float(m) * large for i, (p, m) in enumerate(COUNTS.items())})


WANTED = constraints_of(OTHERS, ALL_PAIRS)
EMPTY_ROW = constraints_of(
    {p: 0 if row_of(p, ("s", "x")) == row_of(PROFILES[0], ("s", "x")) else m for p, m in OTHERS.items()}, ALL_PAIRS
)
"""Targets of 0 empty the row of (s, x) that `with_a_row` changes."""


def both(folder, table, constraints, **options):
    stored = pt.store_table(table, folder / "t.zarr", chunk=5)
    return pt.project(stored, constraints, **options), pt.project(table, constraints, **options)


def assert_alike(found, expected):
    assert found.termination is expected.termination
    mine, its = by_profile(found.table.to_table()), by_profile(expected.table)
    assert mine.index.equals(its.index)
    assert 0.5 * np.abs(mine.values - its.values).sum() <= 1e-12 * its.sum()
    assert np.array_equal(mine.values == 0, its.values == 0)
    assert found.divergence == pytest.approx(expected.divergence, rel=1e-9)


@pytest.mark.parametrize(
    ("scope", "small", "large"),
    [(("y",), 5e-324, 1.0), (("s", "x"), 1e-310, 1.0), (("y", "s"), 1e-300, 1e280), (("y", "s"), 1e-280, 1e300)],
)
@each_solver
def test_project__a_row_next_to_denormals_as_in_memory(tmp_path, scope, small, large, solver):
    """It lies in several parts or chunks; with the total's scale it was 0, which was told to be a row without profiles.

    L-BFGS is stopped later: where it stands at 1e-10 is rounding.
    """
    tolerance = 1e-13 if isinstance(solver, pt.LBFGS) else 1e-10
    table = with_a_row(scope, small, large)
    found, expected = both(tmp_path, table, WANTED, solver=solver, tolerance=tolerance)
    assert_alike(found, expected)
    assert pt.verify(found).passed
    if not isinstance(solver, pt.LBFGS):
        assert found.iterations == expected.iterations
        assert found.certified
        assert expected.certified


@pytest.mark.parametrize("solver", [pt.Newton(), pt.LBFGS()], ids=["Newton", "LBFGS"])
def test_project__what_ties_a_reference_together_down_to_denormals(tmp_path, solver):
    """Newton's steps ended nowhere: as in memory they take masses for larger where rounding hides what these tie."""
    found, expected = both(tmp_path, tied(5e-324, 1.0), WANTED, solver=solver, tolerance=1e-13)
    assert_alike(found, expected)
    assert found.iterations <= 150


@pytest.mark.parametrize(("tie", "is_certified"), [(1e-12, True), (1e-34, False)])
def test_project__ties_below_rounding_are_proved_in_memory_only(tmp_path, tie, is_certified):
    """In memory misses are met in whole numbers; on disk, what rounding leaves of them may be all of such a mass."""
    found, expected = both(tmp_path, tied(tie, 1.0), WANTED, solver=pt.Newton())
    assert found.certified == is_certified
    assert found.converged
    assert expected.certified
    assert pt.verify(found).passed


@each_solver
def test_project__profiles_that_zeros_empty_may_have_any_mass_below(tmp_path, solver):
    """No scale holds them and the others, and none has to."""
    found, expected = both(tmp_path, with_a_row(("s", "x"), 5e-324, 1e300), EMPTY_ROW, solver=solver)
    assert_alike(found, expected)
    assert pt.verify(found).passed
    zeros = by_profile(found.table.to_table())
    assert (zeros == 0).sum() == 2


@pytest.mark.parametrize(
    ("table", "constraints", "told"),
    [
        (with_a_row(("y",), 5e-324, 1e300), WANTED, r"9\.88131e-324, is less than 1e-590 of its total, 6\.9e\+301"),
        (tied(1e-310, 1e300), WANTED, r"1e-310, is less than 1e-590"),
        (with_a_row(("s", "x"), 1e300, 1e-310), EMPTY_ROW, r"targets of 0 exclude has 4e\+301, .* remove it"),
        (with_a_row(("s", "x"), 1.0, 5e-324), EMPTY_ROW, r"targets of 0 exclude has 40, .* remove it"),
    ],
)
@each_solver
def test_project__refuses_what_no_scale_holds_in_the_words_of_memory(tmp_path, table, constraints, told, solver):
    with pytest.raises(pt.InvalidTableError, match=told) as in_memory:
        pt.project(table, constraints, solver=solver)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=5)
    with pytest.raises(pt.InvalidTableError) as on_disk:
        pt.project(stored, constraints, solver=solver)
    assert str(on_disk.value) == str(in_memory.value)
    assert not list(stored.workspace.glob("*/problem"))  # nothing half made is left to be found again


def test_project__sweeps_in_logarithms_are_resumed_to_the_same_bits(tmp_path):
    stored = pt.store_table(with_a_row(("y", "s"), 1e-310, 1.0), tmp_path / "t.zarr", chunk=5)
    whole = pt.project(stored, WANTED, solver=pt.IPF())
    for stop in (1, 6):
        stopped = pt.project(stored, WANTED, solver=pt.IPF(), max_iterations=stop, on_failure="return")
        assert_same_bits(pt.resume(stopped.path, max_iterations=1000), whole)


def test_project__sweeps_where_no_step_gains_are_resumed_to_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr("purtensor.solving.solvers.newton.best_step", lambda *_: None)
    monkeypatch.setattr("purtensor.solving.solvers.newton.SWEEPS", 4)
    table = with_a_row(("y", "s"), 1.0, 1.0)
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=5)
    whole = pt.project(stored, WANTED, solver=pt.Newton())
    swept = pt.project(table, WANTED, solver=pt.IPF(), tolerance=1e-10)
    assert whole.converged
    assert whole.iterations == swept.iterations - 3  # of the warm-up
    for stop in (2, 4):
        stopped = pt.project(stored, WANTED, solver=pt.Newton(), max_iterations=stop, on_failure="return")
        assert_same_bits(pt.resume(stopped.path, max_iterations=1000), whole)


def test_project__forced_zeros_beside_denormals_as_in_memory(tmp_path):
    table, constraints = forced_case(TWO_PROOFS)
    first = table["x"].values == table["x"].values[0]
    table = table.copy(data=np.where(first, 5e-324 * table.values, table.values))
    found, expected = both(tmp_path, table, constraints, solver=pt.Newton())
    assert expected.termination is pt.results.Termination.CONVERGED_ON_FACE
    assert_as_in_memory(found, expected)
    assert pt.verify(found).passed


def test_diagnose__a_contradiction_beside_denormals(tmp_path):
    """A verdict is about the support alone: what masses there are changes nothing."""
    table = pt.tabulate({"y": [0, 1, 0, 1], "s": [0, 1, 0, 1], "x": [0, 0, 1, 1]}, weights=[3.0, 1.0, 2.0, 4.0])
    masses = table.copy(data=[1e-310, 1.0, 3.0, 1.0])
    stored = pt.store_table(masses, tmp_path / "t.zarr", chunk=3)
    even = pt.tabulate({name: [k >> bit & 1 for k in range(8)] for bit, name in enumerate("ysx")})
    wanted = pt.marginals_of(even, SETS["UPR"])
    assert str(pt.diagnose(masses, wanted).verdict) == "infeasible"
    assert str(diagnose_stored(stored, wanted, in_memory=0).verdict) == "infeasible"
    with pytest.raises(pt.InfeasibleError):
        pt.project(stored, wanted)


@each_solver
def test_project__a_positive_target_that_the_total_hides_is_refused(tmp_path, solver):
    """It became 0, and a target of 0 empties its row: nobody asked for that."""
    small = tabled({p: 5e-324 if p[2] == "a" else float(m) for p, m in OTHERS.items()})
    constraints = [pt.Marginal(pt.marginal(small, scope)) for scope in ALL_PAIRS]
    stored = pt.store_table(tabled(COUNTS), tmp_path / "t.zarr", chunk=5)
    with pytest.raises(pt.InvalidTableError, match=r"a target of .* is less than 2\^-1074 of the total"):
        pt.project(stored, constraints, solver=solver)


def test_lbfgs__a_row_of_little_mass_is_not_without_profiles(tmp_path):
    """What it was told by was targets - (targets - sums), which is 0 for sums below 1e-17 of the targets."""
    found, expected = both(tmp_path, with_a_row(("s", "x"), 1e-25, 1.0), WANTED, solver=pt.LBFGS(), tolerance=1e-13)
    assert_alike(found, expected)


def test_project__a_problem_cut_by_an_earlier_version(tmp_path):
    """Its run goes on as it was; a new one cuts the table anew, for masses may have been lost."""
    stored = pt.store_table(with_a_row(("y",), 1.0, 1.0), tmp_path / "t.zarr", chunk=5)
    whole = pt.project(stored, WANTED, solver=pt.IPF())
    stopped = pt.project(stored, WANTED, solver=pt.IPF(), max_iterations=3, on_failure="return")
    problem, part = stopped.path / "problem", stopped.path / "parts" / "000000"
    packed = read_packed(problem)
    facts = {name: value for name, value in packed.facts.items() if name not in ("smallest", "nats_left_out")}
    write_packed(problem, packed.arrays, facts | {"lost": 0.0})  # the share, in place of the nats
    made = part.stat().st_mtime_ns
    assert_same_bits(pt.resume(stopped.path, max_iterations=1000), whole)
    assert part.stat().st_mtime_ns == made
    assert_same_bits(pt.project(stored, WANTED, solver=pt.IPF()), whole)
    assert part.stat().st_mtime_ns > made
    assert read_packed(problem).facts["smallest"] > 0


def test_exponent_of__keeps_the_one_that_was_used_where_it_is_as_good():
    values = np.array([0.75, 0.25, 3.0, 0.0])
    pieces = [Extent.of(values[:2], values[:2] > 0), Extent.of(values[2:], np.array([False, False]))]
    assert pieces[0] == Extent(0.25, 1.0, 0.0)
    assert (pieces[1].total, pieces[1].left_out) == (0.0, 3.0)
    assert exponent_of(pieces, 3) == 3  # of the total of all, 4
    assert exponent_of(pieces, 200) == 1
    assert exponent_of(pieces, -1) == 1
    assert exponent_of([Extent(5e-324, 3.0, 0.0)], 2) == -52


def test_nats_left_out__of_little_and_of_nearly_all():
    assert nats_left_out(1e-20, 1.0) == pytest.approx(1e-20, rel=1e-12)
    assert nats_left_out(1.0, 1e-250) == pytest.approx(250 * np.log(10), rel=1e-12)
