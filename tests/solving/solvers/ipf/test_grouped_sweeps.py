"""Sweeps in groups of constraints are the plain sweeps: the same iterates, records and ends."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor._threads import VARIABLE
from purtensor.kernels.ipf import grouped_sweeps as kernels
from purtensor.kernels.ipf import layouts
from purtensor.kernels.ipf.steps import COPIES
from purtensor.kernels.simd import WIDTH
from purtensor.problems.named import NamedProblem, marginal_targets, number_domain
from purtensor.solving.iterate import Budget, Iterate, iterate_at, starting_potentials
from purtensor.solving.problem import build_problem
from purtensor.solving.solvers.ipf import grouping as merging
from purtensor.solving.solvers.ipf import solver as ipf
from purtensor.solving.solvers.ipf.grouped_sweeps import SWEEPS_PER_FOLD, MergedSweeps
from purtensor.solving.solvers.ipf.grouping import merge_constraints
from tests.kernels.drawn import plain
from tests.solving.drawn import arrays_of, coefficients, solved
from tests.solving.solvers.plain import plain_iterates, plain_run, stepped


@pytest.fixture(autouse=True)
def also_small_ones(monkeypatch):
    """Groups are made on tables that would be swept plainly or in slabs, with tables of cells of a fair size."""
    monkeypatch.setattr(ipf, "crossing_of", lambda *_: None)
    monkeypatch.setattr(merging, "SMALLEST", 1)
    monkeypatch.setattr(merging, "PROFILES_PER_CELL", 2)
    monkeypatch.setattr(merging, "OCTETS_PER_CELL", 4)
    monkeypatch.setattr(merging, "SUMS_PER_PROFILE", np.inf)


def dense(sizes, scopes, seed=1, zeros=0.0):
    """A dense problem; with zeros a sparse one, whose marginals are those of another table on the same support."""
    rng = np.random.default_rng(seed)
    masses, goal = rng.gamma(0.7, 1.0, sizes) + 1e-3, rng.gamma(2.0, 1.0, sizes) + 1e-3
    support = rng.random(sizes) >= zeros
    masses, goal = masses * support, goal * support / goal[support].sum()
    names = [f"x{axis}" for axis in range(len(sizes))]
    return arrays_of(
        NamedProblem("drawn", "dense", "", number_domain(names, sizes), masses, marginal_targets(goal, scopes))
    )


def generated(family, **options):
    return arrays_of(pt.problems.generate(family, seed=1, **options))


PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
PROBLEMS = {
    "binary": (lambda: generated("binary", attributes=8), WIDTH),
    "sparse": (lambda: generated("records", profiles=1200, attributes=8, categories=4), 1),
    # profiles lie in the order of the largest attribute, and then of its largest row, so those come first here
    "last size 8": (lambda: dense((9, 8, 3, 8), PAIRS), WIDTH),
    "last sizes 4 and 2": (lambda: dense((5, 3, 4, 2), [*PAIRS, (3,), (1,)]), WIDTH),
    "last size 16, three at a time": (lambda: dense((3, 2, 3, 16), [(0, 1, 3), (0, 2), (1, 2, 3)]), WIDTH),
    "sizes without a factor 8": (lambda: dense((7, 6, 5, 3), PAIRS), 1),
    "with zeros": (lambda: dense((4, 5, 4, 8), PAIRS, zeros=0.2), 1),
    "neighbours in one row": (lambda: dense((3, 3, 3, 45), [(0, 1), (0, 2), (0,), (1,)]), 1),
}
needs_compiling = pytest.mark.compiled("takes too long as plain Python")
KINDS = pytest.mark.parametrize(("make", "width"), PROBLEMS.values(), ids=PROBLEMS)


def some_order(problem, seed):
    return tuple(np.random.default_rng(seed).permutation(len(problem.index)).tolist())


@KINDS
@pytest.mark.parametrize("seed", range(3))
def test_merged__is_the_plain_sweep_sweep_by_sweep(make, width, seed):
    problem = make()
    order = some_order(problem, seed)
    iterate = iterate_at(problem, starting_potentials(problem))
    for masses in plain_iterates(problem, order, 8):
        iterate = pt.IPF(order=order).step(problem, iterate, Budget(1, -1.0, -1.0)).iterate
        assert isinstance(iterate.memory, MergedSweeps)
        np.testing.assert_allclose(iterate.memory.units.ravel(), masses, rtol=1e-13)
        np.testing.assert_allclose(iterate.masses, masses, rtol=1e-13)
    assert iterate.memory.merged.width == width
    assert width == WIDTH or iterate.memory.merged.count < len(order)


def test_merged__groups_hold_neighbours_of_the_order():
    problem = generated("binary", attributes=8)
    order = some_order(problem, 5)
    groups = merge_constraints(problem, order).groups
    assert groups.steps.tolist() == list(order)
    assert 1 < len(groups.sizes) < len(order)
    assert set(groups.lanes.tolist()) == {1, WIDTH}


def test_merged__in_a_dense_table_some_groups_are_crowded_and_some_not():
    problem = dense((3, 3, 3, 45), [(0, 1), (0, 2), (3,)])
    assert set(merge_constraints(problem, (0, 1, 2)).groups.copies.tolist()) == {1, COPIES}


def test_merged__not_where_the_sums_are_as_many_as_the_masses(monkeypatch):
    """Each eight profiles of slabs of 5 x 6 cells begin at a row that tells the others, but no two at the same."""
    axes = {"x": range(800), "y": range(5), "s": range(6)}
    f = xr.DataArray(np.random.default_rng(0).uniform(0.5, 1.0, (800, 5, 6)), coords=axes, dims=list(axes))
    problem = build_problem(f, pt.pur(f, response="y", protected="s")).arrays
    monkeypatch.setattr(merging, "SUMS_PER_PROFILE", 0.5)
    assert layouts.find_pattern(problem.index[0], np.empty((int(problem.offsets[1]), WIDTH), dtype=np.int32))
    assert merge_constraints(problem, (0, 1, 2)) is None


@pytest.mark.parametrize("name", ["b", "b_hard2"])
def test_merged__where_nothing_can_be_merged_the_plain_sweeps_are_made(name, monkeypatch):
    problem = arrays_of(name)
    monkeypatch.setattr(merging, "PROFILES_PER_CELL", 64)
    monkeypatch.setattr(merging, "SUMS_PER_PROFILE", 0.5)
    assert merge_constraints(problem, (0, 1, 2)) is None
    monkeypatch.setattr(merging, "SMALLEST", 1 << 12)
    assert merge_constraints(generated("binary", attributes=6), tuple(range(15))) is None


@KINDS
def test_merged__records_what_the_plain_sweeps_record(make, width):
    problem = make()
    order = some_order(problem, 9)
    _, plain, _ = plain_run(problem, order, (-1.0, -1.0), 12)
    _, records = stepped(problem, order, [12])
    assert list(records) == plain[:, 0].tolist()
    for row, record in zip(plain, records.values()):
        found = record.residual, record.residual_l1, record.kl_step
        # a residual near 1e-9 has some 1e-16 of rounding, and the divergence its square's
        assert found == pytest.approx(row[1:4] / problem.total, rel=1e-6, abs=1e-15)
        assert record.dual == pytest.approx(row[4], rel=1e-12, abs=1e-15)


@KINDS
def test_merged__ends_at_the_first_sweep_within_the_tolerance(make, width):
    problem = make()
    order = some_order(problem, 4)
    expected, _, _ = plain_run(problem, order, (1e-8 * problem.total, 1e-6 * problem.total), 1000)
    run = solved(problem, pt.IPF(order=order), tolerance=1e-8)
    assert run.iterations == expected
    assert run.termination.converged


BATCHES = ([70], [1] * 70, [13, 50, 7])


@KINDS
def test_merged__batches_do_not_change_the_bits(make, width):
    problem = make()
    order = some_order(problem, 2)
    whole, *others = (stepped(problem, order, batches)[0].potentials.tolist() for batches in BATCHES)
    assert all(other == whole for other in others)


@needs_compiling
@KINDS
def test_merged__threads_do_not_change_the_bits(make, width, monkeypatch):
    monkeypatch.setattr(merging, "IN_CHUNKS", {1: (1, 60), WIDTH: (1, 16)})
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setenv(VARIABLE, str(threads))
        problem = make()
        iterate, records = stepped(problem, some_order(problem, 2), BATCHES[threads - 1])
        assert len(iterate.memory.merged.chunks) > 3
        found.append((iterate.potentials.tolist(), iterate.memory.units.ravel().tolist(), records))
    assert found[0] == found[1] == found[2]


@needs_compiling
@KINDS
def test_merged__stays_in_the_family_however_long(make, width):
    problem = make()
    run = stepped(problem, some_order(problem, 3), [20 * SWEEPS_PER_FOLD + 7])[0]
    exact = problem.reference * np.exp(coefficients(problem).T.astype(np.longdouble) @ run.potentials)
    assert np.abs(run.memory.units.ravel() / exact - 1).max() < 1e-14 * (1 + np.abs(run.potentials).max())


def test_merged__a_number_that_is_not_finite_ends_the_run():
    problem = generated("binary", attributes=6)
    broken = Iterate(np.full(problem.system.rows, np.nan), problem.reference)
    step = pt.IPF().step(problem, broken, Budget(5, 1e-9, 1e-7))
    assert isinstance(step.iterate.memory, MergedSweeps)
    assert step.iterations == 1
    assert np.isnan(step.records[-1].residual)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("width", [1, WIDTH])
def test_kernels__one_pass_scales_and_adds(compiled, width):
    """The passes over units, compiled and as plain Python, against sums that add.at makes."""

    def kernel(name):
        found = getattr(kernels, name)
        return found if compiled else plain(found)

    rng = np.random.default_rng(0)
    code, following = np.sort(rng.integers(0, 9, 50)).astype(np.uint8), rng.integers(0, 7, 50).astype(np.uint8)
    masses = rng.random((50, width))
    factors, shape = rng.random((9, width)), (7, width)
    scaled = masses.copy()
    scaled[5:40] *= factors[code[5:40]]
    before, after = np.zeros((9, width)), np.zeros(shape)
    np.add.at(before, code[5:40], masses[5:40])
    np.add.at(after, following[5:40], scaled[5:40])
    if width == WIDTH:
        sums = np.zeros((9, WIDTH))
        kernel("add_octets")(masses, code, 5, 40, sums)
        np.testing.assert_allclose(sums, before, rtol=1e-14)
        sums = np.zeros(shape)
        kernel("scale_and_add_octets")(masses, code, factors, following, 5, 40, sums)
        np.testing.assert_allclose(sums, after, rtol=1e-14)
        assert masses.tolist() == scaled.tolist()
        return
    for copies in (1, COPIES):
        again = masses[:, 0].copy()
        sums = np.zeros((copies, 9))
        kernel("add_singles")(again, code, 5, 40, sums)
        np.testing.assert_allclose(sums.sum(axis=0), before[:, 0], rtol=1e-14)
        sums = np.zeros((copies, 7))
        kernel("scale_and_add_singles")(again, code, factors[:, 0], following, 5, 40, sums)
        np.testing.assert_allclose(sums.sum(axis=0), after[:, 0], rtol=1e-14)
        assert again.tolist() == scaled[:, 0].tolist()


@pytest.mark.parametrize("compiled", [True, False])
def test_find_pattern__tells_whether_the_first_of_eight_tells_the_others(compiled):
    find = layouts.find_pattern if compiled else plain(layouts.find_pattern)
    pattern = np.empty((4, WIDTH), dtype=np.int32)
    eight = [[0, 1, 0, 1, 2, 3, 2, 3], [2, 2, 2, 2, 2, 2, 2, 2]]
    row = np.array([*eight[0], *eight[1], *eight[0]], dtype=np.uint8)
    assert find(row, pattern)
    assert pattern[[0, 2]].tolist() == eight
    row[-1] = 0
    assert not find(row, pattern)


@pytest.mark.parametrize("compiled", [True, False])
def test_join_codes__numbers_the_pairs_that_occur(compiled):
    join = layouts.join_codes if compiled else plain(layouts.join_codes)
    joint, code = np.array([2, 0, 1, 2, 0], dtype=np.int32), np.array([1, 1, 0, 0, 1], dtype=np.uint8)
    number = np.empty(6, dtype=np.int32)
    assert join(joint, 3, code, 2, 4, number) == 4
    assert number.tolist() == [-1, 0, 1, -1, 2, 3]
    assert join(joint, 3, code, 2, 3, number) == -1
