"""`purtensor rake`: a sample weighted to marginals that lie in files."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import pandas as pd

import purtensor as pt
from purtensor._typing import Table
from purtensor.cli.calibrate import closeness, refuse_column
from purtensor.cli.output import require_frame, show_facts, show_table, write_frame
from purtensor.cli.records import label_bins, read_frame, weight_column
from purtensor.records.bins import bins_in
from purtensor.tables.domain import PROFILE

# what the numbers of a target are, by their sum
SHARES, PER_CENT, COUNTS = "shares", "per cent", "counts"
_WHOLES = {SHARES: 1.0, PER_CENT: 100.0}
# sums of shares in files are rounded
_CLOSE = 1e-9
_MOST_ROWS = 60


def run(arguments: argparse.Namespace) -> None:
    """Read the files, weight the sample, write it with its weights, and print what was reached."""
    require_frame(arguments.out, "--out")
    sample = read_frame(arguments.file, arguments)
    refuse_column(arguments.name, sample, arguments.file)
    design = weight_column(list(sample.columns), arguments.weights, arguments.file.name)
    targets = {path: pt.as_table(read_frame(path, arguments)) for path in arguments.targets}
    # the sample is written with its own numbers, and weighted by bins
    binned = sample
    for path, target in targets.items():
        binned = _in_bins(binned, target)
        _require_labels(target, binned, path, arguments.file)
    kinds = {path: _kind(float(target.sum())) for path, target in targets.items()}
    total = _total(arguments, sample, design, {path: float(targets[path].sum()) for path in targets}, kinds)
    marginals = [
        pt.Marginal(target if kinds[path] == COUNTS else target * (total / _WHOLES[kinds[path]]))
        for path, target in targets.items()
    ]
    found = pt.calibrate(binned, marginals, weights=design, **closeness(arguments))
    write_frame(sample.assign(**{arguments.name: found.array}), arguments.out)
    reason = {
        f"target {path.name}": f"{kinds[path]}, sum {float(target.sum()):,.10g}" for path, target in targets.items()
    }
    show_facts("targets", {**reason, "total of the weights": f"{total:,.10g}"})
    show_facts("weights", {**found.summary(), "written to": str(arguments.out)})
    rows = [
        (label, *map("{:.6g}".format, sums))
        for label, *sums in found.controls[["label", "lower", "before", "after"]].itertuples(index=False)
    ]
    show_table("marginals", ("", "target", "before", "after"), rows, _MOST_ROWS)


def _in_bins(sample: pd.DataFrame, target: Table) -> pd.DataFrame:
    """Return the sample with the numbers for which a target has bins, such as <30, 30-44, >=45, in these bins."""
    for name, bins in bins_in(target).items():
        if name in sample and pd.api.types.is_numeric_dtype(sample[name]):
            numbers = sample[name].to_numpy(dtype=np.float64, na_value=np.nan)
            sample = sample.assign(**{name: label_bins(bins, numbers, sample.index)})
    return sample


def _require_labels(target: Table, sample: pd.DataFrame, path: Path, file: Path) -> None:
    """Refuse labels that the sample lacks, and those of the sample that the target lacks."""
    index = target.indexes[PROFILE]
    for name in index.names:
        if name not in sample:
            raise pt.UnknownAttributeError.among(name, sample.columns, file.name)
        known = list(dict.fromkeys(sample[name].dropna().tolist()))
        wanted = list(dict.fromkeys(index[target.values > 0].get_level_values(name).tolist()))
        for labels, others, reason in (
            (wanted, known, f"for which {path.name} has a target and {file.name} no record"),
            (known, wanted, f"which records of {file.name} have and {path.name} has no target for"),
        ):
            lacking = [label for label in labels if label not in others]
            if lacking:
                raise pt.UnknownCategoryError.among(lacking[0], name, others, reason)


def _kind(whole: float) -> str:
    return next((kind for kind, sum_ in _WHOLES.items() if math.isclose(whole, sum_, rel_tol=_CLOSE)), COUNTS)


def _total(
    arguments: argparse.Namespace,
    sample: pd.DataFrame,
    design: str | None,
    sums: dict[Path, float],
    kinds: dict[Path, str],
) -> float:
    """Return what the weights sum to: that of the counts, or what was requested, or that of the design weights."""
    # shares and per cent follow the total, counts set it
    counted = {path: whole for path, whole in sums.items() if kinds[path] == COUNTS}
    if not counted:
        return float(arguments.total or (len(sample) if design is None else sample[design].sum()))
    whole, *others = counted.values()
    if not all(math.isclose(whole, other, rel_tol=_CLOSE) for other in others):
        reason = ", ".join(f"{path.name} sums to {own:,.10g}" for path, own in counted.items())
        raise pt.InconsistentTargetsError(
            f"{reason}: all targets must have the same total; numbers that sum to 1 are shares, to 100 per cent"
        )
    if arguments.total is not None and not math.isclose(whole, arguments.total, rel_tol=_CLOSE):
        raise pt.InvalidOptionError(f"--total is {arguments.total:,.10g}, but the counts sum to {whole:,.10g}")
    return whole
