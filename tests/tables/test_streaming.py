from __future__ import annotations

import numpy as np
import pandas as pd
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
    with pytest.raises(pt.InvalidTableError, match=f"'sex' is missing in {missing} records"):
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
    with pytest.raises(pt.FileFormatError, match="cannot be read"):
        pt.tabulate(tmp_path / "nothing.parquet")
    with pytest.raises(pt.FileFormatError, match="are read from"):
        pt.tabulate(tmp_path / "records.xlsx")
    with pytest.raises(pt.UnknownAttributeError):
        pt.tabulate(sources(frame(), tmp_path)["glob"], ["nothing"])
