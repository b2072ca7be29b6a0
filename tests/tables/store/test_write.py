from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import purtensor as pt
from purtensor.errors import StoreError
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.io.table_dataset import dataset_to_table
from purtensor.tables.store.table import sum_stored

pytest.importorskip("zarr")

COUNTS = pt.tabulate(
    {"sex": ["f", "m", "m", "ä", "f"], "age": [30, 30, 55, 55, 30], "old": [True, False, True, True, False]}
)


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_store_table__comes_back(tmp_path, chunk):
    stored = pt.store_table(COUNTS, tmp_path / "t.zarr", chunk=chunk)
    opened = pt.results.open_table(tmp_path / "t.zarr")
    assert opened.profiles == stored.profiles == COUNTS.sizes["profile"]
    assert opened.total == 5.0
    assert opened.to_table().equals(COUNTS)
    assert len(list(opened.chunks())) == -(-COUNTS.sizes["profile"] // chunk)
    assert sum(float(part.sum()) for part in opened.chunks()) == 5.0


def test_store_table__labels_and_codes_that_are_zero_or_empty(tmp_path):
    table = pt.tabulate({"a": [0, 0], "b": ["", ""], "c": [0.0, 0.0]})
    assert pt.store_table(table, tmp_path / "t.zarr").to_table().equals(table)
    assert pt.results.open_table(tmp_path / "t.zarr").to_table().equals(table)


def test_store_table__xarray_reads_it(tmp_path):
    pt.store_table(COUNTS, tmp_path / "t.zarr", chunk=2)
    with xr.open_zarr(tmp_path / "t.zarr", consolidated=False, mask_and_scale=False, chunks=None) as dataset:
        assert dataset_to_table(dataset.load()).equals(COUNTS)


def test_store_table__pieces_and_dask_arrays(tmp_path):
    halves = [COUNTS[:2], COUNTS[2:]]
    assert pt.store_table(halves, tmp_path / "a.zarr", chunk=2).to_table().equals(COUNTS)
    lazy = COUNTS.chunk({"profile": 2})
    assert pt.store_table(lazy, tmp_path / "b.zarr", chunk=3).to_table().equals(COUNTS)


def test_stored_marginal__is_the_marginal(tmp_path):
    stored = pt.store_table(COUNTS, tmp_path / "t.zarr", chunk=2)
    for names in (["age", "sex"], "old"):
        assert sum_stored(stored, names).equals(pt.marginal(COUNTS, names))


def test_store_table__refuses_what_is_no_mass(tmp_path):
    domain = Domain(("a",), (pd.Index([1, 2]),))
    bad = sparse_table(domain, [np.array([0, 1])], np.array([1.0, -2.0]))
    with pytest.raises(pt.InvalidTableError, match="a=2"):
        pt.store_table(bad.chunk({"profile": 1}), tmp_path / "t.zarr")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(pt.InvalidTableError, match="these differ"):
        pt.store_table([COUNTS, pt.marginal(COUNTS, "age")], tmp_path / "t.zarr")
    with pytest.raises(pt.InvalidTableError, match="at least one table to store"):
        pt.store_table([], tmp_path / "t.zarr")
    assert list(tmp_path.iterdir()) == []


def test_store_table__does_not_overwrite(tmp_path):
    pt.store_table(COUNTS, tmp_path / "t.zarr")
    with pytest.raises(StoreError, match="already exists"):
        pt.store_table(COUNTS, tmp_path / "t.zarr")


@pytest.mark.parametrize("name", ["values", "codes_0"])
def test_open_table__finds_damage(tmp_path, name):
    stored = pt.store_table(COUNTS, tmp_path / "t.zarr", chunk=3)
    chunk = tmp_path / "t.zarr" / name / "c" / "1"
    content = chunk.read_bytes()
    chunk.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(StoreError, match="damaged"):
        stored.to_table()
    chunk.unlink()
    with pytest.raises(StoreError, match="has no chunk 1"):
        stored.to_table()


def test_open_table__trusts_known_codecs_only(tmp_path):
    stored = pt.store_table(COUNTS, tmp_path / "t.zarr")
    path = tmp_path / "t.zarr" / "values" / "zarr.json"
    told = json.loads(path.read_text())
    told["codecs"].append({"name": "numcodecs.pickle"})
    path.write_text(json.dumps(told))
    with pytest.raises(StoreError, match="not supported"):
        stored.to_table()


def test_open_table__no_store(tmp_path):
    with pytest.raises(StoreError, match=r"(no|not a) stored table"):
        pt.results.open_table(tmp_path / "nothing")
    pt.store_table(COUNTS, tmp_path / "t.zarr")
    shutil.rmtree(tmp_path / "t.zarr" / "categories_1")
    with pytest.raises(StoreError, match="has no categories_1"):
        pt.results.open_table(tmp_path / "t.zarr")


def test_to_xarray__leaves_the_values_on_disk(tmp_path):
    rng = np.random.default_rng(7)
    counts = pt.tabulate(
        {"a": rng.integers(0, 9, 400), "b": rng.choice(list("xyz"), 400), "c": rng.integers(0, 4, 400)}
    )
    stored = pt.store_table(counts, tmp_path / "t.zarr", chunk=16)
    lazy = stored.to_xarray()
    assert lazy.chunks == ((16,) * (counts.size // 16) + ((counts.size % 16,) if counts.size % 16 else ()),)
    assert lazy.compute().identical(stored.to_table())
    assert float(lazy.sel(a=3).sum()) == float(counts.sel(a=3).sum())
    again = pt.store_table(2 * lazy, tmp_path / "twice.zarr", chunk=16)
    assert again.total == 800
    shutil.rmtree(tmp_path / "t.zarr")
    with pytest.raises(StoreError):
        lazy.compute()
