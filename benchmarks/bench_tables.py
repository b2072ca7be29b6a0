"""Tables: from records to counts, to a regularized distribution, to marginals and layouts."""

from __future__ import annotations

import numpy as np
import pandas as pd

import purtensor as pt
from benchmarks.runs import Brief

ROWS = (10**3, 10**4, 10**5, 10**6)


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


class Records(Brief):
    """From records to counts."""

    params = (ROWS,)
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


class Counts(Brief):
    """From counts to everything else."""

    params = (ROWS,)
    param_names = ("rows",)

    def setup(self, rows):
        self.counts = pt.tabulate(records(rows))
        self.dense = pt.to_dense(self.counts)
        pt.regularize(self.counts, response="y")

    def time_regularize(self, rows):
        pt.regularize(self.counts, response="y")

    def time_marginal(self, rows):
        pt.marginal(self.counts, ["x2", "x4"])

    def time_marginal_of_dense(self, rows):
        pt.marginal(self.dense, ["x2", "x4"])

    def time_to_dense(self, rows):
        pt.to_dense(self.counts)

    def time_to_sparse(self, rows):
        pt.to_sparse(self.dense)
