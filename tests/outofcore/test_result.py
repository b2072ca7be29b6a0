from __future__ import annotations

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.outofcore.project import project_stored
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
    assert stored.summary()["on disk"] == str(stored.path)
    assert stored.summary()["ending"] == here.summary()["ending"]
    assert f"  ending: {here.termination.value}" in repr(stored)
    assert repr(stored).startswith("<purtensor.Projection>")
    assert "<caption>purtensor.Projection</caption>" in stored._repr_html_()


def test_projection__of_a_stored_table_has_what_one_in_memory_has(tmp_path):
    table = people(63)
    constraints = targets(table, SETS["PUR"])
    stored = pt.project(pt.store_table(table, tmp_path / "t.zarr"), constraints)
    here = pt.project(table, constraints)
    assert type(stored) is type(here) is pt.Projection
    assert here.path is None
    assert not list(stored.path.glob("table-*.zarr"))  # nothing is written before it is asked for
    for own, other in zip(stored.potentials, here.potentials, strict=True):
        assert by_profile(own).index.equals(by_profile(other).index)
    masses = by_profile(table)
    for own in stored.potentials:
        factors = np.exp(by_profile(own))
        masses = (
            masses
            * factors.reindex(
                masses.index.droplevel([name for name in masses.index.names if name not in factors.index.names])
            ).to_numpy()
        )
    assert masses.to_numpy() == pytest.approx(by_profile(stored.table.to_table()).to_numpy(), rel=1e-9)
    (whole,) = here.chunks()
    assert whole.identical(here.table)
    assert sum(chunk.size for chunk in stored.chunks()) == stored.table.profiles
    with pytest.raises(pt.InvalidOptionError, match="in memory"):
        stored.rows  # noqa: B018
