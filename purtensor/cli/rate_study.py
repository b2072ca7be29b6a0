"""`purtensor compare --study`: sweeps of PUR against lambda, the number of records, or granularity; the atlas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from purtensor.cli.declarations import DONE, INTERRUPTED
from purtensor.cli.output import bar, show_facts, show_frame, show_table, write_frame
from purtensor.plots.rates import plot_atlas, plot_rates
from purtensor.plots.save_figure import save_figure
from purtensor.studies.atlas import atlas, laws, powers
from purtensor.studies.rate_studies import MOST_SWEEPS, STUDIES, TOLERANCES, study_rate


def write_study(name: str, problem: str, out: Path, executor: Any = None) -> int:
    """Compute a study of a problem, print its table, write it into `out` as CSV, SVG and PNG, return the exit code.

    After Ctrl-C that is what was done until then.
    """
    if name == "atlas":
        return _write_atlas(out)
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


def _write_atlas(out: Path) -> int:
    """Print the laws of the atlas of rates, write it whole, and draw it; it was computed once, and has no problem."""
    problems = atlas()
    found, power = laws(problems), powers(problems)
    out.mkdir(parents=True, exist_ok=True)
    for frame, file in ((problems, "atlas.csv"), (found, "atlas_laws.csv"), (power, "atlas_powers.csv")):
        write_frame(frame, out / file)
    drawn = save_figure(plot_atlas(problems, power), out / "atlas", title="The atlas of rates")
    show_frame(f"the atlas: {len(problems):,} small PUR problems", found.map("{:,.3g}".format))
    numbers = "atlas.csv, atlas_laws.csv, atlas_powers.csv"
    show_facts(f"written to {out}", {"numbers": numbers, "figure": ", ".join(file.name for file in drawn)})
    return DONE


def show_study(found: pd.DataFrame, title: str) -> None:
    """Print a line per value: sweeps to each tolerance, the predicted rate, and what is slow."""
    rows = []
    for value, lines in found.groupby("value", sort=True):
        # one line for each tolerance; the rest of the line is the same
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
