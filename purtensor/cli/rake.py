"""`purtensor rake`: a sample weighted to marginals that lie in files."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from purtensor._typing import Table
from purtensor.calibration.calibrate import calibrate
from purtensor.cli.output import show_facts, show_table, write_frame
from purtensor.cli.people import require_frame
from purtensor.cli.records import read_frame, weight_column
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InconsistentTargetsError, InvalidOptionError, UnknownAttributeError, UnknownCategoryError
from purtensor.records.as_table import as_table
from purtensor.records.bins import bins_in
from purtensor.tables.domain import PROFILE

SHARES, PER_CENT, COUNTS = "shares", "per cent", "counts"
_MOST_ROWS = 60


def run(arguments: argparse.Namespace) -> None:
    """Read the files, weight the sample, write it with its weights, and print what was reached."""
    require_frame(arguments.out, "--out")
    sample = read_frame(arguments.file, arguments)
    if arguments.name in sample:
        raise InvalidOptionError(
            f"{arguments.file.name} already has a column {arguments.name!r}: choose another --name"
        )
    design = weight_column(list(sample.columns), arguments.weights, arguments.file.name)
    targets = {path: as_table(read_frame(path, arguments)) for path in arguments.targets}
    binned = sample.assign(**_in_bins(sample, targets.values()))
    for path, target in targets.items():
        _require_labels(target, binned, path, arguments.file)
    kinds = {path: _kind(target) for path, target in targets.items()}
    total = _total(arguments, sample, design, targets, kinds)
    marginals = [Marginal(_scale(target, kinds[path], total)) for path, target in targets.items()]
    found = calibrate(
        binned,
        marginals,
        weights=design,
        bounds=arguments.bounds,
        weight_bounds=arguments.weight_bounds,
        relative_to=arguments.relative_to,
        distance=arguments.distance,
        tolerance=arguments.tolerance,
    )
    write_frame(sample.assign(**{arguments.name: found.array}), arguments.out)
    reason = {
        f"target {path.name}": f"{kinds[path]}, sum {float(target.sum()):,.10g}" for path, target in targets.items()
    }
    show_facts("targets", {**reason, "total of the weights": f"{total:,.10g}"})
    show_facts("weights", {**found.summary(), "written to": str(arguments.out)})
    _show(marginals, binned, design, found.array)


def _in_bins(sample: pd.DataFrame, targets: Iterable[Table]) -> dict[str, pd.Series]:
    """Return the columns of numbers for which targets have bins, such as <30, 30-44, >=45, in these bins."""
    found: dict[str, pd.Series] = {}
    for target in targets:
        for name, bins in bins_in(target).items():
            if name in sample and pd.api.types.is_numeric_dtype(sample[name]):
                factor = bins.factor(sample[name].to_numpy(dtype=np.float64, na_value=np.nan))
                labels = np.array([*bins.labels, None], dtype=object)  # None for the code -1 of a gap
                found[name] = pd.Series(labels[factor.codes], index=sample.index)
    return found


def _require_labels(target: Table, sample: pd.DataFrame, path: Path, file: Path) -> None:
    """Refuse labels that the sample lacks, and those of the sample that the target lacks."""
    index = target.indexes[PROFILE]
    for name in index.names:
        if name not in sample:
            raise UnknownAttributeError.among(name, sample.columns, file.name)
        known = list(dict.fromkeys(sample[name].dropna().tolist()))
        wanted = list(dict.fromkeys(index[target.values > 0].get_level_values(name).tolist()))
        lacking = [label for label in wanted if label not in known]
        if lacking:
            reason = f"for which {path.name} has a target and {file.name} no record"
            raise UnknownCategoryError.among(lacking[0], name, known, reason)
        extra = [label for label in known if label not in wanted]
        if extra:
            reason = f"which records of {file.name} have and {path.name} has no target for"
            raise UnknownCategoryError.among(extra[0], name, wanted, reason)


def _kind(target: Table) -> str:
    """Return what the numbers of a target are, by their sum: 1 is of shares, 100 of per cent, others of counts."""
    whole = float(target.sum())
    if math.isclose(whole, 1.0, rel_tol=1e-9):
        return SHARES
    return PER_CENT if math.isclose(whole, 100.0, rel_tol=1e-9) else COUNTS


def _total(
    arguments: argparse.Namespace,
    sample: pd.DataFrame,
    design: str | None,
    targets: dict[Path, Table],
    kinds: dict[Path, str],
) -> float:
    """Return what the weights sum to: that of the counts, or what was requested, or that of the design weights."""
    counted = {path: float(target.sum()) for path, target in targets.items() if kinds[path] == COUNTS}
    wholes = list(counted.values())
    if wholes and not all(math.isclose(whole, wholes[0], rel_tol=1e-9) for whole in wholes):
        reason = ", ".join(f"{path.name} sums to {whole:,.10g}" for path, whole in counted.items())
        raise InconsistentTargetsError(
            f"{reason}: all targets must have the same total; numbers that sum to 1 are shares, to 100 per cent"
        )
    if wholes and arguments.total is not None and not math.isclose(wholes[0], arguments.total, rel_tol=1e-9):
        raise InvalidOptionError(f"--total is {arguments.total:,.10g}, but the counts sum to {wholes[0]:,.10g}")
    if wholes:
        return wholes[0]
    return float(arguments.total or (len(sample) if design is None else sample[design].sum()))


def _scale(target: Table, kind: str, total: float) -> Table:
    return target if kind == COUNTS else target * (total / (1.0 if kind == SHARES else 100.0))


def _show(marginals: list[Marginal], sample: pd.DataFrame, design: str | None, weights: np.ndarray) -> None:
    """Print each target beside what the sample has before and after."""
    before = np.ones(len(sample)) if design is None else sample[design].to_numpy(dtype=np.float64)
    rows = []
    for marginal in marginals:
        index = marginal.target.indexes[PROFILE]
        names = list(index.names)
        sums = [sample.assign(**{"own weight": own}).groupby(names)["own weight"].sum() for own in (before, weights)]
        for label, value in zip(index.tolist(), marginal.target.values.tolist(), strict=True):
            key = label if len(names) > 1 else label[0]
            what = ", ".join(f"{name}={part}" for name, part in zip(names, label, strict=True))
            rows.append((what, f"{value:.6g}", *(f"{float(own.get(key, 0.0)):.6g}" for own in sums)))
    show_table("marginals", ("", "target", "before", "after"), rows, _MOST_ROWS)
