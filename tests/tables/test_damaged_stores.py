"""Stores that are damaged, changed by others, or made to deceive: a named error each, and never a wrong table."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import warnings

import dask.array
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import purtensor as pt
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.store.write import TableWriter

zarr = pytest.importorskip("zarr")

COUNTS = pt.tabulate(
    {"sex": ["f", "m", "m", "d", "f"], "age": [30, 30, 55, 55, 71], "old": [True, False, True, True, False]}
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store of chunks of two profiles."""
    return pt.store_table(COUNTS, tmp_path_factory.mktemp("whole") / "t.zarr", chunk=2).path


@pytest.fixture
def path(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "t.zarr")


def told(file, change):
    """Change what a zarr.json says."""

    def damage(path):
        content = json.loads((path / file).read_text())
        change(content)
        (path / file).write_text(json.dumps(content))

    return damage


def facts(**changed):
    return told("zarr.json", lambda content: content["attributes"].update(changed))


def array(name, **changed):
    return told(f"{name}/zarr.json", lambda content: content.update(changed))


def written(file, content):
    return lambda path: (path / file).write_bytes(content)


def cut(file, share=0.5):
    def damage(path):
        content = (path / file).read_bytes()
        (path / file).write_bytes(content[: int(len(content) * share)])

    return damage


def flipped(file, at):
    def damage(path):
        content = bytearray((path / file).read_bytes())
        content[at] ^= 8
        (path / file).write_bytes(content)

    return damage


def gone(file):
    return lambda path: (path / file).unlink()


def linked(file):
    """Move a part elsewhere and leave a link to it: the same bytes, but from outside of the store."""

    def damage(path):
        outside = path.parent / "outside"
        shutil.move(path / file, outside)
        (path / file).symlink_to(outside)

    return damage


