"""Stored tables without mass: kept and opened, and refused by name where something is computed of them."""

from __future__ import annotations

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.tables.store.table import match_stored, sum_stored

pytest.importorskip("zarr")

COUNTS = pt.tabulate({"y": [0, 0, 0, 1, 1, 1], "s": [0, 1, 0] * 2, "x": [0, 1, 2] * 2}, weights=[1, 2, 3, 4, 5, 6])
NOTHING = COUNTS * 0
TARGETS = pt.marginals_of(COUNTS, ["y", "x"])
PROJECTION = pt.project(COUNTS, TARGETS)

CALLS = {
    "total_variation": lambda e, p: pt.total_variation(e, p),
    "total_variation the other way": lambda e, p: pt.total_variation(p, e),
    "kl_divergence": lambda e, p: pt.kl_divergence(e, p),
    "kl_divergence the other way": lambda e, p: pt.kl_divergence(p, e),
    "entropy": lambda e, _: pt.entropy(e),
    "pythagorean_defect": lambda e, _: pt.pythagorean_defect(e, PROJECTION),
    "project": lambda e, _: pt.project(e, TARGETS),
    "project by IPF": lambda e, _: pt.project(e, TARGETS, solver=pt.IPF()),
    "project by L-BFGS": lambda e, _: pt.project(e, TARGETS, solver=pt.LBFGS()),
    "project onto nothing": lambda e, p: pt.project(p, pt.marginals_of(e, ["y", "x"])),
    "project onto nothing by L-BFGS": lambda e, p: pt.project(p, pt.marginals_of(e, ["y", "x"]), solver=pt.LBFGS()),
    "diagnose": lambda e, _: pt.diagnose(e, TARGETS),
    "diagnose nothing": lambda e, p: pt.diagnose(p, pt.marginals_of(e, ["y", "x"])),
    "predict": lambda e, p: pt.predict(e, p, response="y"),
    "predict for nobody": lambda e, p: pt.predict(p, e, response="y"),
    "marginal": lambda e, _: pt.marginal(e, ["y"]),
    "sample": lambda e, _: pt.sample(e, 10, seed=0),
    "pur": lambda e, _: pt.pur(e, response="y", protected="s"),
    "utility_error": lambda e, p: pt.utility_error(e, p, response="y", protected="s"),
}


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(params=[0, 6], ids=["no profile", "six profiles of no mass"])
def empty(request, tmp_path):
    table = NOTHING.chunk({"profile": 6}) if request.param else NOTHING
    stored = pt.store_table(table, tmp_path / "nothing.zarr")
    assert stored.profiles == request.param
    return stored


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_table_without_mass_on_disk_is_refused(tmp_path, empty, call):
    stored = pt.store_table(COUNTS, tmp_path / "t.zarr")
    with pytest.raises(pt.InvalidTableError, match=r"the table .*nothing\.zarr is empty: at least one profile"):
        call(empty, stored)


@pytest.mark.parametrize("measure", [pt.total_variation, pt.kl_divergence])
def test_measures__a_table_without_mass_in_memory_is_refused(tmp_path, measure):
    stored = pt.store_table(COUNTS, tmp_path / "t.zarr")
    for pair in ((NOTHING, stored), (stored, NOTHING)):
        with pytest.raises(pt.InvalidTableError, match="the table is empty: at least one profile"):
            measure(*pair)


def test_project__chunks_of_dask_without_mass(tmp_path):
    with (
        dask.config.set(temporary_directory=str(tmp_path)),
        pytest.raises(pt.InvalidTableError, match="at least one profile must have positive mass"),
    ):
        pt.project(COUNTS.chunk({"profile": 2}) * 0, TARGETS)
    assert not any(tmp_path.iterdir())


def test_stored_tables__that_are_only_kept_may_be_empty(empty, tmp_path):
    assert pt.results.open_table(empty.path).total == 0.0
    assert float(empty.to_table().sum()) == 0.0
    pt.save(empty, tmp_path / "copy.zarr")
    assert pt.load(tmp_path / "copy.zarr").profiles == empty.profiles
    assert all(not np.any(chunk.values) for chunk in empty.chunks())


def test_stored_marginal_and_matches__of_nothing(empty):
    with pytest.raises(pt.InvalidTableError, match="is empty"):
        sum_stored(empty, "y")
    with pytest.raises(pt.InvalidTableError, match="is empty"):
        match_stored(empty, COUNTS, ["x"])
