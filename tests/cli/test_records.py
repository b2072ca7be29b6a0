"""Files as counts: labels stay what they are."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import purtensor as pt
from purtensor.cli.main import main
from purtensor.cli.records import read_counts


def written(folder: Path, text: str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def categories(table: pt.Marginal, attribute: str) -> list[object]:
    return list(table.indexes["profile"].levels[table.indexes["profile"].names.index(attribute)])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["9", "10", "-3"], [-3, 9, 10]),  # integers, in their own order
        (["01", "10"], ["01", "10"]),  # a leading zero is part of the label
        (["1.0", "2", "2.0"], [1, 2]),  # whole, as other programs write them
        (["na", "missing"], ["missing", "na"]),
        (["True", "False"], ["False", "True"]),
        (["12345678901234567890", "1"], ["1", "12345678901234567890"]),
        (["-0", "0"], ["-0", "0"]),
        (["1\u0663", "2"], ["1\u0663", "2"]),  # a digit of another script is text
    ],
)
def test_read_counts__keeps_labels(tmp_path: Path, texts: list[str], expected: list[object]) -> None:
    counts = read_counts(written(tmp_path, "a\n" + "\n".join(texts) + "\n"))
    assert categories(counts, "a") == expected


def test_read_counts__sums_the_count_column(tmp_path: Path) -> None:
    counts = read_counts(written(tmp_path, "a,count\nu,2\nv,5\nu,1\n"))
    assert counts.to_series().to_dict() == {("u",): 3.0, ("v",): 5.0}


def test_read_counts__sums_named_weights(tmp_path: Path) -> None:
    counts = read_counts(written(tmp_path, "a,w\nu,0.5\nv,1.25\n"), weights="w")
    assert counts.values.tolist() == [0.5, 1.25]


def test_read_counts__refuses_two_columns_of_counts(tmp_path: Path) -> None:
    with pytest.raises(pt.InvalidOptionError, match="'count' and the weights are 'w'"):
        read_counts(written(tmp_path, "a,w,count\nu,1,2\n"), weights="w")


def test_read_counts__reads_weights_to_the_last_digit(tmp_path: Path) -> None:
    weights = np.exp(np.random.default_rng(3).uniform(-30, 30, 200))
    rows = "".join(f"{k},{weight!r}\n" for k, weight in enumerate(weights.tolist()))
    counts = read_counts(written(tmp_path, "a,w\n" + rows), weights="w")
    assert [float(counts.sel(a=k).item()) for k in range(200)] == weights.tolist()


def test_read_counts__names_the_row_of_a_weight_that_is_no_number(tmp_path: Path) -> None:
    with pytest.raises(pt.errors.FileFormatError, match=r"column 'count' of data\.csv has 'two' in row 1"):
        read_counts(written(tmp_path, "a,count\nu,1\nv,two\n"))


def test_read_counts__reads_only_what_is_named(tmp_path: Path) -> None:
    counts = read_counts(written(tmp_path, "id,a,b\n1,u,x\n2,v,y\n3,u,x\n"), ("b", "a"))
    assert counts.to_series().to_dict() == {("x", "u"): 2.0, ("y", "v"): 1.0}


def test_read_counts__missing_texts_are_the_user_s_choice(tmp_path: Path) -> None:
    path = written(tmp_path, "a\nu\n?\n\nv\n".replace("\n\n", '\n""\n'))
    with pytest.raises(pt.InvalidTableError, match="'a'"):
        read_counts(path)
    counts = read_counts(path, missing="drop", text={"missing_values": ["?"]})
    assert counts.to_series().to_dict() == {("u",): 1.0, ("v",): 1.0}


def test_read_counts__integers_stay_integers_beside_missing_values(tmp_path: Path) -> None:
    counts = read_counts(written(tmp_path, "a,b\n3,x\n,x\n10,x\n"), missing="drop")
    assert counts.to_series().to_dict() == {(3, "x"): 1.0, (10, "x"): 1.0}


def test_read_counts__compressed_tab_separated_and_parquet_alike(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["u", "v", "u"], "b": ["x", "x", "y"]})
    with gzip.open(tmp_path / "data.tsv.gz", "wt") as file:
        frame.to_csv(file, sep="\t", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    tables = [read_counts(tmp_path / name) for name in ("data.tsv.gz", "data.parquet")]
    for table in tables:
        assert table.to_series().to_dict() == {("u", "x"): 1.0, ("u", "y"): 1.0, ("v", "x"): 1.0}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,a\n1,2\n", "'a' twice"),
        ("a,\n1,2\n", "column 2 of .*data.csv has no name"),
        ("", "data.csv is empty"),
        ("a,b\n1,2\n1,2,3\n", "has 3 cells in row 2 .* where 2 are expected"),
        ("a,b\n1,2,3,4\n1,2,3,4\n", "has 4 cells in row 1 .* where 2 are expected"),
    ],
)
def test_read_counts__refuses_what_is_no_table(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(pt.errors.FileFormatError, match=told):
        read_counts(written(tmp_path, text))


def test_read_counts__refuses_unknown_kinds_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(pt.errors.FileFormatError, match=r"data\.xls has an unsupported file format"):
        read_counts(written(tmp_path, "", "data.xls"))
    with pytest.raises(pt.errors.FileFormatError, match="damaged, or not a table"):
        read_counts(written(tmp_path, "no parquet at all", "data.parquet"))
    packed = gzip.compress(b"a\n" + b"u\n" * 1000)
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(pt.errors.FileFormatError, match="damaged, or not a table"):
        read_counts(tmp_path / "cut.csv.gz")


def test_project__says_what_to_type_about_missing_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "a,b\n3,x\n4,x\n10,\n")
    assert main(["project", str(path), "--response", "a", "--protected", "b", "--out", str(tmp_path / "o.csv")]) == 2
    told = capsys.readouterr().err
    assert "'b' is missing in 1 of 3 rows (2); rows are counted from 0; give --missing drop to" in told
    assert "or --missing category to count" in told


def test_read_counts__tells_of_unknown_columns_first(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n3,x\n4,\n")
    with pytest.raises(pt.UnknownAttributeError, match=r"no attribute 'c'; data\.csv has a, b"):
        read_counts(path, required=("a", "c"))


@pytest.mark.parametrize("words", [["--response", "z", "--protected", "b"], ["--response", "a", "--protected", "z"]])
def test_main__tells_of_unknown_columns_before_missing_values(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "a,b,c\n3,x,1\n4,,2\n")
    assert main(["project", str(path), *words, "--out", str(tmp_path / "out.nc")]) == 2
    assert "no attribute 'z'; data.csv has a, b, c" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["--response", "--protected"])
def test_compare__tells_of_unknown_columns_before_missing_values(
    tmp_path: Path, column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "a,b,c\n3,x,1\n4,,2\n")
    words = {"--response": "a", "--protected": "b"} | {column: "z"}
    typed = [word for pair in words.items() for word in pair]
    assert main(["compare", str(path), *typed, "--solvers", "ipf", "--out", str(tmp_path / "c")]) == 2
    assert "no attribute 'z'; data.csv has a, b, c" in capsys.readouterr().err


def test_compare__has_the_options_that_it_names_for_missing_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "a,b,c\n" + "3,x,1\n4,x,2\n4,y,2\n3,y,1\n" * 2 + "4,,2\n4,?,2\n")
    words = [
        "compare",
        str(path),
        "--response",
        "a",
        "--protected",
        "b",
        "--solvers",
        "ipf",
        "--repetitions",
        "1",
        "--out",
        str(tmp_path / "c"),
    ]
    assert main(words) == 2
    assert "give --missing-values '?' if that is a missing value (with --missing drop or" in capsys.readouterr().err
    assert main([*words, "--missing-values", "?"]) == 2
    assert "give --missing drop to drop such rows, or --missing category" in capsys.readouterr().err
    assert main([*words, "--missing", "drop", "--missing-values", "?"]) == 0
    assert len(pd.read_csv(tmp_path / "c" / "runs.csv")) == 1


def test_project__missing_values_of_a_reference_have_no_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "a,b\n3,x\n4,x\n3,y\n4,y\n")
    other = written(tmp_path, "a,b\n3,x\n4,\n", "other.csv")
    words = ["--response", "a", "--protected", "b", "--reference", str(other), "--out", str(tmp_path / "o.csv")]
    assert main(["project", str(path), *words]) == 2
    told = capsys.readouterr().err
    assert "remove such rows from other.csv, or fill them" in told
    assert "missing=" not in told
    assert "--missing" not in told


@pytest.mark.parametrize("row", ["3,x", "3", "3,x,1,", "3,x,1,4,y,2"])
@pytest.mark.parametrize("missing", ["raise", "drop", "category"])
def test_read_counts__takes_no_cut_or_joined_row_for_missing_values(tmp_path: Path, row: str, missing: str) -> None:
    path = written(tmp_path, f"a,b,c\n4,x,1\n{row}\n5,y,2\n")
    with pytest.raises(pt.PurtensorError) as caught:
        read_counts(path, missing=missing)
    assert isinstance(caught.value, pt.errors.FileFormatError)
    assert "data.csv" in str(caught.value)


def test_read_counts__names_a_weight_with_digits_of_another_script(tmp_path: Path) -> None:
    with pytest.raises(pt.errors.FileFormatError, match="column 'count' of data\\.csv has '1\u0663' in row 0"):
        read_counts(written(tmp_path, "a,count\nu,1\u0663\nv,2\n"))


@pytest.mark.parametrize(
    "given", ["-", "parts", "part*.csv", "semi.csv", "people.csv.zst", "people.xlsx", "people.dta", "people.sav"]
)
def test_project__reads_whatever_holds_the_records(given, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people = pd.DataFrame({"hired": ["no", "yes"] * 6, "sex": list("ffmm") * 3, "town": ["Köln", "Bonn", "Ulm"] * 4})
    text = people.to_csv(index=False).encode()
    Path("parts").mkdir()
    people[:5].to_parquet("parts/1.parquet")
    people[5:].to_parquet("parts/2.parquet")
    people[:5].to_csv("part1.csv", index=False)
    people[5:].to_csv("part2.csv", index=False)
    people.to_csv("semi.csv", index=False, sep=";")
    with pa.CompressedOutputStream("people.csv.zst", "zstd") as file:
        file.write(text)
    people.to_excel("people.xlsx", index=False)
    people.to_stata("people.dta", write_index=False)
    pyreadstat.write_sav(people, "people.sav")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    words = ["project", given, "--response", "hired", "--protected", "sex", "--conditions", "P", "--out", "fair.csv"]
    assert main([*words, "--weights-out", "weights.csv"]) == 0, capsys.readouterr().err
    f = pt.regularize(pt.tabulate(people), response="hired")
    wanted = pt.project(f, pt.parity(f, response="hired", protected="sex")).table
    assert pt.load("fair.csv").to_series().to_dict() == pytest.approx(wanted.to_series().to_dict(), rel=1e-12)
    written = pd.read_csv("weights.csv")
    assert written["town"].tolist() == people["town"].tolist()
    assert written["weight"].sum() == pytest.approx(12, rel=1e-3)
