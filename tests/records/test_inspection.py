from __future__ import annotations

import ast
import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import purtensor as pt
from purtensor.records.files import open_records

ROWS = 600
RNG = np.random.default_rng(3)
SEX = RNG.choice(["f", "m"], ROWS)
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(ROWS),
        "sex": SEX,
        "age": RNG.integers(17, 90, ROWS),
        "spouse": np.where(SEX == "f", "husband", "wife"),
        "job": RNG.choice(["a", "b", "?"], ROWS),
        "paid": RNG.choice(["low", "high"], ROWS),
        "pweight": RNG.random(ROWS).round(3) + 0.5,
        "land": "here",
    }
)
LOOKS = {
    "id": "identifier",
    "sex": "attribute",
    "age": "number to bin",
    "spouse": "proxy",
    "job": "attribute",
    "paid": "attribute",
    "pweight": "weight or count",
    "land": "constant",
}


@pytest.fixture(params=["pandas", "polars", "lazy", "pyarrow", "duckdb", "dict", "csv", "parquet", "feather"])
def people(request, tmp_path):
    path = tmp_path / f"people.{request.param}"
    if request.param in ("csv", "parquet", "feather"):
        PEOPLE.to_csv(path, index=False) if request.param == "csv" else getattr(PEOPLE, f"to_{request.param}")(path)
        return path
    return {
        "pandas": lambda: PEOPLE,
        "polars": lambda: pl.from_pandas(PEOPLE),
        "lazy": lambda: pl.from_pandas(PEOPLE).lazy(),
        "pyarrow": lambda: pa.Table.from_pandas(PEOPLE),
        "duckdb": lambda: duckdb.sql("from PEOPLE"),
        "dict": lambda: {name: PEOPLE[name].to_numpy() for name in PEOPLE},
    }[request.param]()


def test_inspect__tells_the_same_of_every_kind_of_records(people):
    found = pt.inspect(people, response="paid")
    assert found.rows == ROWS
    assert found.columns["looks_like"].to_dict() == LOOKS
    assert found.columns["missing"].to_dict() == {**dict.fromkeys(LOOKS, 0), "job": int((PEOPLE["job"] == "?").sum())}
    assert found.columns["categories"].to_dict() == {**PEOPLE.nunique().to_dict(), "job": 2}
    assert found.columns.loc["spouse", "tells"] == pytest.approx(1.0)
    assert found.columns.loc["job", "tells"] < 0.05
    told = "\n".join(found.warnings)
    for part in (
        "'id' has 600 categories",
        "bins={'age'",
        "weights='pweight'",
        "if they are missing",
        "'land' has only one",
    ):
        assert part in told


def test_inspect__counts_the_profiles_that_a_projection_is_over():
    found = pt.inspect(PEOPLE, response="paid", protected="sex")
    kept = PEOPLE.assign(age=pd.qcut(PEOPLE["age"], 4))[["sex", "age", "spouse", "job", "paid"]]
    assert abs(found.profiles - len(kept.drop_duplicates())) <= 4  # a tie at a quantile may fall on either side
    counts = pt.tabulate(PEOPLE, ["sex", "age", "spouse", "job", "paid"], bins={"age": "quantiles:4"})
    assert found.profiles == counts.size
    assert found.supported == pt.regularize(counts, response="paid").size


def test_inspect__the_command_it_tells_runs(tmp_path, monkeypatch, capsys):
    from purtensor.cli.main import main

    monkeypatch.chdir(tmp_path)
    PEOPLE.drop(columns="spouse").to_csv("people.csv", index=False)
    command = pt.inspect("people.csv", response="paid").command("people.csv")
    assert "'?'" in command
    words = [word.strip("'") for word in command.split()]
    assert main(words[1:]) == 0, capsys.readouterr().err
    counts = pt.load("fair.csv")
    assert set(counts.indexes["profile"].names) == {"paid", "sex", "age", "job"}


def test_inspect__a_column_that_is_not_there_and_no_rows():
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'wage'; this set of records has id, sex"):
        pt.inspect(PEOPLE, response="wage")
    with pytest.raises(pt.InvalidTableError, match="nothing to inspect"):
        pt.inspect(PEOPLE.head(0))


def test_inspect__lists_are_told_and_left_out():
    found = pt.inspect({"a": ["x", "y"], "b": pd.Series([[1], [2]])})
    assert found.columns["looks_like"].to_dict() == {"a": "attribute", "b": "values of several types"}
    assert found.profiles == 2


@pytest.mark.filterwarnings("error")
def test_tabulate__warns_of_columns_that_nobody_named(tmp_path):
    frame = PEOPLE[["sex", "paid"]].assign(Freq=1)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for records in (frame, tmp_path / "t.csv", pl.from_pandas(frame).lazy()):
        with pytest.warns(pt.errors.SuspiciousColumnWarning, match="give weights='Freq'"):
            assert pt.tabulate(records).indexes["profile"].names == ["sex", "paid", "Freq"]
        pt.tabulate(records, ["sex", "Freq"])
        pt.tabulate(records, weights="Freq")


def test_tabulate__a_fraction_in_a_column_of_weights_says_so(tmp_path):
    PEOPLE.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(pt.InvalidTableError, match="give weights='pweight' if it is the number"):
        pt.tabulate(open_records(tmp_path / "t.csv"), ["sex", "pweight"])


@pytest.mark.filterwarnings("error")
def test_tabulate__warns_of_what_other_programs_write_for_missing_values(tmp_path):
    frame = pd.DataFrame({"job": ["a", " ?", "b"], "sex": ["f", "m", "m"]})
    frame.to_parquet(tmp_path / "t.parquet")
    for records in (frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy(), tmp_path / "t.parquet"):
        with pytest.warns(
            pt.errors.SuspiciousColumnWarning, match="'job' has the category ' \\?', which other programs"
        ):
            assert pt.tabulate(records, ["job"]).sum() == 3
    frame.to_csv(tmp_path / "t.csv", index=False)
    counts = pt.tabulate(open_records(tmp_path / "t.csv", not_missing=["?"]))
    assert counts.sum() == 3


def test_inspect__advises_what_can_be_typed(tmp_path):
    path = tmp_path / "people.csv"
    PEOPLE.to_csv(path, index=False)
    assert any("replace it by None if they are missing" in each for each in pt.inspect(PEOPLE).warnings)
    told = " ".join(pt.inspect(path).warnings)
    typed = re.search(r"purtensor\.records\.files\.open_records\(FILE, missing_values=(.*?)\)", told)
    opened = open_records(path, missing_values=ast.literal_eval(typed[1]))
    assert pt.inspect(opened).columns.loc["job", "missing"] == (PEOPLE["job"] == "?").sum()
    assert "other programs" not in " ".join(pt.inspect(opened).warnings)
