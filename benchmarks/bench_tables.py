"""Tables: from records to counts, to a regularized distribution, to marginals and layouts."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import purtensor as pt
from benchmarks.runs import Brief

SIZES = (10**3, 10**4, 10**5, 10**6)


def records(rows: int) -> pd.DataFrame:
    """Return six attributes of mixed kinds, eight categories each but for the binary response."""
    rng = np.random.default_rng(7)
    words = pd.Index([f"category {i}" for i in range(8)])
    latent = rng.integers(0, 4, rows)
    frame = {"y": rng.integers(0, 2, rows)}
    for i in range(1, 6):
        codes = (2 * latent + rng.integers(0, 3, rows)) % 8
        frame[f"x{i}"] = pd.Categorical.from_codes(codes, words) if i % 2 else codes
    return pd.DataFrame(frame)


def counts(profiles: int) -> xr.DataArray:
    """Return counts of so many profiles, half of those that their six attributes could make or less."""
    rng = np.random.default_rng(7)
    categories = math.ceil((2 * profiles) ** (1 / 6))
    cells = rng.choice(categories**6, profiles, replace=False)
    codes = np.unravel_index(cells, (categories,) * 6)
    return pt.tabulate(
        dict(zip(("y", "x1", "x2", "x3", "x4", "x5"), codes, strict=True)), weights=rng.integers(1, 50, profiles)
    )


class Records(Brief):
    """From records to counts."""

    params = (SIZES,)
    param_names = ("rows",)

    def setup(self, rows):
        self.frame = records(rows)
        self.strings = self.frame.astype(dict.fromkeys(("x1", "x3", "x5"), str))
        pt.tabulate(self.strings)  # the first call loads what the others find loaded

    def time_tabulate(self, rows):
        pt.tabulate(self.frame)

    def time_tabulate_strings(self, rows):
        pt.tabulate(self.strings)

    def peakmem_tabulate(self, rows):
        pt.tabulate(self.frame)


class Files(Brief):
    """From files of records to counts."""

    params = ((10**5, 10**6), ("csv", "parquet"))
    param_names = ("rows", "kind")

    def setup(self, rows, kind):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / f"records.{kind}"
        frame = records(rows)
        frame.to_csv(self.path, index=False) if kind == "csv" else frame.astype(str).to_parquet(self.path)

    def teardown(self, rows, kind):
        self.folder.cleanup()

    def time_tabulate(self, rows, kind):
        pt.tabulate(self.path)

    def peakmem_tabulate(self, rows, kind):
        pt.tabulate(self.path)


class Counts(Brief):
    """From counts to everything else."""

    params = (SIZES,)
    param_names = ("profiles",)

    def setup(self, profiles):
        self.counts = counts(profiles)
        self.dense = pt.to_dense(self.counts)
        pt.regularize(self.counts, response="y")

    def time_regularize(self, profiles):
        pt.regularize(self.counts, response="y")

    def time_marginal(self, profiles):
        pt.marginal(self.counts, ["x2", "x4"])

    def time_marginal_of_dense(self, profiles):
        pt.marginal(self.dense, ["x2", "x4"])

    def time_to_dense(self, profiles):
        pt.to_dense(self.counts)

    def time_to_sparse(self, profiles):
        pt.to_sparse(self.dense)
