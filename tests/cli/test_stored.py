"""Commands on stored tables."""

from __future__ import annotations

from pathlib import Path

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.cli.main import main

pytest.importorskip("zarr")

ROLES = ("--response", "y", "--protected", "s")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def stored(tmp_path: Path) -> pt.results.StoredTable:
    rng = np.random.default_rng(0)
    records = {name: rng.integers(0, size, 2000) for name, size in (("y", 2), ("s", 3), ("x", 12))}
    f = pt.regularize(pt.tabulate(records), response="y")
    return pt.store_table(f, tmp_path / "f.zarr", chunk=20)


def test_project__writes_a_stored_table(stored, tmp_path, capsys) -> None:
    assert main(["project", str(stored.path), *ROLES, "--out", str(tmp_path / "fair.zarr")]) == 0
    printed = capsys.readouterr().out
    assert "72 stored of 72" in printed
    assert "every constraint is met to the tolerance" in printed
    assert "disparity ratio" in printed
    fair = pt.results.open_table(tmp_path / "fair.zarr").to_table()
    expected = pt.project(stored.to_table(), pt.pur(stored.to_table(), response="y", protected="s")).table
    assert fair.to_series().sort_index().values == pytest.approx(expected.to_series().sort_index().values, abs=1e-9)


def test_project__writes_a_whole_result(stored, tmp_path) -> None:
    assert main(["project", str(stored.path), *ROLES, "--out", str(tmp_path / "result")]) == 0
    assert pt.verify(pt.load(tmp_path / "result")).passed


def test_project__stays_close_to_another_stored_table(stored, tmp_path, capsys) -> None:
    even = pt.store_table(pt.uniform(stored.to_table()), tmp_path / "even.zarr")
    out = tmp_path / "fair.zarr"
    assert main(["project", str(stored.path), *ROLES, "--reference", str(even.path), "--out", str(out)]) == 0
    assert main(["project", str(stored.path), *ROLES, "--reference", "uniform", "--out", str(out)]) == 2
    assert "another stored table" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--strength", "1"), ("--unprotected", "x"), ("--weights", "x")])
def test_project__refuses_words_that_change_the_table(stored, tmp_path, capsys, words) -> None:
    assert main(["project", str(stored.path), *ROLES, *words, "--out", str(tmp_path / "fair.zarr")]) == 2
    assert f"{words[0]} needs records" in capsys.readouterr().err


def test_diagnose__of_stored_tables(stored, tmp_path, capsys) -> None:
    assert main(["diagnose", str(stored.path), *ROLES]) == 0
    printed = capsys.readouterr().out
    assert "interior" in printed
    assert "a solution, checked (interval)" in printed
    proxy = {"y": [0, 1, 0, 1], "s": [0, 0, 1, 1], "x": [0, 0, 1, 1]}
    pt.store_table(pt.tabulate(proxy, weights=[3, 2, 1, 4]), tmp_path / "proxy.zarr")
    assert main(["diagnose", str(tmp_path / "proxy.zarr"), *ROLES]) == 3
    printed = capsys.readouterr().out
    assert "a certificate, checked" in printed
    assert "It can only lie in" in printed
    assert main(["diagnose", str(tmp_path), *ROLES]) == 2
