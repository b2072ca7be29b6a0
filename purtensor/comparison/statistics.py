"""What the runs of a comparison say together: performance profiles, paired tests, and growth with the size."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy import stats

# pairs, below which no test says anything
_FEWEST = 5


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


def compare_pairs(runs: pd.DataFrame, to: str, measure: str) -> pd.DataFrame:
    """Return for each solver how its measure compares with that of `to` on the problems that both solved.

    Columns solver, problems, better, ratio, low, high, p: how many problems there are and on how many it was better;
    the median ratio with the ends between which it is with 95 % confidence, by the sign test's order statistics; and
    the p value of Wilcoxon's signed-rank test on the logarithms, adjusted for the number of solvers after Holm (1979).
    NaN where fewer than five problems differ.
    """
    solved = runs[runs["converged"] & (runs[measure] > 0)]
    wide = solved.pivot_table(index="problem", columns="solver", values=measure, sort=False)
    rows = []
    for solver in dict.fromkeys(runs["solver"]):
        if solver == to or to not in wide or solver not in wide:
            continue
        logs = np.log((wide[solver] / wide[to]).dropna().to_numpy())
        # ties say nothing in Wilcoxon's test
        moved = logs[logs != 0.0]
        p = float(stats.wilcoxon(moved).pvalue) if len(moved) >= _FEWEST else math.nan
        low, high = _ends(np.sort(logs))
        middle = float(np.median(logs)) if len(logs) else math.nan
        rows.append((solver, len(logs), int((logs < 0).sum()), *map(math.exp, (middle, low, high)), p))
    found = pd.DataFrame(rows, columns=["solver", "problems", "better", "ratio", "low", "high", "p"])
    found["p"] = _holm(found["p"].to_numpy(dtype=np.float64))
    return found


def growth(runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return for each solver by which power of the number of profiles its measure grows over the problems it solved.

    Columns solver, problems, power, error: least squares of logarithms, with the standard error of the slope; NaN with
    fewer than three sizes.
    """
    rows = []
    for solver, own in runs[runs["converged"] & (runs[measure] > 0)].groupby("solver", sort=False):
        sizes = np.log(own["profiles"].to_numpy(dtype=np.float64))
        if len(np.unique(sizes)) < 3:
            rows.append((solver, len(own), math.nan, math.nan))
            continue
        line = stats.linregress(sizes, np.log(own[measure].to_numpy(dtype=np.float64)))
        rows.append((solver, len(own), float(line.slope), float(line.stderr)))
    return pd.DataFrame(rows, columns=["solver", "problems", "power", "error"])


def _ends(ordered: np.ndarray) -> tuple[float, float]:
    """Return the order statistics between which the median is with 95 % confidence; infinite for too few."""
    count = len(ordered)
    below = int(stats.binom.ppf(0.025, count, 0.5)) if count else 0
    if below < 1:
        return -math.inf, math.inf
    return float(ordered[below - 1]), float(ordered[count - below])


def _holm(p: np.ndarray) -> np.ndarray:
    """Return p values adjusted for their number, after Holm; NaN stays."""
    adjusted, known = p.copy(), np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known])]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted
