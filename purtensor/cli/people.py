"""Results back on the records of a file, a weight for each or rows like them; and `purtensor sample`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import purtensor as pt
from purtensor.calibration.precision import effective_size
from purtensor.cli.output import require_frame, show_facts, write_frame
from purtensor.cli.records import read_frame, weight_column
from purtensor.records.weights import unreached_mass
from purtensor.sampling.rows import draw_rows
from purtensor.tables.io.files import save_table

NAME = "weight"
# a share of the mass: less is rounding
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class People:
    """The records of a file, the column of their design weights, and what becomes of missing values."""

    records: pd.DataFrame
    design: str | None
    missing: str


def read_people(arguments: argparse.Namespace, attributes: Sequence[str] | None) -> People | None:
    """Return the records, where weights or rows are to be written; None else. Refused is what could not be written.

    Raises
    ------
    InvalidOptionError
        A path, a number of rows or a column that cannot be.
    PurtensorError
        Naming what does not fit.
    """
    if arguments.rows is not None:
        if arguments.rows < 1:
            raise pt.InvalidOptionError(f"--rows must be 1 or more, got {arguments.rows}")
        require_frame(arguments.out, "--out, with --rows,")
    if arguments.weights_out is not None:
        require_frame(arguments.weights_out, "--weights-out")
    elif arguments.rows is None:
        return None
    records = read_frame(arguments.file, arguments, attributes)
    # weights that the file has are changed, not replaced
    design = weight_column(list(records.columns), arguments.weights, arguments.file.name)
    if arguments.weights_out is not None and NAME in records and design != NAME:
        raise pt.InvalidOptionError(
            f"the file has a column {NAME!r}, the name of the column that --weights-out writes: rename it"
        )
    return People(records, design, arguments.missing)


def write_people(arguments: argparse.Namespace, people: People | None, result: Any) -> dict[str, str]:
    """Write the requested weights and rows, and return facts about them."""
    facts: dict[str, str] = {}
    if people is None:
        return facts
    how: dict[str, Any] = {"weights": people.design, "missing": people.missing}
    if arguments.weights_out is not None:
        facts |= _write_weights(people, result, arguments.weights_out, how)
    if arguments.rows is not None:
        rows = draw_rows(
            people.records, result, arguments.rows, seed=arguments.seed, response=arguments.response, **how
        )
        write_frame(rows, arguments.out)
        facts["rows"] = f"{len(rows):,} drawn with seed {arguments.seed}, the columns as they came"
    return facts


def _write_weights(people: People, result: Any, path: Path, how: dict[str, Any]) -> dict[str, str]:
    found = np.asarray(pt.weights(people.records, result, **how))
    write_frame(people.records.assign(**{NAME: found}), path)
    unreached = unreached_mass(people.records, result, missing=people.missing)
    is_left = unreached > _ROUNDING
    return {
        "weights": f"{found.min():.4g} to {found.max():.4g}, effective sample size (Kish) {effective_size(found):,.1f} "
        f"of {len(found):,}; in column {NAME!r} of {path}",
        "not weighted": f"{unreached:.2g} of the mass is on profiles that no record has" if is_left else "",
    }


def run_sample(arguments: argparse.Namespace) -> None:
    """Read a table or a saved result, draw, write the individuals or their counts, and print what was done."""
    require_frame(arguments.out, "--out")
    found = pt.load(arguments.file)
    draw = pt.sample_without_replacement if arguments.without_replacement else pt.sample
    counts = draw(getattr(found, "table", found), arguments.rows, seed=arguments.seed)
    if arguments.counts:
        save_table(counts, arguments.out)
    else:
        write_frame(pt.to_records(counts), arguments.out)
    profiles = int((counts.values > 0).sum())
    facts = {
        "file": str(arguments.file),
        "drawn": f"{arguments.rows:,} of {profiles:,} profiles, seed {arguments.seed}",
        "written to": str(arguments.out),
    }
    show_facts("sample", facts)
