from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import purtensor as pt

duckdb = pytest.importorskip("duckdb")
pl = pytest.importorskip("polars")


def frame(rows=500, gaps=False):
    rng = np.random.default_rng(4)
    data = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(0, 7, rows),
            "code": rng.choice(["01", "02", "7"], rows),
            "old": rng.random(rows) < 0.5,
            "weight": rng.integers(0, 9, rows) / 4,
        }
    )
    if gaps:
        data.loc[rng.random(rows) < 0.1, "sex"] = None
    return data


def sources(data, folder):
    data.iloc[:300].to_parquet(folder / "part-0.parquet")
    data.iloc[300:].to_parquet(folder / "part-1.parquet")
    data.assign(old=data["old"].map({True: "true", False: "false"})).to_csv(folder / "all.csv", index=False)
    return {
        "glob": str(folder / "part-*.parquet"),
        "paths": [folder / "part-0.parquet", folder / "part-1.parquet"],
        "csv": folder / "all.csv",
        "polars": pl.scan_parquet(folder / "part-*.parquet"),
        "duckdb": duckdb.read_parquet(str(folder / "part-*.parquet")),
    }


@pytest.mark.parametrize("kind", ["glob", "paths", "csv", "polars", "duckdb"])
@pytest.mark.parametrize("weights", [None, "weight"])
def test_tabulate__lazily_is_as_in_memory(tmp_path, kind, weights):
    data = frame()
    names = ["age", "sex", "code", "old"]
    table = pt.tabulate(sources(data, tmp_path)[kind], names, weights=weights)
    expected = pt.tabulate(data, names, weights=weights)
    assert table.indexes["profile"].equals(expected.indexes["profile"])
    assert table.values == pytest.approx(expected.values, rel=1e-14)
    assert table.indexes["profile"].levels[0].dtype == expected.indexes["profile"].levels[0].dtype


@pytest.mark.parametrize("kind", ["glob", "csv", "polars"])
def test_tabulate__missing_values_lazily(tmp_path, kind):
    data = frame(gaps=True)
    source = sources(data, tmp_path)[kind]
    missing = int(data["sex"].isna().sum())
    with pytest.raises(pt.InvalidTableError, match=f"'sex' is missing in {missing} (of 500 rows|records)"):
        pt.tabulate(source, ["sex", "age"])
    dropped = pt.tabulate(source, ["sex", "age"], missing="drop")
    assert dropped.attrs["dropped_rows"] == missing
    assert float(dropped.sum()) == len(data) - missing
    kept = pt.tabulate(source, ["sex", "age"], missing="category")
    assert float(pt.marginal(kept, "sex").sel(sex="missing").item()) == missing


def test_tabulate__bad_weights_lazily(tmp_path):
    data = frame()
    data.loc[7, "weight"] = -1.0
    with pytest.raises(pt.InvalidTableError, match="negative"):
        pt.tabulate(sources(data, tmp_path)["glob"], ["sex"], weights="weight")
    data.loc[7, "weight"] = np.nan
    with pytest.raises(pt.InvalidTableError, match=r"missing|no finite"):
        pt.tabulate(sources(data, tmp_path)["glob"], ["sex"], weights="weight")
    with pytest.raises(pt.InvalidOptionError, match="one of their columns"):
        pt.tabulate(sources(data, tmp_path)["glob"], ["sex"], weights=np.ones(500))


def test_tabulate__files_that_are_none(tmp_path):
    with pytest.raises(pt.errors.MissingFileError, match=r"nothing\.parquet does not exist"):
        pt.tabulate(tmp_path / "nothing.parquet")
    with pytest.raises(pt.errors.FileFormatError, match=r"a\.xls has an unsupported file format: give \.csv"):
        pt.tabulate(written(tmp_path / "a.xls", "s"))
    with pytest.raises(pt.UnknownAttributeError):
        pt.tabulate(sources(frame(), tmp_path)["glob"], ["nothing"])


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("text", "profiles"),
    [
        ("s,y\na,2\n#b,3\n", [("#b", 3), ("a", 2)]),  # a reader that guesses takes # for a comment
        ("s,y\n'a,2\n'b,3\n", [("'a", 2), ("'b", 3)]),
        ("y|s,x\n1|a,2\n2|b,3\n", [("1|a", 2), ("2|b", 3)]),
        ("y\n\nb\n", None),  # an empty line of one column is a missing value
        ('s,y\n"a\nb",2\n', [("a\nb", 2)]),
        ("s,y\n a,2\n", [(" a", 2)]),
        ("\ufeffs,y\r\na,2\r\n", [("a", 2)]),
    ],
)
def test_tabulate__a_csv_as_it_stands(tmp_path, text, profiles):
    path = written(tmp_path / "a.csv", text)
    if profiles is None:
        with pytest.raises(pt.InvalidTableError, match="'y' is missing in 1 of 2 rows"):
            pt.tabulate(path)
    else:
        assert pt.tabulate(path).indexes["profile"].tolist() == profiles


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "s,y,x,cous,m,a,3\nyes,m,b,1\nyes,m,c,2\n",
            "4 cells in row 1 .* where 7 are expected",
        ),  # not seven columns in one, and no header
        ("s,y\n1,2,3\n4,5,6\n", "3 cells in row 1 .* where 2 are expected"),
        ("s,y\n1\n", "1 cells in row 1 .* where 2 are expected"),
        ('s,y\n"a"b,2\n', "a quote that is never closed, or closed inside of a cell, in row 1"),
        ('s,y\nb,1\n"a,2\nb,3\n', "a quote that is never closed, or closed inside of a cell, in row 2"),
        pytest.param("s,y\nb,1\n" + "a" * (40 << 20) + ",2\n", "a line of more than 4194304 bytes", id="long line"),
        ("s,s\n1,2\n", "'s' twice"),
        ("s,\n1,2\n", "column 2 of .* has no name"),
        ("", r"a\.csv is empty"),
        ("s,y\na,1\n".encode("utf-16-le"), "null character"),
        (b"s,y\n\xe9,1\n", r"not text in utf-8: byte 0xe9 at 4, in row 1 .*FILE, encoding='latin-1'\) .*'\xe9,1'"),
        (b"s,y\na,1\n" * 300_000 + b"\xe9,1\n", "byte 0xe9 at 2400000, in row 600000 "),
    ],
)
def test_tabulate__a_csv_that_is_damaged(tmp_path, content, told):
    with pytest.raises(pt.errors.FileFormatError, match=told):
        pt.tabulate(written(tmp_path / "a.csv", content))


