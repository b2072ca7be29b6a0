"""Sweeps in logarithms: as other sweeps where those can be made, and where they cannot."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.problem import build_problem
from purtensor.solving.solvers import gis
from purtensor.solving.solvers.ipf import solver as ipf
from purtensor.solving.solvers.ipf.log_domain_sweeps import spans_the_range
from purtensor.solving.termination import Termination
from tests.solving.drawn import arrays_of, solved, variation
from tests.strategies import table_from

CATEGORIES = [("no", "yes"), ("a", "b", "c")]


def with_a_small_row(smallest):
    """A row of which every profile is next to nothing; its target is not."""
    cells = [(y, x) for y in CATEGORIES[0] for x in CATEGORIES[1]]
    reference = dict(zip(cells, (3.0, 1.0, 2.0, smallest, smallest, 3 * smallest), strict=True))
    wanted = dict(zip(cells, (2.0, 1.0, 1.0, 1.0, 3.0, 2.0), strict=True))
    constraints = pt.marginals_of(table_from(("y", "x"), CATEGORIES, wanted, "sparse"), "y | x")
    return table_from(("y", "x"), CATEGORIES, reference, "sparse"), constraints


SOLVERS = {
    "IPF": pt.IPF(),
    "over-relaxed": pt.IPF(relaxation=1.5),
    "under-relaxed": pt.IPF(relaxation=0.7),
    "GIS": pt.GIS(),
    "Anderson": pt.IPF(acceleration=5),
    "both": pt.IPF(relaxation=1.3, acceleration=3),
}
each_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)


@pytest.mark.parametrize("smallest", [1e-170, 1e-300, 5e-324])
@each_solver
def test_in_logarithms__rows_without_a_normal_number(smallest, solver):
    """The answer does not know the scale of a row: its potential takes it."""
    problem = build_problem(*with_a_small_row(smallest)).arrays
    assert spans_the_range(problem)
    found = solved(problem, solver, tolerance=1e-12)
    plain = solved(build_problem(*with_a_small_row(1.0)).arrays, pt.IPF(), tolerance=1e-12)
    assert found.termination is Termination.CONVERGED
    assert found.iterate.masses == pytest.approx(plain.iterate.masses, rel=1e-11)


@pytest.mark.parametrize("solver", [pt.IPF(), pt.IPF(relaxation=1.5), pt.GIS()], ids=repr)
def test_in_logarithms__a_very_small_target(solver):
    reference, _ = with_a_small_row(1.0)
    wanted = table_from(("x",), CATEGORIES[1:], {("a",): 1e-305, ("b",): 1.0, ("c",): 2.0}, "sparse")
    result = pt.project(reference, pt.Marginal(wanted), solver=solver)
    assert result.converged
    assert float(pt.marginal(result.table, "x").sel(x="a").item()) == pytest.approx(1e-305, rel=1e-12)


@pytest.mark.parametrize("name", ["a", "haberman"])
@each_solver
def test_in_logarithms__the_same_trace_as_other_sweeps(name, solver, monkeypatch):
    problem = arrays_of(name)
    assert not spans_the_range(problem)
    plain = solved(problem, solver, tolerance=1e-9)
    for module in (ipf, gis):
        monkeypatch.setattr(module, "spans_the_range", lambda problem: True)
    found = solved(problem, solver, tolerance=1e-9)
    if solver in (SOLVERS["Anderson"], SOLVERS["both"]):  # extrapolations grow the rounding of both
        assert variation(found.iterate.masses, plain.iterate.masses) < 1e-8
        return
    assert found.iterations == plain.iterations
    assert variation(found.iterate.masses, plain.iterate.masses) < 1e-13
    gains, duals = ([getattr(line.record, what) for line in found.lines[1:]] for what in ("kl_step", "dual"))
    assert gains == pytest.approx([line.record.kl_step for line in plain.lines[1:]], rel=1e-6, abs=1e-15)
    assert duals == pytest.approx([line.record.dual for line in plain.lines[1:]], abs=1e-14)


def test_in_logarithms__is_asked_for_by_the_reference_and_the_targets():
    assert not spans_the_range(build_problem(*with_a_small_row(1e-140)).arrays)
    assert not np.isnan(solved(build_problem(*with_a_small_row(1e-140)).arrays, pt.IPF()).iterate.masses).any()
