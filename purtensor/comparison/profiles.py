"""Performance profiles and time to accuracy, from tidy numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd


def performance_profile(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the steps of the performance profiles of solvers (Dolan and More, Math. Program. 91, 2002, 201-213).

    Parameters
    ----------
    runs
        Columns problem, solver, converged, seconds; one row per run.

    Returns
    -------
    pandas.DataFrame
        Columns solver, factor, share: from each factor on, the solver is within it of the fastest on that share of
        the problems which anybody solved. Every solver has a row at factor 1 and one at the largest factor of all.
    """
    solved = runs[runs["converged"]]
    best = solved.groupby("problem")["seconds"].min()
    factors = solved["seconds"].to_numpy() / best.loc[solved["problem"]].to_numpy()
    last = float(factors.max(initial=1.0))
    rows: list[tuple[str, float, float]] = []
    for solver in dict.fromkeys(runs["solver"]):
        own = np.sort(factors[(solved["solver"] == solver).to_numpy()])
        steps = np.unique(np.concatenate([[1.0], own, [last]]))
        shares = np.searchsorted(own, steps, side="right") / max(len(best), 1)
        rows += [(solver, float(factor), float(share)) for factor, share in zip(steps, shares, strict=True)]
    return pd.DataFrame(rows, columns=["solver", "factor", "share"])


def time_to_accuracy(trace: pd.DataFrame, levels: tuple[float, ...], work: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds, and the visits of profiles, after which the residual was first at or below each level.

    Parameters
    ----------
    trace
        Columns problem, solver, iteration, seconds, residual.
    work
        Columns problem, solver, each: the visits of an iteration.

    Returns
    -------
    pandas.DataFrame
        Columns problem, solver, level, seconds, cell_touches; NaN where the level was never reached.
    """
    each = dict(zip(zip(work["problem"], work["solver"], strict=True), work["each"], strict=True))
    rows = []
    for (problem, solver), lines in trace.groupby(["problem", "solver"], sort=False):
        for level in levels:
            reached = lines[lines["residual"] <= level]
            first = reached.iloc[0] if len(reached) else {"seconds": np.nan, "iteration": np.nan}
            rows.append((problem, solver, level, first["seconds"], first["iteration"] * each[problem, solver]))
    return pd.DataFrame(rows, columns=["problem", "solver", "level", "seconds", "cell_touches"])
