from __future__ import annotations

import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings

import purtensor as pt
from purtensor.tables.coded import domain_of
from purtensor.tables.io.files import ending, load_table, save_table
from tests.tables.drawn import as_dict, sparse_tables

EXACT = [".nc", ".parquet"]
PLAIN = [".csv", ".csv.gz"]
COUNTS = pt.tabulate(
    {
        "income": pd.Categorical(["low", "high", "low"], ["low", "middle", "high"], ordered=True),
        "age": pd.cut(pd.Series([20, 40, 70]), [0, 30, 55, 90, 120], right=False),
        "member": [True, False, True],
        "size": [3, 1, 2],
    }
)
LAW = pt.regularize(COUNTS, response="income")


def through(table, kind):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{kind}"
        save_table(table, path)
        assert [entry.name for entry in Path(folder).iterdir()] == [path.name]
        return load_table(path)


def assert_same_domain(found, expected):
    for ours, theirs in zip(domain_of(found).categories, domain_of(expected).categories, strict=True):
        assert ours.tolist() == theirs.tolist()
        assert [type(label) for label in ours] == [type(label) for label in theirs]


@pytest.mark.parametrize("kind", EXACT)
@settings(max_examples=8)
@given(table=sparse_tables(values=st.floats(0, 1e30)))
def test_save_table__keeps_everything(kind, table):
    table.attrs = {"strength": 1e-4, "left_out": ["a=b"]}
    for layout in (table, pt.to_dense(table), table.astype(np.float32)):
        found = through(layout, kind)
        xr.testing.assert_identical(found, layout)
        assert found.dtype == layout.dtype
        assert_same_domain(found, layout)


@pytest.mark.parametrize("kind", EXACT + PLAIN)
@pytest.mark.parametrize(
    "table", [COUNTS, LAW, pt.to_dense(LAW), COUNTS * 0.1], ids=["counts", "law", "dense", "weights"]
)
def test_load_table__values_to_the_last_bit_and_labels_with_their_types(kind, table):
    found = through(table, kind)
    assert as_dict(found) == as_dict(table)
    for ours, theirs in zip(domain_of(found).categories, domain_of(table).categories, strict=True):
        shown = [label for label in theirs.tolist() if label in ours.tolist()]
        assert ours.tolist() == shown
        assert [type(label) for label in ours] == [type(label) for label in shown]


@pytest.mark.parametrize("kind", PLAIN)
@settings(max_examples=8)
@given(counts=st.lists(st.integers(0, 2**53), min_size=1, max_size=8))
def test_load_table__sparse_counts_come_back_identical_from_a_csv(kind, counts):
    table = pt.tabulate({"a": list(range(len(counts))), "b": [f"x{i % 3}" for i in range(len(counts))]})
    table = table.copy(data=np.array(counts, dtype=float))
    found = through(table, kind)
    xr.testing.assert_identical(found, table)
    assert_same_domain(found, table)


@pytest.mark.parametrize("kind", EXACT)
def test_save_table__keeps_what_is_no_mass(kind):
    table = COUNTS.copy(data=np.array([-np.inf, np.nan, -0.0]))
    found = through(table, kind)
    assert found.values.tobytes() == table.values.tobytes()


def test_save_table__a_million_profiles():
    """No Cartesian product, no Python loop over profiles: this takes well below a second."""
    generator = np.random.default_rng(0)
    table = pt.tabulate({f"a{i}": generator.integers(0, 100, 1_000_000) for i in range(6)})
    assert through(table, ".nc").equals(table)


@pytest.mark.parametrize("path", ["table.xlsx", "table", "nc", "table.gz"])
def test_save_table__refuses_other_endings(tmp_path, path):
    with pytest.raises(pt.InvalidOptionError, match=r"must end in one of .nc, .csv, .csv.gz, .parquet"):
        save_table(COUNTS, tmp_path / path)
    with pytest.raises(pt.InvalidOptionError):
        load_table(tmp_path / path)


def test_ending__whatever_the_case():
    assert ending("A.CSV.GZ") == ".csv.gz"
    assert ending(Path("x.Nc")) == ".nc"


@pytest.mark.parametrize("kind", EXACT + PLAIN)
def test_load_table__a_missing_file(tmp_path, kind):
    with pytest.raises(FileNotFoundError):
        load_table(tmp_path / f"none{kind}")


@pytest.mark.parametrize("kind", [*EXACT, ".csv.gz"])
def test_load_table__a_file_that_is_cut_off(tmp_path, kind):
    path = tmp_path / f"table{kind}"
    save_table(LAW, path)
    content = path.read_bytes()
    for share in (0.0, 0.3, 0.9):
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(pt.errors.FileFormatError, match="table"):
            load_table(path)


@pytest.mark.parametrize("kind", EXACT)
def test_save_table__refuses_attrs_that_no_file_holds(tmp_path, kind):
    table = COUNTS.assign_attrs(model=object())
    with pytest.raises(pt.InvalidTableError, match="attrs cannot be saved"):
        save_table(table, tmp_path / f"table{kind}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", EXACT + PLAIN)
def test_save_table__refuses_what_is_no_table(tmp_path, kind):
    with pytest.raises(pt.InvalidTableError, match=r"a table must be an xarray\.DataArray"):
        save_table(pd.Series([1.0]), tmp_path / f"table{kind}")
