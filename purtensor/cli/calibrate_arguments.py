"""What can be typed after `purtensor calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from purtensor.cli.compare_arguments import add_missing_values


def add_calibrate(commands: Any, exit_codes: str) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "calibrate",
        help="give the records of your own file weights that meet your controls",
        description="Move the design weights of records as little as possible, so that the weighted sample reproduces "
        "controls: counts and totals by group, as points, intervals, or targets with a standard error. The controls "
        "are a file that --template makes and you fill in.",
        epilog=exit_codes,
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="text such as .csv, .parquet, .feather, .xlsx, .dta, .sav and more: one row a record",
    )
    data = parser.add_argument_group("the data")
    data.add_argument("--weights", metavar="COLUMN", help="the design weights (default: 1 each)")
    data.add_argument("--members", type=Path, metavar="FILE", help="the persons, where the records are households")
    data.add_argument("--key", metavar="COLUMN", help="says which household a person belongs to")
    add_missing_values(data)
    asked = parser.add_argument_group("the question")
    asked.add_argument(
        "--controls",
        type=Path,
        metavar="FILE",
        help="one row a control: columns control, the attributes, value, and target or lower and upper, and sd",
    )
    asked.add_argument("--bounds", type=float, nargs=2, metavar=("LOW", "HIGH"), help="on the ratios to design weights")
    asked.add_argument("--weight-bounds", type=float, nargs=2, metavar=("LOW", "HIGH"), help="on the weights")
    asked.add_argument(
        "--relative-to",
        choices=("given", "scaled"),
        default="given",
        help="what --bounds are relative to: the design weights as given, or scaled to the controls (default: given)",
    )
    asked.add_argument("--distance", choices=("kl", "linear", "logit"), default="kl", help="default: kl")
    asked.add_argument(
        "--total",
        default="constrained",
        metavar="T",
        help="the sum of the weights where no control fixes it: a number, 'free' or 'reference'",
    )
    asked.add_argument("--size", type=float, metavar="N", help="the sample size behind standard errors of controls")
    asked.add_argument("--tolerance", type=float, default=1e-10, help="largest miss, total mass 1 (default: 1e-10)")
    made = parser.add_argument_group("what is written")
    made.add_argument("--out", type=Path, metavar="PATH", help="the records with their weights, .csv or .parquet")
    made.add_argument("--name", default="weight", metavar="COLUMN", help="of the weights in --out (default: weight)")
    made.add_argument("--members-out", type=Path, metavar="PATH", help="the members, each with its household's weight")
    made.add_argument("--report", type=Path, metavar="PATH", help="a page that can be filed, .html")
    made.add_argument(
        "--curve", type=int, default=0, metavar="N", help="in the report: what N bounds on the ratios cost"
    )
    made.add_argument("--bootstrap", type=int, default=0, metavar="N", help="weights of N bootstrap samples as well")
    made.add_argument("--seed", type=int, default=0, help="of the bootstrap (default: 0)")
    made.add_argument("--template", type=Path, metavar="PATH", help="write controls to fill in, and nothing else")
    made.add_argument(
        "--scopes",
        nargs="+",
        metavar="SCOPE",
        help="with --template: columns to control, 'age region' for both",
    )