def test_tabulate__weights_that_are_no_numbers_in_files(tmp_path):
    with pytest.raises(pt.errors.FileFormatError, match="many"):
        pt.tabulate(written(tmp_path / "a.csv", "s,w\na,1\nb,many\n"), ["s"], weights="w")


def test_tabulate__a_name_with_wildcards_is_that_file_where_it_is_there(tmp_path):
    exact = written(tmp_path / "part[1].csv", "s\na\n")
    written(tmp_path / "part1.csv", "s\nb\n")
    assert pt.tabulate(exact).indexes["profile"].tolist() == [("a",)]
    assert pt.tabulate(str(tmp_path / "part?.csv")).indexes["profile"].tolist() == [("b",)]
    written(tmp_path / "part2.csv", "t\nb\n")
    with pytest.raises(
        pt.errors.FileFormatError, match=r"part2\.csv has the columns \['t'\], .*part1\.csv has \['s'\]"
    ):
        pt.tabulate(str(tmp_path / "part?.csv"))


def test_tabulate__goes_to_no_network():
    with pytest.raises(pt.errors.MissingFileError, match="nothing is read from a network: download it first"):
        pt.tabulate("http://127.0.0.1:9/records.csv")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tabulate__names_with_dots_and_quotes_in_files(tmp_path, ending):
    data = pd.DataFrame({"a.b": ["x", "y", "x"], 'q"q': [1, 2, 1], "c0": ["k"] * 3, "w.w": [1.0, 2, 4], "a": [1, 1, 1]})
    path = tmp_path / f"year=1999.{ending}"
    getattr(data, f"to_{ending}")(path, index=False)
    for names in (["a.b", 'q"q', "c0"], ["c0", "a.b", "a"]):
        expected = pt.tabulate(data, names, weights="w.w")
        assert pt.tabulate(path, names, weights="w.w").to_series().to_dict() == expected.to_series().to_dict()
    assert "year" not in pt.tabulate(path).indexes["profile"].names


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_tabulate__names_that_differ_by_case_alone(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    frame = pd.DataFrame({"sector": [1], "Sector": [2]})
    frame.to_csv(path, index=False) if ending == "csv" else getattr(frame, f"to_{ending}")(path)
    assert pt.tabulate(path).to_series().to_dict() == {(1, 2): 1.0}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a", "b", "b"], r"t\.parquet has the column 'b' twice"),
        (["a", "", "b"], r"column 2 of .*t\.parquet has no name"),
    ],
)
def test_tabulate__parquet_columns_without_a_name_of_their_own(tmp_path, names, told):
    arrays = [pa.array(["x", "y"]), pa.array([1, 2]), pa.array(["k", "k"])]
    pq.write_table(pa.Table.from_arrays(arrays, names=names), tmp_path / "t.parquet")
    with pytest.raises(pt.errors.FileFormatError, match=told):
        pt.tabulate(tmp_path / "t.parquet")


def test_tabulate__parquet_columns_beside_nested_ones(tmp_path):
    """Names inside of lists and structs are none of columns."""
    nested = pa.array([{"k": {"b": 1}}, {"k": {"b": 2}}]), pa.array([[1], []]), pa.array([[{"k": 1}], []])
    arrays = [pa.array(["x", "y"]), *nested, pa.array(["k", "k"])]
    pq.write_table(pa.Table.from_arrays(arrays, names=["a", "s", "l", "m", "b"]), tmp_path / "t.parquet")
    assert pt.tabulate(tmp_path / "t.parquet", ["a", "b"]).to_series().to_dict() == {("x", "k"): 1.0, ("y", "k"): 1.0}


def test_tabulate__takes_lists_for_no_labels_and_tells_days_apart_that_python_does_not_know(tmp_path):
    days = pa.array([-(10**6), -(10**6), 10**7], pa.int32()).cast(pa.date32())
    pq.write_table(
        pa.table({"day": days, "half": np.array([1, 2, 1], np.float16), "list": [[1], [2], [1]]}),
        tmp_path / "t.parquet",
    )
    assert pt.tabulate(tmp_path / "t.parquet", ["half"]).to_series().to_dict() == {(1,): 2, (2,): 1}
    assert sorted(pt.tabulate(tmp_path / "t.parquet", ["day"]).values.tolist()) == [1, 2]
    with pytest.raises(pt.InvalidTableError, match="use one of their parts"):
        pt.tabulate(tmp_path / "t.parquet", ["list"])


def test_tabulate__of_a_file_loads_neither_compiler_nor_solvers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("s,w\na,0.25\nb,0.5\na,0.5\n")
    program = (
        "import sys, purtensor as pt; "
        f"print(pt.tabulate({str(path)!r}, ['s'], weights='w').values.tolist(), "
        "[name for name in ('numba', 'scipy', 'purtensor.solving') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[0.75, 0.5] []"
