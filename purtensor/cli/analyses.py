"""`purtensor curve`, `path` and `proxies`: how the answer depends on the slack, on the pseudo-count, and on columns."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import purtensor as pt
from purtensor._interrupts import hold_interrupts
from purtensor.cli.declarations import DONE, INFEASIBLE, INTERRUPTED
from purtensor.cli.output import NETCDF, require_frame, require_writable, show_facts, show_table, write_frame
from purtensor.cli.question import read_all_counts, read_question
from purtensor.tables.io.atomic import replace_file

_NUMBERS = ["kl", "reached", "multiplier", "bound"]
_ENDINGS = (NETCDF, ".csv", ".parquet")
_MOST_ROWS = 40
# what `path` prints, by its names in the result
_SHOWN = {
    "washed_out_share": "washed out",
    "divergence": "divergence",
    "kl_to_data": "from the data",
    "entropy": "entropy",
    "parity_violation": "violation",
}


def run_curve(arguments: argparse.Namespace) -> int:
    """Read the file, trace the curve, write numbers and pictures, print them, and return the exit code."""
    from purtensor.plots.save_figure import save_figure  # without matplotlib it ends here, before anything is computed

    if arguments.out.suffix not in _ENDINGS:
        raise pt.InvalidOptionError(f"--out must end in one of {', '.join(_ENDINGS)}, got {arguments.out}")
    require_writable(arguments.out)
    if arguments.points < 2:
        raise pt.InvalidOptionError(f"--points must be 2 or more, the two ends, got {arguments.points}")
    question = read_question(arguments)
    show_facts("data", question.facts)
    roles: dict[str, Any] = {"response": arguments.response, "protected": arguments.protected}
    slacks = arguments.slacks
    if slacks is None:
        # the attributes of any curve have both its ends
        ends = pt.parity_curve(question.f, **roles, slacks=[0.0]).attrs
        # unique: where nothing but the violation of the data can be reached both ends are one
        slacks = np.unique(np.linspace(ends["smallest_violation"], ends["violation"], arguments.points))
    curve = pt.parity_curve(question.f, **roles, slacks=slacks)
    is_reached = bool(np.isfinite(curve["kl"].values).any())
    pictures: Sequence[Path] = ()
    if is_reached:
        title = f"The price of parity: {arguments.file.name}"
        axes = pt.plots.plot_parity_curve(curve, title=title)
        pictures = save_figure(axes, arguments.out.with_suffix(""), title=title)
    _write_curve(curve, arguments.out)
    own, smallest, bound = curve.attrs["violation"], curve.attrs["smallest_violation"], float(curve["bound"].max())
    facts = {
        "violation of the data": f"{own:.9g} (L1, total mass 1)",
        "smallest violation": "0: parity can be reached"
        if smallest == 0.0
        else f"{smallest:.9g}: parity cannot be reached with utility and realism",
        "proved": f"each divergence is within {bound:.1e} nats of the least" if is_reached else "",
        "interrupted": curve.attrs.get("interrupted", ""),
        "written to": ", ".join(map(str, [arguments.out, *pictures])),
    }
    show_facts("price of parity", facts)
    _show_curve(curve)
    return INTERRUPTED if "interrupted" in curve.attrs else DONE if is_reached else INFEASIBLE


def _write_curve(curve: xr.Dataset, path: Path) -> None:
    """Write a curve, completely or not at all: as .nc, or .csv and .parquet with a row per slack."""
    if path.suffix != NETCDF:
        write_frame(_curve_frame(curve), path)
        return
    with replace_file(path) as temporary, hold_interrupts():
        curve.to_netcdf(temporary, engine="netcdf4")


def _curve_frame(curve: xr.Dataset) -> pd.DataFrame:
    """Return one row a slack: its numbers, then the disparity ratio of each response and group that exists."""
    ratios = curve["disparity_ratio"]
    names = [str(name) for name in ratios.dims[1:]]
    numbers = pd.DataFrame({"slack": curve["slack"].values, **{name: curve[name].values for name in _NUMBERS}})
    wide: pd.DataFrame = ratios.stack(profile=names).transpose("slack", "profile").to_pandas()  # type: ignore[assignment]
    labels = [", ".join(f"{name}={label}" for name, label in zip(names, at, strict=True)) for at in wide.columns]
    wide = wide.reset_index(drop=True).set_axis([f"ratio {label}" for label in labels], axis=1)
    return pd.concat([numbers, wide.dropna(axis=1, how="all")], axis=1)


def _show_curve(curve: xr.Dataset) -> None:
    numbers = curve[_NUMBERS].to_dataframe()[_NUMBERS].assign(ratio=_lowest_ratios(curve, "slack"))
    rows = [
        (f"{slack:.6g}", f"{kl:.9f}", f"{reached:.6g}", f"{slope:.4g}", f"{ratio:.4f}")
        if math.isfinite(kl)
        else (f"{slack:.6g}", "out of reach", "", "", "")
        for slack, kl, reached, slope, _, ratio in numbers.itertuples(name=None)
    ]
    columns = ("allowed violation", "divergence", "reached", "slope", "lowest ratio")
    show_table("divergence in nats; slope: nats per unit of violation given up", columns, rows)


def _lowest_ratios(found: xr.Dataset, over: str) -> Any:
    """Return the lowest disparity ratio of any response and group."""
    ratios = found["disparity_ratio"]
    return ratios.min([name for name in ratios.dims if name != over]).values


def run_path(arguments: argparse.Namespace) -> int:
    """Read the file, project for each pseudo-count, print and write the numbers, and return the exit code."""
    # refused before hours of projections
    _require_out(arguments)
    found = pt.strength_path(
        read_all_counts(arguments),
        arguments.strengths,
        response=arguments.response,
        protected=arguments.protected,
        conditions=arguments.conditions,
    )
    numbers = found[list(_SHOWN)].to_dataframe()[list(_SHOWN)]
    numbers["lowest ratio"] = _lowest_ratios(found, "strength")
    rows = [(f"{strength:g}", *map("{:.6g}".format, row)) for strength, *row in numbers.itertuples(name=None)]
    show_table("projections by pseudo-count, in nats", ("pseudo-count", *_SHOWN.values(), "lowest ratio"), rows)
    return _end("path", arguments, numbers.reset_index(), found.attrs)


def run_proxies(arguments: argparse.Namespace) -> int:
    """Read the file, rank its columns, print and write the numbers, and return the exit code."""
    _require_out(arguments)
    question = read_question(arguments)
    found = pt.proxies(
        question.f, response=arguments.response, protected=arguments.protected, largest=arguments.largest
    )
    show_facts("data", question.facts)
    rows = [
        (names, str(size), verdict, f"{violation:.4g}", "out of reach" if math.isinf(kl) else f"{kl:.6f}")
        for names, size, verdict, violation, kl in found.itertuples(index=False)
    ]
    title = "what parity costs with each set of columns, the worst first; divergence in nats"
    show_table(title, ("", "columns", "verdict", "smallest violation", "divergence"), rows, _MOST_ROWS)
    return _end("proxies", arguments, found, found.attrs)


def _require_out(arguments: argparse.Namespace) -> None:
    if arguments.out is not None:
        require_frame(arguments.out, "--out")


def _end(name: str, arguments: argparse.Namespace, numbers: pd.DataFrame, attrs: dict[Any, Any]) -> int:
    """Write the numbers, if they are wanted, print whether they are all, and return the exit code."""
    if arguments.out is not None:
        write_frame(numbers, arguments.out)
    show_facts(name, {"interrupted": attrs.get("interrupted", ""), "written to": str(arguments.out or "")})
    # what was done until Ctrl-C is written, and the code says that it is not all
    return INTERRUPTED if "interrupted" in attrs else DONE
