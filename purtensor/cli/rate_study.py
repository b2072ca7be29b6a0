"""`purtensor compare --study`: how many sweeps PUR needs against lambda, the number of records, or granularity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from purtensor.cli.endings import DONE, INTERRUPTED
from purtensor.cli.output import show_facts, show_table, write_frame
from purtensor.cli.progress import bar
from purtensor.plots.rates import plot_rates
from purtensor.plots.save_figure import save_figure
from purtensor.studies.rate_studies import MOST_SWEEPS, STUDIES, TOLERANCES, study_rate


def write_study(name: str, problem: str, out: Path, executor: Any = None) -> int:
    """Compute a study of a problem, print its table, write it into `out` as CSV, SVG and PNG, return the exit code.

    After Ctrl-C that is what was done until then.
    """
    study = STUDIES[name]
    with bar(f"study {name}", len(study.values)) as shown:
        found = study_rate(name, problem=problem, values=study.values, executor=executor, on_value=shown.done)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}_{problem}.csv"
    write_frame(found, path)
    title = f"{study.title}: problem {problem}"
    axes = plot_rates(found[found["failure"] == ""], axis=study.axis, title=title, most=MOST_SWEEPS)
    drawn = save_figure(axes, path.with_suffix(""), title=study.title)
    show_study(found, study.title)
    interrupted = found.attrs.get("interrupted", "")
    written = {"numbers": path.name, "figure": ", ".join(file.name for file in drawn), "interrupted": interrupted}
    show_facts(f"written to {out}", written)
    return INTERRUPTED if interrupted else DONE


def show_study(found: pd.DataFrame, title: str) -> None:
    """Print a line per value: sweeps to each tolerance, the predicted rate, and what is slow."""
    rows = []
    for value, lines in found.groupby("value", sort=True):
        counts = lines.set_index("tolerance")["sweeps"]
        first = lines.iloc[0]
        rows.append(
            (
                f"{value:g}",
                *("more" if pd.isna(counts[tolerance]) else f"{counts[tolerance]:,}" for tolerance in TOLERANCES),
                f"{first['sweeps_per_decade']:,.4g}",
                "" if pd.isna(first["profiles"]) else f"{first['profiles']:,}",
                f"{100 * first['pseudo_count_share']:.1f} %",
                first["failure"] or f"{first['slowest']} ({100 * first['slowest_share']:.0f} %)",
            )
        )
    columns = (
        found["study"].iloc[0],
        *(f"to {tolerance:g}" for tolerance in TOLERANCES),
        "per decade",
        "profiles",
        "without record",
        "slowest profile",
    )
    show_table(f"{title}: sweeps of IPF, problem {found['problem'].iloc[0]}", columns, rows)
