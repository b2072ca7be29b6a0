"""`purtensor path`: what the pseudo-count of the reference does to the answer."""

from __future__ import annotations

import argparse

from purtensor.cli.endings import DONE, INTERRUPTED
from purtensor.cli.output import show_facts, show_table, write_frame
from purtensor.cli.people import require_frame
from purtensor.cli.question import read_all_counts
from purtensor.fairness.path import strength_path

_SHOWN = {
    "washed_out_share": "washed out",
    "divergence": "divergence",
    "kl_to_data": "from the data",
    "entropy": "entropy",
    "parity_violation": "violation",
}


def run(arguments: argparse.Namespace) -> int:
    """Read the file, project for each pseudo-count, print and write the numbers, and return the exit code."""
    if arguments.out is not None:
        require_frame(arguments.out, "--out")
    counts = read_all_counts(arguments)
    found = strength_path(
        counts,
        arguments.strengths,
        response=arguments.response,
        protected=arguments.protected,
        conditions=arguments.conditions,
    )
    numbers = found[list(_SHOWN)].to_dataframe()[list(_SHOWN)]
    ratios = found["disparity_ratio"]
    numbers["lowest ratio"] = ratios.min([name for name in ratios.dims if name != "strength"]).values
    rows = [
        (f"{strength:g}", *(f"{value:.6g}" for value in row))
        for strength, row in zip(numbers.index, numbers.to_numpy().tolist(), strict=True)
    ]
    show_table("projections by pseudo-count, in nats", ("pseudo-count", *_SHOWN.values(), "lowest ratio"), rows)
    if arguments.out is not None:
        write_frame(numbers.reset_index(), arguments.out)
    show_facts("path", {"interrupted": found.attrs.get("interrupted", ""), "written to": str(arguments.out or "")})
    return INTERRUPTED if "interrupted" in found.attrs else DONE
