"""`purtensor curve`: the price of parity of a file, as numbers, pictures and text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import purtensor as pt
from purtensor.cli.main import main

DATA = "y,s,x,count\n0,0,0,7\n1,0,0,5\n0,1,1,3\n1,1,1,9\n0,0,1,2\n1,0,1,2\n0,1,0,2\n1,1,0,2\n"
PROXY = "y,s,x,count\n0,0,0,3\n1,0,0,2\n0,1,1,1\n1,1,1,4\n"


def run(folder: Path, text: str, out: str, *words: str) -> int:
    path = folder / "data.csv"
    path.write_text(text)
    return main(["curve", str(path), "--response", "y", "--protected", "s", "--out", str(folder / out), *words])


def test_curve__writes_what_parity_curve_returns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, DATA, "price.csv", "--strength", "0.5", "--slacks", "0", "0.02", "0.1") == 0
    found = pd.read_csv(tmp_path / "price.csv", dtype=str).map(float)  # pandas 2 errs in the last digits
    counts = pd.read_csv(tmp_path / "data.csv")
    f = pt.regularize(pt.tabulate(counts[["y", "s", "x"]], weights=counts["count"]), 0.5, response="y")
    curve = pt.parity_curve(f, response="y", protected="s", slacks=[0, 0.02, 0.1])
    for name in ("slack", "kl", "reached", "multiplier", "bound"):
        np.testing.assert_array_equal(found[name].to_numpy(), curve[name].values)
    ratios = curve.disparity_ratio.sel(y=1, s=1).values
    np.testing.assert_array_equal(found["ratio y=1, s=1"].to_numpy(), ratios)
    assert ratios[0] == pytest.approx(1.0)
    assert ratios[2] != pytest.approx(1.0)
    assert (tmp_path / "price.svg").read_text().startswith("<?xml")
    assert (tmp_path / "price.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "smallest violation     0: parity can be reached" in printed
    assert "washed out" in printed
    assert f"{curve.kl.values[0]:.9f}" in printed


def test_curve__goes_from_the_smallest_violation_to_the_data_s(tmp_path: Path) -> None:
    assert run(tmp_path, DATA, "price.parquet", "--points", "5") == 0
    assert run(tmp_path, DATA, "price.nc", "--points", "5") == 0
    found = pd.read_parquet(tmp_path / "price.parquet")
    with xr.open_dataset(tmp_path / "price.nc") as curve:
        assert found["slack"].tolist() == np.linspace(0.0, curve.attrs["violation"], 5).tolist()
        np.testing.assert_array_equal(curve["kl"].values, found["kl"].to_numpy())
        assert curve["disparity_ratio"].dims == ("slack", "y", "s")
    assert found["kl"].iloc[-1] == 0.0
    assert np.all(np.diff(found["kl"]) < 0)


def test_curve__out_of_reach_ends_with_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, PROXY, "price.csv", "--strength", "0", "--slacks", "0.1", "0.2") == 3
    assert pd.read_csv(tmp_path / "price.csv")["kl"].isna().all()
    assert not (tmp_path / "price.svg").exists()
    printed = capsys.readouterr().out
    assert "out of reach" in printed
    assert "parity cannot be reached with utility and realism" in printed
    assert run(tmp_path, PROXY, "price.csv", "--strength", "0") == 0  # one point: 0.4, that of the data
    assert pd.read_csv(tmp_path / "price.csv")["slack"].tolist() == pytest.approx([0.4])


@pytest.mark.parametrize(("out", "words"), [("price.txt", ()), ("nowhere/price.csv", ()), ("p.csv", ("--points", "1"))])
def test_curve__refuses_before_anything_is_computed(tmp_path: Path, out: str, words: tuple[str, ...]) -> None:
    assert run(tmp_path, DATA, out, *words) == 2
    assert run(tmp_path, DATA, "p.csv", "--slacks", "-1") == 2
    assert not list(tmp_path.glob("p*"))
