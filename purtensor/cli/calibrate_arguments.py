"""What can be typed after `purtensor calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from purtensor.cli.compare_arguments import add_missing_values


def add_closeness(group: Any) -> None:
    """Add what says how near the weights stay to the design weights."""
    group.add_argument(
        "--bounds", type=float, nargs=2, metavar=("LOW", "HIGH"), help="bounds on the ratios to design weights"
    )
    group.add_argument("--weight-bounds", type=float, nargs=2, metavar=("LOW", "HIGH"), help="bounds on the weights")
    group.add_argument(
        "--relative-to",
        choices=("given", "scaled"),
        default="given",
        help="--bounds are relative to the design weights as given, or scaled to the controls (default: given)",
    )
    group.add_argument("--distance", choices=("kl", "linear", "logit"), default="kl", help="default: kl")


def add_calibrate(commands: Any, exit_codes: str) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "calibrate",
        help="compute weights for the records of a file that meet controls",
        description="Change the design weights of records as little as possible, so that the weighted sample "
        "reproduces "
        "controls: counts and totals by group, as points, intervals, or targets with a standard error. The controls "
        "are a file that --template creates for you to fill in.",
        epilog=exit_codes,
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="records, one per row: .csv, .parquet, .feather, .xlsx, .dta, .sav and others",
    )
    data = parser.add_argument_group("the data")
    data.add_argument("--weights", metavar="COLUMN", help="column of design weights (default: 1 each)")
    data.add_argument("--members", type=Path, metavar="FILE", help="the persons, if the records are households")
    data.add_argument("--key", metavar="COLUMN", help="column with the household of each person")
    add_missing_values(data)
    asked = parser.add_argument_group("the question")
    asked.add_argument(
        "--controls",
        type=Path,
        metavar="FILE",
        help="the controls, one row per target: columns control, the attributes, value, and target or lower and "
        "upper, and sd",
    )
    add_closeness(asked)
    asked.add_argument(
        "--total",
        default="constrained",
        metavar="T",
        help="sum of the weights if no control fixes it: a number, 'free' or 'reference'",
    )
    asked.add_argument("--size", type=float, metavar="N", help="sample size for the standard errors of controls")
    asked.add_argument("--tolerance", type=float, default=1e-10, help="largest miss, total mass 1 (default: 1e-10)")
    made = parser.add_argument_group("output")
    made.add_argument("--out", type=Path, metavar="PATH", help="write the records with their weights, .csv or .parquet")
    made.add_argument(
        "--name", default="weight", metavar="COLUMN", help="column of the weights in --out (default: weight)"
    )
    made.add_argument(
        "--members-out", type=Path, metavar="PATH", help="write the members with the weights of their households"
    )
    made.add_argument("--report", type=Path, metavar="PATH", help="write a report, .html")
    made.add_argument(
        "--curve", type=int, default=0, metavar="N", help="show the cost of N bounds on the ratios in the report"
    )
    made.add_argument("--bootstrap", type=int, default=0, metavar="N", help="also write weights of N bootstrap samples")
    made.add_argument("--seed", type=int, default=0, help="seed of the bootstrap (default: 0)")
    made.add_argument("--template", type=Path, metavar="PATH", help="only write controls to fill in")
    made.add_argument(
        "--scopes",
        nargs="+",
        metavar="SCOPE",
        help="with --template: columns to control, 'age region' for both",
    )
