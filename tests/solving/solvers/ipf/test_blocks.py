"""Exact projections on groups of constraints."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.convergence.friedrichs import pair_spectrum
from purtensor.solving.iterate import residual_of
from purtensor.solving.solve import run
from purtensor.solving.solvers.ipf.blocks import BlockState, auto_blocks, block_step
from purtensor.solving.stopping import Stopping
from tests.solving.drawn import PROBLEMS, arrays_of, labelled_problem

PUR = [(0,), (1, 2)]


def table_of(found, reference):
    return found.table.reindex_like(reference).values


@pytest.mark.parametrize("name", PROBLEMS)
def test_blocks__auto_reaches_what_newton_reaches(name):
    reference, constraints = labelled_problem(name)
    exact = pt.project(reference, constraints, solver=pt.Newton(), tolerance=1e-13, on_failure="return")
    found = pt.project(reference, constraints, solver=pt.IPF(blocks="auto"))
    assert found.converged
    assert pt.total_variation(found.table, exact.table) < 1e-8


@pytest.mark.parametrize(
    ("records", "strength", "sweeps"), [(45_000, 1e-2, 17), (45_000, 1e-8, 17), (3_000, 1e-4, 132)]
)
def test_blocks__take_the_sweeps_that_the_note_says(records, strength, sweeps):
    problem = pt.problems.variant("b", records=records, strength=strength)
    found = pt.project(problem.reference, problem.constraints, solver=pt.IPF(blocks=PUR), certificate=False)
    assert abs(found.iterations - sweeps) <= 1
    assert found.notes == ("exact projections on the constraints {0} then {1, 2}",)


def test_blocks__one_step_meets_all_constraints_of_a_group():
    problem = arrays_of("a")
    state = BlockState.of(problem, PUR)
    start = run(problem, pt.IPF(), Stopping(0.0, "residual", 1, math.inf)).iterate
    step = block_step(problem, start, state)
    sums = [np.bincount(row, step.iterate.masses) for row in problem.index]
    missed = [np.abs(sums[k] - problem.targets[problem.system.block(k)]).max() for k in range(3)]
    assert missed[0] > 1e-4 > 1e-13 > max(missed[1:])
    assert state.inner >= 2
    assert step.touches > problem.index.size


def test_blocks__gain_is_what_the_dual_rises():
    problem = arrays_of("a")
    lines = run(problem, pt.IPF(blocks=PUR), Stopping(0.0, "residual", 3, math.inf)).lines
    for before, line in itertools.pairwise(lines):
        assert line.record.kl_step == pytest.approx(line.record.dual - before.record.dual, abs=1e-14)
        assert line.record.kl_step > 0


def test_blocks__a_scope_that_contains_the_others_is_scaled_to():
    counts = pt.tabulate({"a": list("xyxyx"), "b": list("uuvvv"), "c": list("mnnmm")}, weights=[3, 1, 4, 1, 5])
    constraints = pt.marginals_of(counts, [("a", "b"), ("a",), ("c",)])
    state = pt.project(
        pt.uniform(counts), constraints, solver=pt.IPF(blocks=[(0, 1), (2,)]), tolerance=1e-12, certificate=False
    )
    exact = pt.project(pt.uniform(counts), constraints, solver=pt.Newton(), tolerance=1e-13)
    assert pt.total_variation(state.table, exact.table) < 1e-10


def test_blocks__auto_groups_what_pseudo_counts_tie_together():
    slow, fast = arrays_of("b"), arrays_of("a")
    assert auto_blocks(slow, slow.reference) == ((0,), (1, 2))
    closest = min(pair_spectrum(fast, fast.reference, *pair).gap for pair in ((0, 1), (0, 2), (1, 2)))
    assert (len(auto_blocks(fast, fast.reference)) == 3) == (closest >= 0.5)


@pytest.mark.parametrize("blocks", [[(0,), (1,)], [(0,), (1, 2, 2)], [(0, 1, 2, 3)]])
def test_blocks__refuse_what_is_no_partition_of_the_constraints(blocks):
    reference, constraints = labelled_problem("PUR")
    with pytest.raises(pt.InvalidOptionError, match=r"each position 0 \.\. 2 once"):
        pt.project(reference, constraints, solver=pt.IPF(blocks=blocks))


@pytest.mark.parametrize("other", [{"order": (0, 1, 2)}, {"relaxation": 1.5}, {"acceleration": 5}])
def test_blocks__go_with_no_other_option(other):
    with pytest.raises(pt.InvalidOptionError, match="cannot be combined with order, relaxation or acceleration"):
        pt.IPF(blocks="auto", **other)


def test_blocks__solve_on_the_face():
    problem = pt.problems.load("and_gate")
    found = pt.project(problem.reference, problem.constraints, solver=pt.IPF(blocks="auto"))
    assert found.termination is pt.results.Termination.CONVERGED_ON_FACE
    assert residual_of(found.evidence.labelled.arrays, found.evidence.run.iterate.masses).largest < 1e-10
