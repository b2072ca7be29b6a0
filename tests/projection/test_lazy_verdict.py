from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt


def solved(name: str, **options: object) -> pt.Projection:
    problem = pt.problems.load(name)
    return pt.project(problem.reference, problem.constraints, **options)  # type: ignore[arg-type]


SOLVERS = [None, pt.Newton(), pt.IPF()]


@pytest.mark.parametrize("solver", SOLVERS, ids=["automatic", "Newton", "IPF"])
@pytest.mark.parametrize(("name", "zeros"), [("and_gate", 1), ("haberman_boundary", 2), ("staircase", 1)])
def test_project__on_the_boundary_is_exact_and_lists_the_zeros(name: str, zeros: int, solver: pt.IPF | None) -> None:
    problem = pt.problems.load(name)
    found = solved(name, solver=solver, tolerance=1e-12)
    assert found.termination is pt.results.Termination.CONVERGED_ON_FACE
    assert found.converged
    assert found.certified
    assert found.tv_bound < 1e-10
    assert found.residual <= 1e-12
    assert found.diagnosis is not None
    assert found.diagnosis.verdict == "boundary"
    assert found.diagnosis.verify()
    assert found.diagnosis.zeros_beyond_targets.sizes["profile"] == zeros
    emptied = int((found.table.values == 0).sum() - (np.asarray(problem.reference.values) == 0).sum())
    assert emptied == found.diagnosis.implied_zeros.sizes["profile"]
    assert any("force zeros" in note for note in found.notes)


def test_project__and_gate_is_the_and_table() -> None:
    table = solved("and_gate").table
    wanted = {(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1)}
    dense = pt.to_dense(table) if "profile" in table.dims else table
    found = {index: float(value) for index, value in np.ndenumerate(dense.values) if value}
    assert set(found) == wanted
    np.testing.assert_allclose(list(found.values()), 0.25, atol=1e-15)


@pytest.mark.parametrize("solver", SOLVERS, ids=["automatic", "Newton", "IPF"])
@pytest.mark.parametrize("name", ["cut_3x3", "proxy", "b_inf"])
def test_project__raises_where_nothing_meets_the_constraints(name: str, solver: pt.IPF | None) -> None:
    with pytest.raises(pt.InfeasibleError) as caught:
        solved(name, solver=solver)
    assert caught.value.diagnosis.verdict == "infeasible"
    assert caught.value.diagnosis.verify()


def test_project__returns_the_diagnosis_when_asked() -> None:
    found = solved("cut_3x3", on_failure="return")
    assert found.termination is pt.results.Termination.INFEASIBLE
    assert not found.converged
    assert not found.certified
    assert found.diagnosis is not None
    assert found.diagnosis.verdict == "infeasible"
    with pytest.warns(pt.errors.PurtensorWarning):
        solved("cut_3x3", on_failure="warn")


def test_project__an_empty_column_with_a_positive_target() -> None:
    reference = xr.DataArray(np.ones((3, 3)), dims=("r", "c"), coords={"r": list("uvw"), "c": list("pqs")})
    reference[:, 0] = 0.0
    rows = xr.DataArray(np.ones(3), dims="r", coords={"r": list("uvw")})
    columns = xr.DataArray(np.ones(3), dims="c", coords={"c": list("pqs")})
    constraints = [pt.Marginal(rows), pt.Marginal(columns)]
    with pytest.raises(pt.InfeasibleError, match="c=p") as caught:
        pt.project(reference, constraints)
    assert caught.value.diagnosis.verify()
    found = pt.project(reference, constraints, on_failure="return")
    assert found.termination is pt.results.Termination.INFEASIBLE
    assert found.iterations == 0
    assert found.residual == pytest.approx(1 / 3)


def test_project__a_limit_of_the_user_comes_before_any_verdict() -> None:
    found = solved("staircase", solver=pt.IPF(), max_iterations=10, on_failure="return")
    assert found.termination is pt.results.Termination.ITERATION_LIMIT
    assert found.diagnosis is None
    assert found.table.values[0, 0] == pytest.approx(1 / 21)


def test_project__interior_problems_are_never_asked_about() -> None:
    found = solved("a")
    assert found.termination is pt.results.Termination.CONVERGED
    assert found.diagnosis is None
