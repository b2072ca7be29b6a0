from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import purtensor as pt
from purtensor.tables.coded import domain_of
from purtensor.tables.io.delimited import read_csv, write_csv
from purtensor.tables.io.read_errors import is_gzip
from tests.tables.drawn import as_dict


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.csv"


def read(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_csv(path)


def test_write_csv__is_plain_text(path):
    table = pt.tabulate({"sex": ["m", "f", "m"], "member": [True, False, True], "note": ['say "x, y"', "é", "é"]})
    write_csv(table, path)
    assert path.read_bytes().decode() == 'sex,member,note,count\nf,false,é,1\nm,true,"say ""x, y""",1\nm,true,é,1\n'
    assert pd.read_csv(path)["count"].tolist() == [1, 1, 1]
    write_csv(pt.empirical(table), path)
    assert path.read_text().splitlines()[1] == "f,false,é,0.3333333333333333"
    write_csv(-table, path)
    assert path.read_text().splitlines()[0] == "sex,member,note,value"


def test_write_csv__equal_tables_give_equal_bytes(tmp_path):
    table = pt.tabulate({"a": [1, 2]})
    for name in ("x.csv.gz", "y.csv.gz"):
        write_csv(table, tmp_path / name)
    assert (tmp_path / "x.csv.gz").read_bytes() == (tmp_path / "y.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "x.csv.gz").read_bytes()) == b"a,count\n1,1\n2,1\n"


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (["17", "18"], r"'a' has the label '17' \(str\), which CSV would return as int; save as NetCDF"),
        (["true", "false"], "would return as bool"),
        (["(0, 30]", "(30, 40]"], "would return as Interval"),
        (pd.Categorical([0.5, 1.5]), r"has the label '0.5' \(float64\), which CSV would return as str"),
        (pd.to_datetime(pd.Series(["2020-01-01"] * 2)), "save as NetCDF"),
        (["", "x"], "CSV cannot distinguish from a missing value"),
        (["=1+1", "x"], "which a spreadsheet would run as a formula; save as NetCDF"),
        (["+x", "x"], "formula"),
        (["-x", "x"], "formula"),
        (["@x", "x"], "formula"),
        (["\tx", "x"], "formula"),
        (["x\ry", "x"], "carriage return"),
        (["x\0", "x"], "a character that cannot be saved"),
    ],
    ids=repr,
)
def test_write_csv__refuses_labels_that_would_change(path, labels, what):
    table = pt.tabulate({"a": labels})
    with pytest.raises(pt.InvalidTableError, match=what):
        write_csv(table, path)
    assert not path.exists()


def test_write_csv__mixtures_are_refused_when_they_are_used(path):
    table = pt.tabulate({"a": [pd.Timestamp("2020-02-29"), None]}, missing="category")
    with pytest.raises(pt.InvalidTableError, match=r"\(Timestamp\), which CSV would return as str"):
        write_csv(table, path)
    write_csv(table[1:], path)
    assert path.read_text() == "a,count\nmissing,1\n"


@pytest.mark.parametrize("values", [[30, 7, None, 100], [True, False, None]])
def test_write_csv__missing_values_as_a_category_come_back_beside_labels_of_another_type(path, values):
    table = pt.tabulate({"a": values, "b": list("xyxy")[: len(values)]}, missing="category")
    write_csv(table, path)
    xr.testing.assert_identical(read_csv(path), table)


@pytest.mark.parametrize(
    ("name", "what"), [("count", "cannot be called 'count'"), ("=x", "formula"), ("a\r", "carriage")]
)
def test_write_csv__refuses_names_of_attributes(path, name, what):
    with pytest.raises(pt.InvalidTableError, match=what):
        write_csv(pt.tabulate({name: [1]}), path)


def test_write_csv__labels_that_only_look_difficult(path):
    labels = [" x ", "NA", "nan", "1e5", "<=50K", ">50K", "a\nb", "'", '"', "None", "17 ", "x,y;z", "\ufeff"]
    table = pt.tabulate({"a": labels, "b": [-5] * len(labels)})
    write_csv(table, path)
    xr.testing.assert_identical(read_csv(path).sortby("a"), table.sortby("a"))


def test_write_csv__refuses_integers_that_would_not_come_back(path):
    table = pt.tabulate({"a": [1]}).astype(np.int64) * (2**53 + 2)
    with pytest.raises(pt.InvalidTableError, match=r"integers beyond 2\^53"):
        write_csv(table, path)
    with pytest.raises(pt.InvalidTableError, match="at least one profile"):
        write_csv(table[:0], path)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([1 + 2j, 3], "integers or floats, got complex128"),
        (np.array(["2020-01-01", "2021-01-01"], dtype="M8[ns]"), "integers or floats, got datetime64"),
        (["q", "r"], "integers or floats, got <U1"),
        pytest.param(
            1 / np.array([3, 7], dtype=np.longdouble),
            "convert them to float64 with astype",
            marks=pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="longdouble is float64 here"),
        ),
    ],
)
def test_write_csv__refuses_values_that_would_not_come_back(path, values, what):
    with pytest.raises(pt.InvalidTableError, match=what):
        write_csv(pt.tabulate({"a": [1, 2]}).copy(data=np.asarray(values)), path)
    assert not path.exists()


