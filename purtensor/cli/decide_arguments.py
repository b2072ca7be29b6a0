"""What can be typed after `purtensor decide`; imports nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from purtensor.cli.compare_arguments import add_missing


def add_decide(commands: Any, epilog: str) -> None:
    """Add the command to a parser's commands."""
    parser = commands.add_parser(
        "decide",
        help="take decisions about people that are fair, and say what they cost",
        description="Project the records of a file onto demographic parity, and decide for each record, or for other "
        "people, by a rule; then show how often each group gets each decision, and how often that is right. A row that "
        "is dropped for a missing value is not learned from, and gets no decision.",
        epilog=epilog,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="records to learn from, a row a person")
    data = parser.add_argument_group("the data")
    data.add_argument("--response", required=True, metavar="Y", help="the column that is decided")
    data.add_argument("--protected", required=True, nargs="+", metavar="S", help="columns it must not depend on")
    data.add_argument("--unprotected", nargs="+", metavar="X", help="all other columns to use (default: all others)")
    data.add_argument("--weights", metavar="COLUMN", help="a weight for each row to learn from")
    add_missing(data)
    question = parser.add_argument_group("the question")
    question.add_argument("--conditions", default="PUR", metavar="PUR", help="letters of P, U, R (default: PUR)")
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
        help="fair: the least loss at one rate for all groups; draw: from the probabilities; likeliest: the category "
        "of largest probability, which is not fair (default: fair)",
    )
    decisions.add_argument(
        "--rate",
        nargs="+",
        metavar="CATEGORY=SHARE",
        help="of fair: how often each category is decided, such as no=0.8 yes=0.2 (default: as often as in the data)",
    )
    decisions.add_argument(
        "--people", type=Path, metavar="FILE", help="records to decide for, with the same columns (default: FILE)"
    )
    decisions.add_argument(
        "--ids",
        metavar="COLUMN",
        help="what identifies a person: what is drawn depends on it and on the seed alone (default: the row's number)",
    )
    decisions.add_argument("--seed", type=int, default=0, help="of what is drawn (default: 0)")
    decisions.add_argument(
        "--unseen",
        choices=("marginal", "raise"),
        default="marginal",
        help="people of a profile that FILE has not: at the rate of the whole, or refused (default: marginal)",
    )
    decisions.add_argument(
        "--name",
        default="decision",
        metavar="COLUMN",
        help="the column of decisions (default: decision)",
    )
    decisions.add_argument(
        "--out", type=Path, required=True, metavar="PATH", help="where the people are written with their decisions"
    )
