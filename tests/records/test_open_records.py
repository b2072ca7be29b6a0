"""Files of every kind through one door: the same records, or a refusal that says what to type."""

from __future__ import annotations

import bz2
import gzip
import io
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import purtensor as pt
from purtensor.records.files import open_records

FRAME = pd.DataFrame({"sex": ["f", "m", "f", "m"], "age": [31, 40, 31, 7]})
COUNTS = {("f", 31): 2.0, ("m", 7): 1.0, ("m", 40): 1.0}
TEXT = FRAME.to_csv(index=False)


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def counted(source: object) -> dict[object, float]:
    return pt.tabulate(source).to_series().to_dict()


def zstd(content: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content.encode())
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("a.csv", TEXT, id="commas"),
        pytest.param("a.csv", TEXT.replace(",", ";"), id="semicolons"),
        pytest.param("a.csv", TEXT.replace(",", "|"), id="bars"),
        pytest.param("a.tsv", TEXT.replace(",", "\t"), id="tabs"),
        pytest.param("a.txt", "sep=;\r\n" + TEXT.replace(",", ";").replace("\n", "\r\n"), id="sep line and returns"),
        pytest.param("a.csv", "\ufeff" + TEXT, id="byte order mark"),
        pytest.param("a.csv", TEXT.replace(",", ";").encode("utf-16"), id="UTF-16"),
        pytest.param("a.csv", ("sep=,\n" + TEXT).encode("utf-16"), id="UTF-16 and sep line"),
        pytest.param("a.csv.gz", gzip.compress(TEXT.encode()), id="gzip"),
        pytest.param("a.csv.bz2", bz2.compress(TEXT.encode()), id="bzip2"),
        pytest.param("a.csv.zst", zstd(TEXT), id="zstd"),
        pytest.param("a.csv", TEXT.replace("7\n", "7.0\n"), id="2.0"),
        pytest.param("a.csv", TEXT.replace("f,31", '"f","31"'), id="quotes"),
    ],
)
def test_open_records__text_however_it_is_written(tmp_path: Path, name: str, content: str | bytes) -> None:
    assert counted(written(tmp_path / name, content)) == COUNTS


def test_open_records__other_kinds_of_files(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    pyreadstat = pytest.importorskip("pyreadstat")
    FRAME.to_excel(tmp_path / "a.xlsx", index=False)
    FRAME.to_stata(tmp_path / "a.dta", write_index=False)
    FRAME.to_feather(tmp_path / "a.feather")
    FRAME.to_parquet(tmp_path / "a.parquet")
    pyreadstat.write_sav(FRAME, tmp_path / "a.sav")
    pyreadstat.write_xport(FRAME, tmp_path / "a.xpt", file_format_version=5)
    for ending in ("xlsx", "dta", "feather", "parquet", "sav", "xpt"):
        assert counted(tmp_path / f"a.{ending}") == COUNTS, ending
    pyreadstat.write_xport(FRAME, tmp_path / "b.xpt", file_format_version=8)
    with pytest.raises(pt.errors.FileFormatError, match=r"b\.xpt is a SAS transport file of version 8.*pyreadstat"):
        open_records(tmp_path / "b.xpt")


@pytest.mark.parametrize(
    ("ending", "hint"), [("xls", "as .xlsx"), ("json", "pandas"), ("rds", "write.csv"), ("abc", "")]
)
def test_open_records__other_programs_files_are_refused_with_what_to_do(tmp_path: Path, ending: str, hint: str) -> None:
    path = written(tmp_path / f"a.{ending}", "x")
    with pytest.raises(pt.errors.FileFormatError, match="has an unsupported file format") as caught:
        open_records(path)
    assert (caught.value.code, caught.value.got) == ("unknown-kind", f".{ending}")
    assert hint in (caught.value.hint or "")


def test_open_records__a_missing_library_is_named_with_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    path = written(tmp_path / "a.xlsx", "")
    with pytest.raises(ImportError, match=r"a\.xlsx is a file of Excel, .* openpyxl: .*purtensor\[excel\]"):
        open_records(path)


def test_open_records__a_folder_of_parquet_files_is_one_set_of_records(tmp_path: Path) -> None:
    (tmp_path / "part=2").mkdir()
    FRAME.iloc[:1].to_parquet(tmp_path / "0.parquet")
    FRAME.iloc[1:].to_parquet(tmp_path / "part=2" / "1.parquet")
    assert counted(tmp_path) == COUNTS
    (tmp_path / "empty").mkdir()
    with pytest.raises(pt.errors.NotAFileError, match="a folder of Parquet files"):
        open_records(tmp_path / "empty")


@pytest.mark.parametrize("content", [TEXT.encode(), None])
def test_open_records__what_is_piped_in(monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> None:
    sink = io.BytesIO()
    FRAME.to_parquet(sink)
    piped = io.TextIOWrapper(io.BytesIO(sink.getvalue() if content is None else content))
    monkeypatch.setattr("sys.stdin", piped)
    assert counted("-") == COUNTS


def test_open_records__an_encoding_that_is_given(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "name,n\né,1\nß,2\n".encode("latin-1"))
    counts = pt.tabulate(open_records(path, encoding="latin-1"))
    assert counts.to_series().to_dict() == {("ß", 2): 1.0, ("é", 1): 1.0}
    with pytest.raises(pt.InvalidOptionError, match="encoding must be one that Python knows"):
        open_records(path, encoding="latin-one")


def test_open_records__a_decimal_comma(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "sex;w;age\nf;2,5;31,0\nm;1,25;7\n")
    for opened in (path, open_records(path), open_records(path, decimal=",")):
        assert pt.tabulate(opened, ["sex", "age"], weights="w").to_series().to_dict() == {
            ("f", 31): 2.5,
            ("m", 7): 1.25,
        }
        binned = pt.tabulate(opened, ["w"], bins={"w": [2]})
        assert binned.to_series().to_dict() == {("<2",): 1.0, (">=2",): 1.0}
        assert pt.inspect(opened).columns["type"].to_dict() == {"sex": "text", "w": "number", "age": "integer"}
    with pytest.raises(pt.InvalidTableError, match="has the number 2,5 in row 0"):
        pt.tabulate(path, ["w"])


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ('sex,w\nf,"2,5"\nm,"1,25"\n', {}),  # may be thousands
        ("sex;w\nf;2,5\nm;1,25\n", {"decimal": "."}),
        ("sex;w;v\nf;2,5;1.5\nm;1,25;7\n", {}),
    ],
)
def test_open_records__a_comma_that_may_mean_something_else_is_text(tmp_path: Path, text: str, given: dict) -> None:
    opened = open_records(written(tmp_path / "a.csv", text), **given)
    assert set(pt.tabulate(opened, ["w"]).indexes["profile"].get_level_values("w")) == {"2,5", "1,25"}
    for call, code in (
        (lambda: pt.tabulate(opened, ["sex"], weights="w"), "weights-no-numbers"),
        (lambda: pt.tabulate(opened, ["w"], bins={"w": [2]}), "no-number-to-bin"),
    ):
        with pytest.raises(pt.PurtensorError, match=r"'2,5' in row 0 .*decimal=','\) if") as told:
            call()
        assert told.value.code == code