@pytest.mark.parametrize("values", [[1e300, 2.0], [-0.0, 1.0], [5e-324, 0.1], [-np.inf, np.nan], [2.0**60, 3.0]])
def test_write_csv__every_float_to_the_last_bit(path, values):
    table = pt.tabulate({"a": [1, 2]}).copy(data=np.array(values))
    write_csv(table, path)
    assert read_csv(path).values.tobytes() == table.values.tobytes()


def test_read_csv__keeps_the_order_of_categories_that_the_rows_show(path):
    table = read(path, "age,sex,count\nyoung,m,1\nyoung,f,2\nmiddle,f,1\nsenior,m,3\nsenior,f,1\n")
    assert [index.tolist() for index in domain_of(table).categories] == [["young", "middle", "senior"], ["m", "f"]]
    assert table.values.tolist() == [1, 2, 1, 3, 1]


def test_read_csv__rows_in_no_order(path):
    table = read(path, "sex,age,count\nm,2,1\nf,10,2\nm,1,4\n")
    assert [index.tolist() for index in domain_of(table).categories] == [["m", "f"], [1, 2, 10]]
    assert as_dict(table) == as_dict(pt.tabulate({"age": [1, 10, 2], "sex": ["m", "f", "m"]}, weights=[4, 2, 1]))
    assert table.name == "count"


def test_read_csv__the_values_may_stand_anywhere(path):
    table = read(path, b"\xef\xbb\xbfprobability,sex\r\n0.25,m\r\n0.75,f\r\n\r\n")
    assert table.to_series().to_dict() == {("m",): 0.25, ("f",): 0.75}
    assert table.name == "probability"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("sex,count\n", "a header but no row"),
        ("sex,count\nm,1\nf,2", "the last line has no line end: the file may be truncated"),
        ("sex,n\nm,1\n", r"one column must be called count, probability or value.*\['sex', 'n'\]"),
        ("sex;count\nm;1\n", "separated by commas"),
        ("sex,count,value\nm,1,2\n", "one column must be called"),
        ("count\n1\n", "one column must be called"),
        ("sex,sex,count\nm,f,1\n", "two columns are called 'sex'"),
        ("sex,,count\nm,f,1\n", "attribute names must be strings that are not empty"),
        ("profile,count\nm,1\n", "'profile' is the dimension of sparse tables"),
        ("sex,count\nm,1,7\nf,1,7\n", "row 1 has 3 cells, the header has 2"),
        ("sex,count\nm,1\nf,1,7\n", "Expected 2 fields in line 3, saw 3"),
        ("sex,age,count\nm,1,2\nf,1\n", "row 2 has the count '', which is not a finite number"),
        ("sex,count\nm,1\n,2\n", "row 2 has no sex"),
        ("sex,count\nm,1\nf,-2\n", "row 2 has the count '-2', which is not a finite number from 0 on"),
        ("sex,count\nm,nan\n", "row 1 has the count 'nan'"),
        ("sex,probability\nm,inf\n", "row 1 has the probability 'inf'"),
        ("sex,count\nm,1\nf,x\n", "row 2 has the count 'x'"),
        ("sex,value\nm,x\n", "row 1 has the value 'x', which is not a number"),
        ("sex,count\nm,1\nf,1_000\n", "row 2 has the count '1_000'"),
        ("sex,value\nm,1_000\n", "row 1 has the value '1_000', which is not a number"),
        ("sex,count\nm," + "0" * 5000 + "9007199254740993\n", "table.csv"),
        ("sex,count\nm,9007199254740993\n", "row 1 has the count 9007199254740993, which float64 cannot hold"),
        ("sex,count\nm,1\nf,2\nm,3\n", r"row 3 repeats the profile \(sex=m\); sum such rows first"),
        ('sex,count\n"m,1\n', "table.csv"),
        ("sex,count\nm\0,1\n", "there is a null character"),
        (b"sex,count\n\xff,1\n", "not UTF-8 text"),
    ],
    ids=repr,
)
def test_read_csv__says_what_is_wrong(path, text, what):
    with pytest.raises(pt.errors.FileFormatError, match=f"table.csv.*{what}" if what != "table.csv" else what):
        read(path, text)


def test_read_csv__damaged_compression(tmp_path):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(b"sex,count\nm,1\n")
    with pytest.raises(pt.errors.FileFormatError, match=r"table\.csv\.gz is damaged"):
        read_csv(path)
    packed = bytearray(gzip.compress(b"sex,count\nm,1\n" * 100))
    packed[-6] ^= 1
    path.write_bytes(bytes(packed))
    with pytest.raises(pt.errors.FileFormatError, match="damaged"):
        read_csv(path)


def test_is_gzip__by_the_name():
    assert is_gzip("x.csv.GZ")
    assert not is_gzip("x.gz.csv")
