"""`purtensor relax`: the nearest distribution to a file where not everything can hold."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import purtensor as pt
from purtensor.cli.main import main

DATA = "y,s,x,count\n0,0,0,7\n1,0,0,5\n0,1,1,3\n1,1,1,9\n0,0,1,2\n1,0,1,2\n0,1,0,2\n1,1,0,2\n"
# the proxy problem with 0.01 on all profiles: the least violation is 0.32 / 1.08
PROXY = "y,s,x,count\n0,0,0,31\n1,0,0,21\n0,1,1,11\n1,1,1,41\n0,0,1,1\n1,0,1,1\n0,1,0,1\n1,1,0,1\n"


def run(folder: Path, text: str, *words: str) -> int:
    path = folder / "data.csv"
    path.write_text(text)
    roles = ("--response", "y", "--protected", "s", "--strength", "0")
    return main(["relax", str(path), *roles, "--out", str(folder / "near.csv"), *words])


def written(folder: Path) -> pd.Series:
    return pd.read_csv(folder / "near.csv").set_index(["y", "s", "x"])["probability"]


def violation(p: pd.Series) -> float:
    pairs = p.groupby(["y", "s"]).sum().unstack("s")
    return float((pairs - pairs.sum(axis=1).to_numpy()[:, None] * pairs.sum().to_numpy()).abs().to_numpy().sum())


def test_relax__of_a_large_strength_has_the_smallest_violation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, PROXY, "--penalty", "l1", "--penalty-strength", "1000") == 0
    assert violation(written(tmp_path)) == pytest.approx(0.32 / 1.08, abs=1e-9)
    printed = capsys.readouterr().out
    assert "missed of y x s  0.296296296 (L1), soft" in printed
    assert "l1, strength 1000" in printed
    assert "washed out" in printed
    assert "disparity ratio, p(y | group)" in printed


def test_relax__writes_what_relax_returns(tmp_path: Path) -> None:
    assert run(tmp_path, DATA, "--soft", "PU", "--penalty", "quadratic", "--penalty-strength", "3") == 0
    counts = pd.read_csv(tmp_path / "data.csv")
    f = pt.regularize(pt.tabulate(counts[["y", "s", "x"]], weights=counts["count"]), 0, response="y")
    relaxed = pt.relax(f, pt.pur(f, response="y", protected="s"), soft=[0, 1], penalty="quadratic", strength=3)
    pd.testing.assert_series_equal(
        written(tmp_path).sort_index(),
        relaxed.table.to_series().sort_index(),
        check_names=False,
        check_index_type=False,
    )
    assert 1e-3 < violation(written(tmp_path)) < violation(f.to_series()) - 1e-3


@pytest.mark.parametrize("soft", ["X", "", "PP"])
def test_relax__soft_letters_are_conditions(tmp_path: Path, soft: str) -> None:
    assert run(tmp_path, DATA, "--soft", soft) == (0 if soft == "PP" else 2)


def test_relax__hard_conditions_that_cannot_hold_end_with_three(tmp_path: Path) -> None:
    proxy = "y,s,x,count\n0,0,0,3\n1,0,0,2\n0,1,1,1\n1,1,1,4\n"
    assert run(tmp_path, proxy, "--soft", "R") == 3
    assert run(tmp_path, proxy, "--soft", "R", "--penalty-strength", "0") == 2


def test_relax__writes_the_whole_result_as_netcdf(tmp_path: Path) -> None:
    assert run(tmp_path, DATA, "--out", str(tmp_path / "near.nc")) == 0
    result = pt.load(tmp_path / "near.nc")
    assert result.converged
    assert result.soft == (0,)
    assert len(result.multipliers) == 3
    assert run(tmp_path, DATA) == 0
    expected = written(tmp_path).sort_index().to_numpy()
    assert result.table.to_series().sort_index().to_numpy() == pytest.approx(expected)
    # and it serves as a reference
    assert run(tmp_path, DATA, "--reference", str(tmp_path / "near.nc")) == 0
