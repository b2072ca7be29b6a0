from __future__ import annotations

from dataclasses import fields

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.outofcore.project import project_stored
from purtensor.projection.outcome import Outcome
from tests.outofcore.test_project import SETS, by_profile, people, targets

pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def test_divergence__keeps_the_digits_of_a_small_one(tmp_path):
    table = people(61)
    near = table * (1 + 1e-9 * np.random.default_rng(3).normal(size=table.shape))
    stored = pt.store_table(table, tmp_path / "t.zarr", chunk=77)
    result = project_stored(stored, pt.marginals_of(near, SETS["PUR"]), part_profiles=100, tolerance=1e-14)
    p, q = by_profile(result.table.to_table()).values, by_profile(table).values
    p, q = (p / p.sum()).astype(np.longdouble), (q / q.sum()).astype(np.longdouble)
    w = (p - q) / q  # of 1e-9: the terms beyond the second are below 1e-9 of it
    assert 1e-21 < result.divergence < 1e-17
    assert result.divergence == pytest.approx(float((q * w**2).sum() / 2), rel=1e-4)


def test_summary__tells_the_same_facts_wherever_the_table_lies(tmp_path):
    table = people(62)
    constraints = targets(table, SETS["PUR"])
    stored = project_stored(pt.store_table(table, tmp_path / "t.zarr"), constraints)
    here = pt.project(table, constraints)
    assert stored.summary().keys() == here.summary().keys()
    assert stored.summary()["ending"] == here.summary()["ending"]
    assert f"  ending: {here.termination.value}" in repr(stored)
    assert repr(stored).startswith("<purtensor.StoredProjection>")
    assert "<caption>purtensor.StoredProjection</caption>" in stored._repr_html_()
    told = {field.name for field in fields(Outcome)}
    assert told <= {field.name for field in fields(pt.StoredProjection)}
    assert told <= {field.name for field in fields(pt.Projection)}
