from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from tests.solving.drawn import labelled_problem


def projected(name, **options):
    problem = pt.problems.load(name)
    return pt.project(problem.reference, problem.constraints, **options)


def test_convergence_rate__predicts_real_counts_of_sweeps():
    rate = pt.convergence_rate(projected("a"))
    first, last = (projected("a", solver=pt.IPF(), tolerance=10.0**-k).iterations for k in (8, 12))
    assert rate.sweeps_per_decade == pytest.approx((last - first) / 4, abs=0.5)
    assert rate.pair is None


def test_convergence_rate__does_not_depend_on_solver_or_layout():
    reference, constraints = labelled_problem("PUR without regularisation")
    one = pt.convergence_rate(pt.project(reference, constraints, solver=pt.Newton()))
    other = pt.convergence_rate(pt.project(pt.to_sparse(reference), constraints, solver=pt.IPF(), tolerance=1e-13))
    assert one.sweeps_per_decade == pytest.approx(other.sweeps_per_decade, rel=1e-6)
    assert other.share.dims == ("profile",)
    dense = pt.to_dense(other.share)
    assert dense.values == pytest.approx(one.share.reindex_like(dense).values, abs=1e-6)


def test_convergence_rate__of_a_stored_projection_is_the_same(tmp_path):
    result = projected("b_lam0")
    pt.save(result, tmp_path / "result.nc")
    before, after = pt.convergence_rate(result), pt.convergence_rate(pt.load(tmp_path / "result.nc"))
    assert after.sweeps_per_decade == pytest.approx(before.sweeps_per_decade, rel=1e-6)


def test_convergence_rate__names_the_profiles_that_vanish():
    # the staircase: its cell (1, 1) is 1 / (2 n + 1) after n sweeps, all else meets its target faster
    problem = pt.problems.load("staircase")
    result = pt.project(
        problem.reference, problem.constraints, solver=pt.IPF(), max_iterations=500, on_failure="return"
    )
    assert not result.converged
    rate = pt.convergence_rate(result)
    assert rate.trend is pt.convergence.Trend.SUBLINEAR
    assert rate.implied_zeros is None
    slowest = rate.slow_profiles(1).iloc[0]
    assert (slowest["row"], slowest["column"]) == (1, 1)
    assert slowest["share"] > 0.99


def test_convergence_rate__on_a_face_is_that_of_the_face():
    problem = pt.problems.load("and_gate")
    result = pt.project(problem.reference, problem.constraints)
    assert result.termination is pt.results.Termination.CONVERGED_ON_FACE
    rate = pt.convergence_rate(result)
    assert rate.implied_zeros is not None
    assert rate.implied_zeros.size == result.diagnosis.implied_zeros.size > 0
    assert rate.sweeps_per_decade < 50


def test_convergence_rate__share_and_mode_are_of_one_error():
    rate = pt.convergence_rate(projected("b"))
    assert float(rate.share.sum()) == pytest.approx(1.0)
    assert float(abs(rate.mode).max()) == pytest.approx(1.0)
    assert (np.argsort(-rate.slow_profiles(5)["share"]) == np.arange(5)).all()
    top = rate.slow_profiles(1).iloc[0]
    assert float(rate.share.sel(y=top["y"], s=top["s"], x=top["x"])) == top["share"]


def test_convergence_rate__slow_profiles_of_pseudo_counts_are_the_slow_ones():
    # in b, pseudo-counts make the sweeps slow: x with few records carry the slowest error
    result = projected("b")
    rate = pt.convergence_rate(result)
    slowest = rate.slow_profiles(1).iloc[0]
    of_x = result.reference.sum(["y", "s"])
    assert float(of_x.sel(x=slowest["x"])) < float(of_x.median())


def test_slow_categories__add_up_to_one_an_attribute():
    found = pt.convergence_rate(projected("a")).slow_categories()
    assert list(found.columns) == ["attribute", "category", "share"]
    assert found.groupby("attribute")["share"].sum().values == pytest.approx([1.0, 1.0, 1.0])
    assert found["share"].is_monotonic_decreasing


def test_slow_profiles__of_a_conjugate_pair():
    reference, constraints = labelled_problem("records")
    rate = pt.convergence_rate(pt.project(reference, constraints))
    assert isinstance(rate.slow_profiles(3), pd.DataFrame)
    assert float(rate.share.sum()) == pytest.approx(1.0)


def test_convergence_rate__closed_form_takes_no_sweeps():
    counts = pt.tabulate({"a": [0, 0, 1], "b": [0, 1, 0]})
    full = pt.uniform(pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}))
    rate = pt.convergence_rate(pt.project(full, pt.marginals_of(counts, ["a", "b"])))
    assert rate.sweeps_per_decade == 0.0
    assert not rate.share.any()


def test_convergence_rate__relaxation_matters():
    result = projected("b_lam0")
    assert pt.convergence_rate(result, relaxation=1.4).sweeps_per_decade < 6
    assert pt.convergence_rate(result).sweeps_per_decade > 14


@pytest.mark.parametrize("options", [{"order": (0, 1)}, {"order": (0, 1, 1)}, {"relaxation": 2.0}])
def test_convergence_rate__refuses_options_that_are_none(options):
    with pytest.raises(pt.InvalidOptionError):
        pt.convergence_rate(projected("a"), **options)
