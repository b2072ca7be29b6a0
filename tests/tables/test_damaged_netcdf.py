"""NetCDF files whose seals are sound and whose content is no table: other types, or parts that are missing."""

from __future__ import annotations

import netCDF4
import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.tables.io.hashes import append_seal
from purtensor.tables.io.netcdf import read_dataset, write_dataset
from purtensor.tables.io.table_dataset import table_to_dataset

COUNTS = pt.tabulate({"sex": ["f", "m", "m"], "age": [30, 55, 30]})
LAYOUTS = {"sparse": COUNTS, "dense": pt.to_dense(COUNTS)}


def parts(dataset, role):
    return [str(name) for name, variable in dataset.variables.items() if variable.attrs.get("role") == role]


def changed(role, change):
    """Change the first variable of a role, keeping what it says of itself."""

    def damage(dataset):
        name = parts(dataset, role)[0]
        old = dataset[name].variable
        if role == "categories":  # an index in memory, a variable in the file
            dataset = dataset.drop_indexes(name)
        return dataset.assign({name: (old.dims, change(old.values), old.attrs)})

    return damage


def told(role, **attributes):
    def damage(dataset):
        name = parts(dataset, role)[0]
        dataset[name].attrs.update(attributes)
        return dataset

    return damage


DAMAGED = {
    "values are text": (changed("values", lambda v: v.astype(str)), "<U3, but numbers were expected"),
    "values are objects": (changed("values", lambda v: v.astype(str).astype(object)), "but numbers were expected"),
    "values are bytes": (changed("values", lambda v: v.astype("S3")), "but numbers were expected"),
    "a category twice": (changed("categories", lambda v: np.repeat(v[:1], len(v))), "twice"),
    "no values": (lambda d: d.drop_vars(parts(d, "values")), "there is no table"),
    "an unknown kind of labels": (told("categories", kind="object"), "unknown kind 'object'"),
    "an unknown position": (told("categories", position="first"), "are inconsistent"),
    "attrs are no JSON": (told("values", table_attrs="{1"), "are inconsistent"),
    "no layout": (told("values", layout="round"), "are inconsistent"),
}

CODED = {
    "codes are signed": (changed("codes", lambda c: c.astype("i1")), "codes exceed the number"),
    "codes are floats": (changed("codes", lambda c: c.astype(float)), "codes exceed the number"),
    "a code is beyond": (changed("codes", lambda c: np.full_like(c, 9)), "codes exceed the number"),
    "a profile twice": (
        lambda d: changed("codes", np.zeros_like)(d).assign(
            {n: (d[n].dims, np.zeros_like(d[n].values), d[n].attrs) for n in parts(d, "codes")}
        ),
        "stored twice",
    ),
    "no codes": (lambda d: d.drop_vars(parts(d, "codes")), "are inconsistent"),
}

CASES = [(layout, *case) for layout in LAYOUTS for case in DAMAGED.items()]
CASES += [("sparse", *case) for case in CODED.items()]
CASES = [(layout, name, *case) for layout, name, case in CASES if (layout, name) != ("sparse", "no layout")]


@pytest.mark.parametrize(("layout", "name", "damage", "match"), CASES, ids=[f"{case[0]}: {case[1]}" for case in CASES])
def test_load__sealed_but_no_table(tmp_path, layout, name, damage, match):
    write_dataset(damage(table_to_dataset(LAYOUTS[layout])), tmp_path / "t.nc")
    with pytest.raises(pt.errors.FileFormatError, match=rf"t\.nc.*({match})"):
        pt.load(tmp_path / "t.nc")


def compound(file):
    kind = file.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")]), "pair")
    return kind, np.array([(1, 2.0), (3, 4.0)], dtype=kind.dtype)


def ragged(file):
    lists = np.empty(2, dtype=object)
    lists[:] = [np.arange(2, dtype="i4"), np.arange(3, dtype="i4")]
    return file.createVLType("i4", "lists"), lists


def named(file):
    return file.createEnumType("u1", "colours", {"red": 0, "blue": 1}), np.array([0, 1], dtype="u1")


@pytest.mark.parametrize("make", [compound, ragged, named])
def test_load__types_of_the_file_s_own(tmp_path, make):
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("p", 2)
        kind, values = make(file)
        file.createVariable("v", kind, ("p",))[:] = values
    append_seal(path)
    with pytest.raises(pt.errors.FileFormatError, match=r"t\.nc"):
        pt.load(path)


@pytest.mark.parametrize("kind", ["f4", "i8", "u1", "bool"])
def test_load__other_numbers_come_back_as_they_are(tmp_path, kind):
    table = COUNTS.astype(kind)
    pt.save(table, tmp_path / "t.nc")
    loaded = pt.load(tmp_path / "t.nc")
    assert loaded.dtype == table.dtype
    assert loaded.equals(table)


def test_project__integers_that_float64_cannot_hold(tmp_path):
    pt.save(COUNTS.astype("i8") + 2**53, tmp_path / "t.nc")
    with pytest.raises(pt.InvalidTableError, match="9007199254740993, an integer that float64 cannot represent"):
        pt.project(pt.load(tmp_path / "t.nc"), pt.Marginal(pt.marginal(COUNTS, "sex")))


@pytest.mark.parametrize("kind", [complex, str, object])
def test_save__values_that_are_no_numbers(tmp_path, kind):
    for table in LAYOUTS.values():
        with pytest.raises(pt.InvalidTableError, match="integers or floats, got"):
            pt.save(table.astype(kind), tmp_path / "t.nc")
    assert list(tmp_path.iterdir()) == []


def test_read_dataset__a_folder_or_no_permission(tmp_path, monkeypatch):
    (tmp_path / "t.nc").mkdir()
    with pytest.raises(IsADirectoryError):
        read_dataset(tmp_path / "t.nc")
    write_dataset(xr.Dataset({"v": ("p", [1.0])}), tmp_path / "u.nc")

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refused)
    with pytest.raises(PermissionError):
        read_dataset(tmp_path / "u.nc")
