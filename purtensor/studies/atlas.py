"""The atlas of rates: 12,096 small PUR problems, 11,346 with the exact spectra of their sweeps (notes/atlas.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

PATH = Path(__file__).parent / "data" / "atlas.parquet"

# what varies: categories of y, s and x, the number of records, the share of the smallest group, lambda
GRID: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "responses": (2, 3),
        "protected": (2, 3),
        "unprotected": (4, 8, 16),
        "records": (100, 1000, 10_000, 100_000),
        "smallest": (0.5, 0.1, 0.02),
        "strength": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0),
    }
)


def atlas() -> pd.DataFrame:
    """Return the atlas, one row a problem.

    Columns: those of `GRID` and `seed`; `profiles` of the support and `observed_profiles` with a record; sweeps a
    decade by exact spectra at the projection: `rate`, `second` (of the second slowest error), `slab` (utility and
    realism alone), `merged` (these two as one step), NaN without a projection inside. For every twelfth problem also
    what runs took to 1e-10: `sweeps` (at most 20,000), `newton`, `newton_at_once` (without warm-up); and of those with
    fewer than 2,000 sweeps a decade the rate that was seen, `observed` by the error and `by_residuals`.

    Examples
    --------
    >>> problems = atlas()
    >>> len(problems), bool((problems["rate"] >= 0.8 * problems[["slab", "merged"]].max(axis=1)).mean() > 0.9)
    (12096, True)
    """
    problems: pd.DataFrame = pd.read_parquet(PATH)
    return problems


def laws(problems: pd.DataFrame) -> pd.DataFrame:
    """Return what the atlas says of each strength of the pseudo-counts.

    Columns `strength`; `problems` with a projection inside; percentiles of the rate, `median`, `p90`, `p99`; `grouped`,
    the share of problems in which one step for utility and realism takes less than half the sweeps; `saved`, how many
    of Newton's steps the warm-up saves on average, and `pays`, the share in which it saves more than the one step that
    its three sweeps cost; `observed` and `by_residuals`, the 5th percentile of what is seen over the exact rate.
    """
    rows = []
    for strength, own in problems[problems["rate"].notna()].groupby("strength"):
        saved = (own["newton_at_once"] - own["newton"]).dropna()
        seen = own[np.isfinite(own["observed"]) & (own["rate"] > 0)]
        rows.append(
            {
                "strength": strength,
                "problems": len(own),
                **{name: own["rate"].quantile(q) for name, q in (("median", 0.5), ("p90", 0.9), ("p99", 0.99))},
                "grouped": (own["rate"] > 2.0 * own["merged"]).mean(),
                "saved": saved.mean(),
                "pays": (saved > 1).mean(),
                **{name: (seen[name] / seen["rate"]).quantile(0.05) for name in ("observed", "by_residuals")},
            }
        )
    return pd.DataFrame(rows)


def powers(problems: pd.DataFrame, smallest: float = 1e-6, next_one: float = 1e-5) -> pd.DataFrame:
    """Return by which power of 1 / lambda the rate of each problem grows between the two smallest strengths.

    One row for each point of the grid without `strength` at which both rates are known: its index, and `power`.
    """
    made_of = [name for name in (*GRID, "seed") if name != "strength"]
    wide = problems.pivot_table(index=made_of, columns="strength", values="rate")[[smallest, next_one]].dropna()
    wide = wide[((wide > 0) & (wide < np.inf)).all(axis=1)]
    power = np.log(wide[smallest] / wide[next_one]) / np.log(next_one / smallest)
    found: pd.DataFrame = power.rename("power").reset_index()
    return found
