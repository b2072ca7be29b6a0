"""Results back on the records of a file: a weight for each, or fair rows like them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from purtensor.calibration.spread import effective_size
from purtensor.cli.output import write_frame
from purtensor.cli.question import NETCDF, require_writable
from purtensor.cli.records import read_frame, weight_column
from purtensor.errors import InvalidOptionError
from purtensor.records.weights import unreached_mass, weights
from purtensor.sampling.rows import draw_rows
from purtensor.tables.io.files import ending

NAME = "weight"


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
            raise InvalidOptionError(f"--rows must be 1 or more, got {arguments.rows}")
        require_frame(arguments.out, "--out, with --rows,")
    if arguments.weights_out is not None:
        require_frame(arguments.weights_out, "--weights-out")
    elif arguments.rows is None:
        return None
    records = read_frame(arguments.file, arguments, attributes)
    design = weight_column(list(records.columns), arguments.weights, arguments.file.name)
    if arguments.weights_out is not None and NAME in records and design != NAME:
        raise InvalidOptionError(
            f"the file has a column {NAME!r}, the name of the column that --weights-out writes: rename it"
        )
    return People(records, design, arguments.missing)


def write_people(arguments: argparse.Namespace, people: People | None, result: Any) -> dict[str, str]:
    """Write the requested weights and rows, and return facts about them."""
    facts: dict[str, str] = {}
    if people is None:
        return facts
    if arguments.weights_out is not None:
        facts |= _write_weights(people, result, arguments.weights_out)
    if arguments.rows is not None:
        rows = draw_rows(
            people.records,
            result,
            arguments.rows,
            seed=arguments.seed,
            response=arguments.response,
            weights=people.design,
            missing=people.missing,
        )
        write_frame(rows, arguments.out)
        facts["rows"] = f"{len(rows):,} drawn with seed {arguments.seed}, the columns as they came"
    return facts


def _write_weights(people: People, result: Any, path: Path) -> dict[str, str]:
    found = np.asarray(weights(people.records, result, weights=people.design, missing=people.missing))
    write_frame(people.records.assign(**{NAME: found}), path)
    unreached = unreached_mass(people.records, result, missing=people.missing)
    return {
        "weights": f"{found.min():.4g} to {found.max():.4g}, effective sample size (Kish) {effective_size(found):,.1f} "
        f"of {len(found):,}; in column {NAME!r} of {path}",
        # less than 1e-12 is rounding
        "not weighted": f"{unreached:.2g} of the mass is on profiles that no record has" if unreached > 1e-12 else "",
    }


def require_frame(path: Path, option: str) -> None:
    """Refuse a path to write a frame to that is of another kind, or whose folder is not there."""
    if ending(path) == NETCDF:
        raise InvalidOptionError(f"{option} must end in .csv, .csv.gz or .parquet, got {path.name}")
    require_writable(path, option)
