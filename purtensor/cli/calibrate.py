"""`purtensor calibrate`: weights for the records of the user's own file, which meet the user's controls."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import purtensor as pt
from purtensor.cli.output import require_frame, require_writable, show_facts, show_table, write_frame
from purtensor.cli.records import read_frame

_MOST_ROWS = 40


def run(arguments: argparse.Namespace) -> None:
    """Read the files, calibrate, write the records with their weights, and print what was reached."""
    _check_written(arguments)
    records = read_frame(arguments.file, arguments)
    members = None if arguments.members is None else read_frame(arguments.members, arguments)
    if arguments.template is not None:
        return _write_template(arguments, records, members)
    for path, frame in ((arguments.file, records), (arguments.members, members)):
        if frame is not None:
            refuse_column(arguments.name, frame, path)
    controls = read_frame(arguments.controls, arguments)
    found = pt.calibrate(
        records,
        controls,
        weights=arguments.weights,
        members=members,
        key=arguments.key,
        total=_total(arguments.total),
        size=arguments.size,
        **closeness(arguments),
    )
    written = records.assign(**{arguments.name: found.array})
    # a column per draw, for standard errors of estimates by replication
    if arguments.bootstrap:
        boot = found.bootstrap(arguments.bootstrap, seed=arguments.seed)
        names = [f"{arguments.name}_{k + 1}" for k in range(arguments.bootstrap)]
        written = pd.concat([written, pd.DataFrame(boot, columns=names, index=written.index)], axis=1)
    write_frame(written, arguments.out)
    facts = {**found.summary(), "written to": str(arguments.out)}
    if members is not None and arguments.members_out is not None:
        write_frame(members.assign(**{arguments.name: found.member_weights}), arguments.members_out)
        facts["members"] = str(arguments.members_out)
    if arguments.report is not None:
        from purtensor.report.calibration import write_calibration_report  # needs jinja2, which weights do not

        how = {"title": f"Calibration of weights: {arguments.file.name}", "command": arguments.typed}
        facts["report"] = str(write_calibration_report(found, arguments.report, curve=arguments.curve, **how))
    show_facts("calibration", facts)
    _show_controls(found)
    return None


def closeness(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how near weights stay to the design weights, as `calibrate` takes it."""
    names = ("bounds", "weight_bounds", "relative_to", "distance", "tolerance")
    return {name: getattr(arguments, name) for name in names}


def refuse_column(name: str, frame: pd.DataFrame, path: Path) -> None:
    """Refuse a file that has the column of the weights already."""
    if name in frame:
        raise pt.InvalidOptionError(f"{path.name} already has a column {name!r}: choose another --name")


def _check_written(arguments: argparse.Namespace) -> None:
    """Refuse what could not be written, or makes no sense together, before anything is read."""
    if arguments.template is not None:
        if not arguments.scopes:
            raise pt.InvalidOptionError("--template needs --scopes, the columns to control")
        if arguments.controls is not None or arguments.report is not None:
            raise pt.InvalidOptionError("--template writes the controls to fill in: remove --controls and --report")
    elif arguments.controls is None:
        raise pt.InvalidOptionError("give --controls FILE, or --template FILE with --scopes to create one to fill in")
    elif arguments.scopes:
        raise pt.InvalidOptionError("--scopes applies to --template only: the controls contain their scopes")
    path = arguments.out if arguments.template is None else arguments.template
    if path is None:
        raise pt.InvalidOptionError("give --out FILE, to which the records are written with their weights")
    require_frame(path, "--out" if arguments.template is None else "--template")
    if arguments.members_out is not None:
        if arguments.members is None:
            raise pt.InvalidOptionError("--members-out needs --members: without them all weights are written to --out")
        require_frame(arguments.members_out, "--members-out")
    if arguments.report is not None:
        if arguments.report.suffix.lower() not in (".html", ".htm"):
            raise pt.InvalidOptionError(f"--report must end in .html, got {arguments.report.name}")
        require_writable(arguments.report, "--report")


def _write_template(arguments: argparse.Namespace, records: pd.DataFrame, members: pd.DataFrame | None) -> None:
    made = pt.template(
        records, " | ".join(arguments.scopes), weights=arguments.weights, members=members, key=arguments.key
    )
    write_frame(made, arguments.template)
    facts = {
        "controls": ", ".join(dict.fromkeys(made["control"])),
        "rows": f"{len(made):,}, each with an empty target",
        "written to": str(arguments.template),
    }
    show_facts("template", facts)


def _total(word: str) -> Any:
    try:
        return float(word)
    except ValueError:
        # calibrate knows which words a total may be
        return word


def _show_controls(found: pt.results.Calibration) -> None:
    """Print the controls, those missed most first where there are many."""
    frame = found.controls
    title = "controls"
    if len(frame) > _MOST_ROWS:
        # stable: of controls missed alike the order of the file stays
        frame = frame.iloc[np.argsort(-frame["miss"].abs().to_numpy(), kind="stable")[:_MOST_ROWS]]
        title += f"; {_MOST_ROWS} of {len(found.controls)}, those missed most"
    rows = [
        (
            f"{control}, {label}" if label else control,
            f"{lower:.6g}" if lower == upper else f"{lower:.6g} to {upper:.6g}",
            f"{before:.6g}",
            f"{after:.6g}",
            f"{miss:.2g}" + ("" if np.isnan(errors) else f" ({errors:.2g} se)"),
            state,
        )
        for control, label, lower, upper, before, after, miss, errors, state in frame.to_numpy().tolist()
    ]
    show_table(title, ("", "asked", "before", "after", "miss", "state"), rows)
