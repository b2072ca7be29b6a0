from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import purtensor as pt
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.io import netcdf
from purtensor.tables.io.hashes import append_seal
from purtensor.tables.io.netcdf import read_dataset, write_dataset


@pytest.fixture
def path(tmp_path):
    data = np.random.default_rng(0).random(200)
    labels = [f"label {i}" for i in range(200)]
    write_dataset(xr.Dataset({"v": ("p", data, {"role": "x"})}, coords={"p": labels}), tmp_path / "x.nc")
    return tmp_path / "x.nc"


def test_read_dataset__what_was_written(path):
    dataset = read_dataset(path)
    assert dataset["v"].values.tolist() == np.random.default_rng(0).random(200).tolist()
    assert dataset["p"].values[7] == "label 7"
    assert dataset["v"].attrs == {"role": "x"}


def test_write_dataset__is_plain_netcdf_for_others(path):
    with xr.open_dataset(path) as opened:
        assert opened["v"].sel(p="label 3").item() == np.random.default_rng(0).random(200)[3]


def test_read_dataset__a_damaged_file_never_reaches_hdf5(path):
    """Some of these bytes crash the process inside the HDF5 library."""
    content = path.read_bytes()
    for position in range(0, len(content) - 82, len(content) // 200):
        path.write_bytes(content[:position] + bytes([content[position] ^ 0x5A]) + content[position + 1 :])
        with pytest.raises(pt.errors.FileFormatError, match="is damaged: its content"):
            read_dataset(path)
    path.write_bytes(content)
    read_dataset(path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_read_dataset__a_truncated_file(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(pt.errors.FileFormatError, match=r"x\.nc has no hash at its end: it is truncated"):
        read_dataset(path)


def test_read_dataset__files_of_other_programs(tmp_path):
    path = tmp_path / "other.nc"
    xr.Dataset({"v": ("p", [1.0])}).to_netcdf(path, engine="netcdf4")
    with pytest.raises(
        pt.errors.FileFormatError, match=r"other\.nc has no hash at its end: .* written by another program"
    ):
        read_dataset(path)
    append_seal(path)
    with pytest.raises(
        pt.errors.FileFormatError, match=r"other\.nc is a NetCDF file, but was not written by purtensor"
    ):
        read_dataset(path)
    path.write_text("sex,count\n")
    append_seal(path)
    with pytest.raises(pt.errors.FileFormatError, match="is damaged, or not NetCDF"):
        read_dataset(path)
    with pytest.raises(FileNotFoundError):
        read_dataset(tmp_path / "none.nc")


def test_read_dataset__a_changed_value_and_a_later_version(path, monkeypatch):
    dataset = read_dataset(path)
    dataset["v"][3] += 1e-9
    dataset.to_netcdf(path, engine="netcdf4")
    append_seal(path)
    with pytest.raises(pt.errors.FileFormatError, match="its content does not match its hash"):
        read_dataset(path)
    monkeypatch.setattr(netcdf, "FORMAT_VERSION", 2)
    write_dataset(dataset, path)
    monkeypatch.undo()
    with pytest.raises(pt.errors.FileFormatError, match=r"format version 2, but .* reads version 1"):
        read_dataset(path)


def test_write_dataset__leaves_the_old_file_when_it_fails(path):
    before = path.read_bytes()
    with pytest.raises(ValueError, match="slash"):
        write_dataset(xr.Dataset({"a/b": ("p", [1.0])}), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_write_dataset__text_of_no_length_comes_back(path):
    empty = Domain(("y",), (pd.Index([], dtype=object),))
    table = sparse_table(empty, [np.zeros(0, dtype=np.int64)], np.zeros(0))
    pt.save(table, path)
    assert pt.load(path).identical(table)
