"""What can be typed after `purtensor decide`; imports nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from purtensor.cli.compare_arguments import add_missing


def add_decide(commands: Any, epilog: str) -> None:
    """Add the command to a parser's commands."""
    parser = commands.add_parser(
        "decide",
        help="make fair decisions about people, and report their cost",
        description="Project the records of a file onto demographic parity, and decide for each record, or for other "
        "people; then show the rate of each decision in each group, and the accuracy. A row that "
        "is dropped for a missing value is not learned from, and gets no decision.",
        epilog=epilog,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="records to fit to, one row per person")
    data = parser.add_argument_group("the data")
    data.add_argument("--response", required=True, metavar="Y", help="the response, a column")
    data.add_argument(
        "--protected", required=True, nargs="+", metavar="S", help="columns that the response must not depend on"
    )
    data.add_argument("--unprotected", nargs="+", metavar="X", help="other columns to use (default: all)")
    data.add_argument("--weights", metavar="COLUMN", help="column of weights of the rows to fit to")
    add_missing(data)
    question = parser.add_argument_group("the question")
    question.add_argument(
        "--conditions", default="PUR", metavar="PUR", help="conditions, letters among P, U, R (default: PUR)"
    )
    question.add_argument(
        "--reference",
        default="empirical",
        choices=("empirical", "uniform", "smooth"),
        help="what to stay close to: the data, the uniform distribution, or the data simplified as far as it predicts "
        "other people best, by cross-validation (default: empirical)",
    )
    question.add_argument(
        "--strength",
        type=float,
        default=1e-4,
        metavar="LAMBDA",
        help="pseudo-count of each profile; smooth chooses its own (default: 1e-4)",
    )
    decisions = parser.add_argument_group("the decisions")
    decisions.add_argument(
        "--decision",
        choices=("fair", "draw", "likeliest"),
        default="fair",
        help="fair: least loss with the same rates for all groups; draw: draw from the probabilities; likeliest: "
        "the category "
        "of largest probability, which is not fair (default: fair)",
    )
    decisions.add_argument(
        "--rate",
        nargs="+",
        metavar="CATEGORY=SHARE",
        help="rates of the fair decisions, such as no=0.8 yes=0.2 (default: those of the data)",
    )
    decisions.add_argument(
        "--people", type=Path, metavar="FILE", help="records to decide about, with the same columns (default: FILE)"
    )
    decisions.add_argument(
        "--ids",
        metavar="COLUMN",
        help="column that identifies a person; draws depend only on it and on the seed (default: the row number)",
    )
    decisions.add_argument("--seed", type=int, default=0, help="seed of the draws (default: 0)")
    decisions.add_argument(
        "--unseen",
        choices=("marginal", "raise"),
        default="marginal",
        help="people with a profile that is not in FILE: decide by the overall rates, or raise an error (default: "
        "marginal)",
    )
    decisions.add_argument(
        "--name",
        default="decision",
        metavar="COLUMN",
        help="column of the decisions (default: decision)",
    )
    decisions.add_argument(
        "--out", type=Path, required=True, metavar="PATH", help="write the people with their decisions"
    )
