"""`purtensor curve`: what each allowed violation of parity costs on the user's own data, as numbers and a picture."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from purtensor._interrupts import undisturbed
from purtensor.cli.endings import DONE, INFEASIBLE, INTERRUPTED
from purtensor.cli.output import show_facts, show_table, write_frame
from purtensor.cli.question import read_question, require_writable
from purtensor.errors import InvalidOptionError
from purtensor.fairness.curve import parity_curve
from purtensor.plots.price import plot_parity_curve
from purtensor.plots.save_figure import save_figure
from purtensor.tables.io.atomic import replace_file

_NUMBERS = ("kl", "reached", "multiplier", "bound")
_ENDINGS = (".nc", ".csv", ".parquet")


def run(arguments: argparse.Namespace) -> int:
    """Read the file, trace the curve, write numbers and pictures, print them, and return the exit code."""
    if arguments.out.suffix not in _ENDINGS:
        raise InvalidOptionError(f"--out must end in one of {', '.join(_ENDINGS)}, got {arguments.out}")
    require_writable(arguments.out)
    if arguments.points < 2:
        raise InvalidOptionError(f"--points must be 2 or more, the two ends, got {arguments.points}")
    question = read_question(arguments)
    show_facts("data", question.facts)
    roles: dict[str, Any] = {"response": arguments.response, "protected": arguments.protected}
    slacks = arguments.slacks
    if slacks is None:
        # the attributes of any curve have both its ends
        ends = parity_curve(question.f, **roles, slacks=[0.0]).attrs
        # unique: where nothing but the violation of the data can be reached both ends are one
        slacks = np.unique(np.linspace(ends["smallest_violation"], ends["violation"], arguments.points))
    curve = parity_curve(question.f, **roles, slacks=slacks)
    pictures = _pictures(curve, arguments.out, arguments.file.name)
    write_curve(curve, arguments.out)
    show_facts("price of parity", _facts(curve, [arguments.out, *pictures]))
    _show(curve)
    if "interrupted" in curve.attrs:
        return INTERRUPTED
    return DONE if _is_reached(curve) else INFEASIBLE


def write_curve(curve: xr.Dataset, path: Path) -> None:
    """Write a curve, completely or not at all: as .nc, or .csv and .parquet with a row per slack."""
    if path.suffix != ".nc":
        write_frame(curve_frame(curve), path)
        return
    with replace_file(path) as temporary, undisturbed():
        curve.to_netcdf(temporary, engine="netcdf4")


def curve_frame(curve: xr.Dataset) -> pd.DataFrame:
    """Return one row a slack: its numbers, then the disparity ratio of each response and group that exists."""
    columns: dict[str, Any] = {"slack": curve["slack"].values, **{name: curve[name].values for name in _NUMBERS}}
    ratios = curve["disparity_ratio"]
    names = [str(name) for name in ratios.dims[1:]]
    for at, series in ratios.stack(profile=names).transpose("profile", "slack").to_series().groupby(names, sort=False):
        labels = at if isinstance(at, tuple) else (at,)
        if series.notna().any():
            what = ", ".join(f"{name}={label}" for name, label in zip(names, labels, strict=True))
            columns[f"ratio {what}"] = series.to_numpy()
    return pd.DataFrame(columns)


def _pictures(curve: xr.Dataset, out: Path, data: str) -> Sequence[Path]:
    if not _is_reached(curve):
        return ()  # nothing that was requested can be reached: the numbers say so
    title = f"The price of parity: {data}"
    return save_figure(plot_parity_curve(curve, title=title), out.with_suffix(""), title=title)


def _is_reached(curve: xr.Dataset) -> bool:
    """Return whether any of the violations that are allowed can be reached."""
    return bool(np.isfinite(curve["kl"].values).any())


def _facts(curve: xr.Dataset, written: Sequence[Path]) -> dict[str, str]:
    own, smallest = curve.attrs["violation"], curve.attrs["smallest_violation"]
    return {
        "violation of the data": f"{own:.9g} (L1, total mass 1)",
        "smallest violation": "0: parity can be reached"
        if smallest == 0.0
        else f"{smallest:.9g}: parity cannot be reached with utility and realism",
        "proved": f"each divergence is within {float(curve['bound'].max()):.1e} nats of the least"
        if _is_reached(curve)
        else "",
        "interrupted": curve.attrs.get("interrupted", ""),
        "written to": ", ".join(map(str, written)),
    }


def _show(curve: xr.Dataset) -> None:
    lowest = curve["disparity_ratio"].min([name for name in curve["disparity_ratio"].dims if name != "slack"])
    rows = [
        (
            f"{slack:.6g}",
            *(
                (f"{kl:.9f}", f"{reached:.6g}", f"{slope:.4g}", f"{ratio:.4f}")
                if np.isfinite(kl)
                else ("out of reach", "", "", "")
            ),
        )
        for slack, kl, reached, slope, ratio in zip(
            curve["slack"].values,
            curve["kl"].values,
            curve["reached"].values,
            curve["multiplier"].values,
            lowest.values,
            strict=True,
        )
    ]
    show_table(
        "divergence in nats; slope: nats per unit of violation given up",
        ("allowed violation", "divergence", "reached", "slope", "lowest ratio"),
        rows,
    )
