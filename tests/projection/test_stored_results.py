from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.projection.stored_results import relaxation_dataset, relaxation_of
from tests.hostile.callables import PUR, plain


def relaxation(**options):
    return pt.relax(plain(), PUR, **({"soft": [0, 1], "penalty": "quadratic", "strength": 3.0} | options))


@pytest.mark.parametrize("options", [{}, {"soft": 0, "penalty": "l1"}, {"soft": [0, 1, 2], "penalty": "kl"}])
@pytest.mark.parametrize("layout", [pt.to_dense, pt.to_sparse])
def test_save__a_relaxation_comes_back_whole(tmp_path, options, layout):
    saved = pt.relax(layout(plain()), PUR, **({"soft": [0, 1], "penalty": "quadratic", "strength": 3.0} | options))
    pt.save(saved, tmp_path / "near.nc")
    found = pt.load(tmp_path / "near.nc")
    assert type(found) is type(saved)
    for name in ("table", "reference"):
        assert getattr(found, name).identical(getattr(saved, name))
    for name in ("misses", "multipliers"):
        pairs = zip(getattr(found, name), getattr(saved, name), strict=True)
        assert all(one.identical(other) for one, other in pairs)
    for one, other in zip(found.constraints, saved.constraints, strict=True):
        assert one.target.identical(other.target)
    plain_facts = (
        "termination",
        "objective",
        "divergence",
        "penalty_paid",
        "misses_l1",
        "residual",
        "residual_l1",
        "certified",
        "bound",
        "tv_bound",
        "iterations",
        "seconds",
        "notes",
        "soft",
        "penalty",
        "strength",
    )
    assert {name: getattr(found, name) for name in plain_facts} == {name: getattr(saved, name) for name in plain_facts}
    assert found.summary() == saved.summary()


def test_save__a_relaxation_elsewhere_is_refused(tmp_path):
    with pytest.raises(pt.InvalidOptionError, match=r"a relaxation must be saved as \.nc"):
        pt.save(relaxation(), tmp_path / "near.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fact", ["soft", "termination", "misses_l1", "objective", "constraints", "strength"])
def test_relaxation_of__a_fact_that_is_missing(fact):
    dataset = relaxation_dataset(relaxation())
    del dataset.attrs[fact]
    with pytest.raises(KeyError, match=fact):
        relaxation_of(dataset)


def test_relaxation_of__what_the_file_says():
    dataset = relaxation_dataset(relaxation())
    again = relaxation_of(dataset.assign_attrs(strength=np.float64(7.0)))
    assert again.strength == 7.0
    with pytest.raises(ValueError, match="no number"):
        relaxation_of(dataset.assign_attrs(strength=float("nan")))


def test_save__a_relaxation_comes_back_with_its_verdict(tmp_path):
    problem = pt.problems.load("cut_3x3")
    result = pt.relax(problem.reference, (*problem.constraints, problem.constraints[0]), soft=2, on_failure="return")
    assert result.termination.name == "INFEASIBLE"
    pt.save(result, tmp_path / "r.nc")
    again = pt.load(tmp_path / "r.nc")
    assert again.diagnosis.verdict == result.diagnosis.verdict == "infeasible"
    assert again.diagnosis.verify()


@pytest.mark.parametrize(("added", "ending"), [(0.05, "CONVERGED_ON_FACE"), (0.01, "INFEASIBLE")])
def test_save__a_projection_comes_back_with_its_verdict(tmp_path, added, ending):
    problem = pt.problems.proxy(added)
    result = pt.project(problem.reference, problem.constraints, on_failure="return")
    assert result.termination.name == ending
    pt.save(result, tmp_path / "p.nc")
    again = pt.load(tmp_path / "p.nc")
    assert again.diagnosis.verdict == result.diagnosis.verdict
    assert again.diagnosis.implied_zeros.identical(result.diagnosis.implied_zeros)
    assert again.diagnosis.verify()
    interior = pt.project(problem.reference, problem.constraints[1:])
    pt.save(interior, tmp_path / "q.nc")
    assert pt.load(tmp_path / "q.nc").diagnosis is None