def rewritten(name, values, **options):
    """Let zarr write an array anew, with sound checksums."""

    def damage(path):
        group = zarr.open_group(path, mode="r+")
        attributes = dict(group[name].attrs)
        shutil.rmtree(path / name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some types have no place in the standard yet
            made = group.create_array(
                name,
                shape=values.shape,
                dtype=values.dtype,
                chunks=(2,),
                attributes=attributes,
                config={"write_empty_chunks": True},
                **options,
            )
            made[:] = values

    return damage


def values_like(change):
    def damage(path):
        values = change(zarr.open_group(path)["values"][:])
        rewritten("values", values)(path)

    return damage


def codes_are(column):
    return rewritten("codes_0", np.array(column, dtype=np.uint8), fill_value=255)


STORES = {
    "a file": (lambda p: (shutil.rmtree(p), p.write_text("sex,age\n")), "(no|not a) stored table"),
    "an empty folder": (lambda p: (shutil.rmtree(p), p.mkdir()), "(no|not a) stored table"),
    "nothing": (shutil.rmtree, "(no|not a) stored table"),
    "zarr.json is cut off": (cut("zarr.json"), "zarr.json is not valid JSON"),
    "zarr.json is empty": (written("zarr.json", b""), "zarr.json is not valid JSON"),
    "zarr.json is binary": (written("zarr.json", bytes(range(256))), "zarr.json is not valid JSON"),
    "zarr.json is a list": (written("zarr.json", b"[1, 2]"), "not a JSON object"),
    "zarr.json is a deep list": (written("zarr.json", b"[" * 100_000), "zarr.json is not valid JSON"),
    "zarr.json is a folder": (
        lambda p: ((p / "zarr.json").unlink(), (p / "zarr.json").mkdir()),
        "is a link or a folder",
    ),
    "zarr.json is a link": (linked("zarr.json"), "links in a store are not followed"),
    "no attributes": (told("zarr.json", lambda content: content.pop("attributes")), "was not written by purtensor"),
    "attributes are text": (told("zarr.json", lambda c: c.update(attributes="x")), "was not written by purtensor"),
    "another format": (facts(format="purtensor stored table 9"), "was not written by purtensor"),
    "an attribute renamed": (facts(attributes=["sex", "edad", "old"]), "description of the table in its zarr.json"),
    "an attribute twice": (facts(attributes=["sex", "sex", "old"]), "description of the table in its zarr.json"),
    "an attribute less": (facts(attributes=["sex", "age"]), "description of the table in its zarr.json"),
    "names are numbers": (facts(attributes=[1, 2, 3]), "description of the table in its zarr.json"),
    "sizes are text": (facts(sizes="333"), "description of the table in its zarr.json"),
    "profiles less": (facts(profiles=3), "description of the table in its zarr.json"),
    "profiles are negative": (facts(profiles=-1), "description of the table in its zarr.json"),
    "profiles are null": (facts(profiles=None), "description of the table in its zarr.json"),
    "chunk is 0": (facts(chunk=0), "description of the table in its zarr.json"),
    "chunk is huge": (facts(chunk=10**18), "description of the table in its zarr.json"),
    "total is text": (facts(total="5"), "description of the table in its zarr.json"),
    "total is another": (facts(total=6.0), "description of the table in its zarr.json"),
    "total is not finite": (facts(total=float("inf")), "description of the table in its zarr.json"),
    "no hash": (facts(content_hash=None), "description of the table in its zarr.json"),
    "categories are gone": (lambda p: shutil.rmtree(p / "categories_1"), "has no categories_1"),
    "categories' chunk is gone": (gone("categories_0/c/0"), "has no chunk 0 of array categories_0"),
    "categories' chunk is cut off": (cut("categories_0/c/0"), "damaged in array categories_0"),
    "categories' chunk is garbage": (written("categories_0/c/0", b"\x07" * 40), "damaged in array categories_0"),
    "another category": (rewritten("categories_1", np.array([30, 55, 72])), "categories_1 has the chunk_grid"),
    "categories are changed": (
        lambda p: zarr.open_array(p / "categories_1", mode="r+").__setitem__(0, 31),
        "'age' were changed",
    ),
    "categories are another type": (rewritten("categories_1", np.array([30.0, 55.0, 71.0])), "the data_type 'float64'"),
    "categories are a link": (linked("categories_1"), "links in a store are not followed"),
    "values are gone": (lambda p: shutil.rmtree(p / "values"), "has no values"),
    "values' zarr.json is cut off": (cut("values/zarr.json"), "values/zarr.json is not valid JSON"),
    "values are a group": (array("values", node_type="group"), "the node_type 'group'"),
    "values of Zarr 2": (array("values", zarr_format=2), "the zarr_format 2"),
    "values are more": (array("values", shape=[10**15]), "the shape"),
    "values in another grid": (array("values", chunk_grid={"name": "rectilinear"}), "the chunk_grid"),
    "values elsewhere": (array("values", chunk_key_encoding={"name": "v2"}), "the chunk_key_encoding"),
    "a chunk is gone": (gone("values/c/1"), "has no chunk 1 of array values"),
    "a chunk of codes is gone": (gone("codes_2/c/2"), "has no chunk 2 of array codes_2"),
    "a chunk is cut off": (cut("values/c/1"), "damaged in array values"),
    "a chunk is empty": (written("values/c/1", b""), "damaged in array values"),
    "a chunk is garbage": (written("codes_1/c/0", b"garbage"), "damaged in array codes_1"),
    "a bit of a value": (flipped("values/c/0", 7), "damaged in array values"),
    "a bit of a code": (flipped("codes_0/c/1", 0), "damaged in array codes_0"),
    "a chunk is a link": (linked("values/c/0"), "links in a store are not followed"),
    "chunks are a link": (linked("values/c"), "links in a store are not followed"),
    "values are a link": (linked("values"), "links in a store are not followed"),
    "a chunk is a folder": (
        lambda p: ((p / "values/c/0").unlink(), (p / "values/c/0").mkdir()),
        "is a link or a folder",
    ),
    "values are objects": (array("values", data_type="object"), "the data_type 'object'"),
    "values are some record": (array("values", data_type={"name": "structured"}), "the data_type"),
    "values are complex": (values_like(lambda v: v.astype(complex)), "the data_type 'complex128'"),
    "values are float32": (values_like(lambda v: v.astype("f4")), "the data_type 'float32'"),
    "values are integers": (values_like(lambda v: v.astype("i8") + 2**53), "the data_type 'int64'"),
    "values are text": (values_like(lambda v: v.astype("U8")), "the data_type"),
    "codes are signed": (rewritten("codes_0", np.zeros(5, dtype="i1")), "the data_type 'int8'"),
    "codes are wide": (rewritten("codes_0", np.zeros(5, dtype="u8")), "the data_type 'uint64'"),
    "a code is beyond": (codes_are([0, 1, 2, 1, 3]), "profile number 4 has category number 3 of 'sex', which has 3"),
    "pickled objects": (
        array("values", codecs=[{"name": "numcodecs.pickle"}]),
        "encoded with numcodecs.pickle, which is not supported",
    ),
    "JSON objects": (array("codes_0", codecs=[{"name": "numcodecs.json2"}]), "not supported"),
    "codecs by text": (array("values", codecs=["bytes", "mine"]), "encoded with mine"),
    "codecs are none": (array("values", codecs=[]), "not supported"),
    "codecs are a number": (array("values", codecs=7), "not supported"),
    "a codec set wrongly": (
        array("values", codecs=[{"name": "bytes", "configuration": {"endian": "middle"}}]),
        "damaged in array values",
    ),
    "shards": (array("values", codecs=[{"name": "sharding_indexed"}]), "not supported"),
    "something that transforms": (array("values", storage_transformers=[{"name": "x"}]), "not supported"),
}


@pytest.mark.parametrize(("damage", "match"), STORES.values(), ids=STORES)
def test_open_table__a_store_that_is_not_as_it_was_written(path, damage, match):
    damage(path)
    with pytest.raises(pt.errors.StoreError, match=match) as caught:
        pt.results.open_table(path).to_table()
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


MASSES = {
    "negative": (lambda v: np.where(v == v[2], -1.0, v), r"t\.zarr: profile number \d has -1.0; masses must be"),
    "not a number": (lambda v: np.where(np.arange(5) == 3, np.nan, v), "profile number 3 has nan"),
    "infinite": (lambda v: np.where(np.arange(5) == 4, np.inf, v), "profile number 4 has inf"),
}


@pytest.mark.parametrize(("change", "match"), MASSES.values(), ids=MASSES)
def test_open_table__values_that_are_no_mass(path, change, match):
    values_like(change)(path)
    stored = pt.results.open_table(path)
    for read in (stored.to_table, lambda: pt.marginal(stored, "age")):
        with pytest.raises(pt.InvalidTableError, match=match):
            read()


def test_open_table__profiles_in_any_order_but_once(path):
    order = [3, 1, 4, 0, 2]
    group = zarr.open_group(path)
    for name in ("values", "codes_0", "codes_1", "codes_2"):
        rewritten(name, group[name][:][order])(path)
    table = pt.results.open_table(path).to_table()
    assert not table.equals(COUNTS)
    assert table.to_series().sort_index().equals(COUNTS.to_series().sort_index())

    for k in range(3):
        rewritten(f"codes_{k}", group[f"codes_{k}"][:][[0, 1, 2, 3, 0]])(path)
    stored = pt.results.open_table(path)
    with pytest.raises(pt.InvalidTableError, match=r"profile \(sex=\w, age=\d+, old=\w+\) is stored twice"):
        stored.to_table()
    with pytest.raises(pt.InvalidTableError, match=r"profile \(.*\) is stored twice"):
        pt.project(stored, [pt.Marginal(pt.marginal(COUNTS, ["sex", "age"]))])


@pytest.mark.parametrize("name", ["a chunk is gone", "a bit of a value", "a code is beyond", "values are a link"])
def test_project__of_a_damaged_store(path, name):
    stored = pt.results.open_table(path)
    damage, match = STORES[name]
    damage(path)
    for work in (
        lambda: pt.project(stored, [pt.Marginal(pt.marginal(COUNTS, ["sex", "age"]))]),
        lambda: pt.marginal(stored, "sex"),
        lambda: list(stored.chunks()),
    ):
        with pytest.raises(pt.errors.StoreError, match=match):
            work()


def test_open_table__nothing_is_unpickled(path, tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    content = pickle.dumps(Trap())
    for name in ("values", "codes_0", "categories_0"):
        copy = shutil.copytree(path, tmp_path / name)
        (copy / name / "c" / "0").write_bytes(content)
        for codecs in ([{"name": "pickle"}], [{"name": "numcodecs.pickle", "configuration": {}}]):
            array(name, codecs=codecs, data_type="object")(copy)
            with pytest.raises(pt.errors.StoreError, match="the data_type 'object'"):
                pt.results.open_table(copy).to_table()
    assert not (tmp_path / "sprung").exists()


def test_open_table__stores_that_xarray_wrote(path, tmp_path):
    """A copy with its attributes is a table still; a dataset of anything else, or values changed in type, are none."""
    with xr.open_zarr(path, consolidated=False, mask_and_scale=False, chunks=None) as opened:
        dataset = opened.load()
    with zarr.config.set({"array.write_empty_chunks": True}):  # a chunk that is not there may have been lost
        dataset.to_zarr(tmp_path / "copy.zarr", zarr_format=3, consolidated=False)
    assert pt.results.open_table(tmp_path / "copy.zarr").to_table().equals(COUNTS)
    half = dataset.assign(values=dataset["values"].astype("f4"))
    half.to_zarr(tmp_path / "half.zarr", zarr_format=3, consolidated=False)
    with pytest.raises(pt.errors.StoreError, match="values has the data_type 'float32'"):
        pt.results.open_table(tmp_path / "half.zarr").to_table()
    for version in (2, 3):
        other = tmp_path / f"other{version}.zarr"
        xr.Dataset({"v": ("p", [1.0])}).to_zarr(other, zarr_format=version, consolidated=False)
        with pytest.raises(
            pt.errors.StoreError, match="was not written by purtensor" if version == 3 else "(no|not a) stored table"
        ):
            pt.results.open_table(other)


def test_open_table__no_permission(path, monkeypatch):
    opened = os.open

    def refused(file, *rest, **options):
        if str(file).endswith("zarr.json"):
            raise PermissionError(13, "Permission denied", str(file))
        return opened(file, *rest, **options)

    monkeypatch.setattr("pathlib.Path.open", refused)
    with pytest.raises(pt.errors.StoreError, match=r"t\.zarr cannot be read: zarr\.json: Permission denied"):
        pt.results.open_table(path)


def test_open_table__more_than_memory(path, monkeypatch):
    stored = pt.results.open_table(path)
    monkeypatch.setattr("purtensor.tables.memory.available_memory", lambda: 100)
    monkeypatch.setattr("purtensor.tables.memory._NOT_ASKED", 0)
    with pytest.raises(pt.TooLargeError, match=r"reading 5 profiles of .*t\.zarr needs 200 bytes"):
        stored.to_table()
    with pytest.raises(pt.TooLargeError, match="categories of 'sex'"):
        pt.results.open_table(path)


PLACES = {
    "below a file": (lambda p: (p.parent.write_text("x"), p)[1], "cannot be written: Not a directory"),
    "a dangling link": (lambda p: (p.parent.mkdir(), p.symlink_to("nowhere"), p)[2], "already exists"),
    "a file": (lambda p: (p.parent.mkdir(), p.write_text("x"), p)[2], "already exists"),
}


@pytest.mark.parametrize(("make", "match"), PLACES.values(), ids=PLACES)
def test_store_table__a_place_that_takes_none(tmp_path, make, match):
    path = make(tmp_path / "here" / "t.zarr")
    with pytest.raises(pt.errors.StoreError, match=match):
        pt.store_table(COUNTS, path)


def test_store_table__no_permission(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("zarr.open_group", refused)
    with pytest.raises(pt.errors.StoreError, match=r"t\.zarr cannot be written: Permission denied"):
        pt.store_table(COUNTS, tmp_path / "t.zarr")


def test_store_table__what_lies_behind_a_link_stays(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "zarr.json").write_text("mine")
    (tmp_path / "t.zarr.partial").symlink_to(tmp_path / "precious")
    assert pt.store_table(COUNTS, tmp_path / "t.zarr").to_table().equals(COUNTS)
    assert (tmp_path / "precious" / "zarr.json").read_text() == "mine"


AGES = Domain(("age",), (pd.Index([30, 55, 71]),))


def lazy(values, codes=(0, 1, 2)):
    table = sparse_table(AGES, [np.array(codes)], np.zeros(len(codes)))
    return table.copy(data=dask.array.from_array(np.array(values), chunks=2))


UNFIT = {
    "integers beyond 2^53": (lazy([1, 2, 2**53 + 1]), r"profile \(age=71\) has 9007199254740993, an integer that"),
    "complex": (lazy([1j, 2, 3]), "complex128"),
    "objects": (lazy([{}, 2, 3]), "object"),
    "text": (lazy(["1", "2", "3"]), "integers or floats"),
    "times": (lazy(np.array([1, 2, 3], dtype="M8[s]")), "integers or floats"),
    "a profile twice": (lazy([1.0, 2, 3], (0, 1, 0)), r"profile \(age=30\) occurs twice"),
    "a label is missing": (lazy([1.0, 2, 3], (0, 1, -1)), "'age' is missing in profile number 2"),
    "a total beyond float64": (lazy([1e308, 1e308, 1.0]), "beyond what float64 can hold"),
    "a null character": (pt.tabulate({"sex": ["a\0b", "m"]}), "a character that cannot be saved"),
}


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize(("table", "match"), UNFIT.values(), ids=UNFIT)
def test_store_table__what_is_no_table(tmp_path, table, match):
    with pytest.raises(pt.InvalidTableError, match=match):
        pt.store_table(table, tmp_path / "t.zarr", chunk=2)
    assert list(tmp_path.iterdir()) == []


def test_store_table__half_floats_are_widened(tmp_path):
    stored = pt.store_table(lazy(np.array([1, 2.5, 3], dtype="f4")), tmp_path / "t.zarr")
    assert stored.to_table().values.tolist() == [1.0, 2.5, 3.0]
    assert stored.to_table().dtype == np.float64


def test_store_table__chunks_of_none(tmp_path):
    with pytest.raises(pt.InvalidOptionError, match="1 or more, got 0"):
        pt.store_table(COUNTS, tmp_path / "t.zarr", chunk=0)


def test_table_writer__codes_of_no_category(tmp_path):
    for code in (-1, 3):
        writer = TableWriter(tmp_path / "t.zarr", AGES)
        writer.append([np.array([0, code])], np.ones(2))
        with pytest.raises(pt.InvalidTableError, match="a category of 'age' that is missing or not one of its 3"):
            writer.close()
        writer.abandon()
    assert list(tmp_path.iterdir()) == []