@pytest.mark.parametrize("cell", ["NA", " ?", ".", "NaN", "NULL", "#N/A"])
def test_open_records__spellings_of_missing_values_are_refused_until_it_is_said_what_they_mean(
    tmp_path: Path, cell: str
) -> None:
    path = written(tmp_path / "a.csv", f"sex,age\nf,31\nm,{cell}\nm,{cell}\n")
    spelling = cell.strip()
    with pytest.raises(pt.InvalidTableError) as told:
        pt.tabulate(path)
    message = str(told.value)
    assert f"attribute 'age' has {cell!r} in 2 of 3 rows (first in row 1)" in message
    assert f"purtensor.records.files.open_records(FILE, missing_values=['{spelling}']) if" in message
    assert told.value.code == "spelled-missing"
    assert told.value.got == [spelling]
    missing = open_records(path, missing_values=[spelling])
    assert pt.tabulate(missing, missing="category").to_series().to_dict() == {("f", 31): 1.0, ("m", "missing"): 2.0}
    assert pt.tabulate(missing, missing="drop").attrs["dropped_rows"] == 2
    category = open_records(path, not_missing=[spelling])
    assert pt.tabulate(category).to_series().to_dict() == {("f", "31"): 1.0, ("m", cell): 2.0}


def test_open_records__quoted_line_ends_and_delimiters(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", 'sex,place\nf,"Bonn, am\nRhein"\nm,"a ""b"""\n')
    assert counted(path) == {("f", "Bonn, am\nRhein"): 1.0, ("m", 'a "b"'): 1.0}


def test_open_records__numbers_that_are_not_whole_have_to_be_binned(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "sex,age\nf,31.5\nm,40\nf,12\n")
    with pytest.raises(pt.InvalidTableError, match=r"'age' has the number 31.5 in row 0 .*bins={'age'"):
        pt.tabulate(path)
    counts = pt.tabulate(path, bins={"age": [30, 40]})
    assert counts.to_series().to_dict() == {("f", "<30"): 1.0, ("f", "30-40"): 1.0, ("m", ">=40"): 1.0}
    assert counts.attrs["bins of age"] == "30,40"


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_open_records__categoricals_keep_their_order(tmp_path: Path, ending: str) -> None:
    frame = FRAME.assign(sex=pd.Categorical(FRAME["sex"], categories=["m", "f", "x"]))
    getattr(frame, f"to_{ending}")(tmp_path / f"a.{ending}")
    found = pt.tabulate(tmp_path / f"a.{ending}").indexes["profile"].levels[0]
    assert list(found) == ["m", "f", "x"]


def test_open_records__a_column_count_has_the_counts_as_in_memory(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": ["f", "m", "f"], "count": [2, 3, 4]})
    path = written(tmp_path / "a.csv", frame.to_csv(index=False))
    for source in (path, frame, pa.Table.from_pandas(frame)):
        assert counted(source) == {("f",): 6.0, ("m",): 3.0}
    assert pt.tabulate(frame, ["sex", "count"]).to_series().to_dict() == {("f", 2): 1.0, ("f", 4): 1.0, ("m", 3): 1.0}


def test_open_records__a_large_file_in_many_blocks_is_as_in_memory(tmp_path: Path) -> None:
    """Several blocks of the parser, whose distinct values come in another order in each."""
    rows = 400_000
    numbers = pd.Series(range(rows))
    frame = pd.DataFrame(
        {"a": numbers // 40_000, "b": (-numbers % 7).map("a label {} \u00e9".format), "w": numbers % 5}
    )
    path = written(tmp_path / "a.csv", frame.to_csv(index=False))
    assert path.stat().st_size > 1 << 22
    expected = pt.tabulate(frame, ["a", "b"], weights="w")
    found = pt.tabulate(path, ["a", "b"], weights="w")
    assert found.to_series().to_dict() == expected.to_series().to_dict()
