"""What can be typed after `rake`, `sample`, `proxies` and `path`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from purtensor.cli.calibrate_arguments import add_closeness
from purtensor.cli.compare_arguments import add_missing_values


def add_rake(commands: Any, exit_codes: str) -> None:
    """Add the command that weights a sample to marginals in files."""
    parser = commands.add_parser(
        "rake",
        help="compute weights with which a sample has the marginals given in files",
        description="Compute the weights nearest to the design weights with which a sample has the "
        "marginals in the files; each file has columns of labels and one of counts, shares or per cent. For "
        "intervals, totals of numeric columns and targets with errors see calibrate.",
        epilog=exit_codes,
    )
    parser.add_argument("file", type=Path, metavar="SAMPLE", help="records in a supported format")
    parser.add_argument(
        "--targets",
        nargs="+",
        type=Path,
        required=True,
        metavar="FILE",
        help="files with one marginal each, such as sex.csv",
    )
    parser.add_argument(
        "--weights", metavar="COLUMN", help="column of design weights (default: 'count', if any, else 1)"
    )
    parser.add_argument("--total", type=float, metavar="N", help="sum of the weights, if targets are shares")
    add_closeness(parser)
    parser.add_argument("--tolerance", type=float, default=1e-10, help="largest miss, total mass 1 (default: 1e-10)")
    parser.add_argument(
        "--name", default="weight", metavar="COLUMN", help="column of the weights in --out (default: weight)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="PATH", help="write the sample with its weights")
    add_missing_values(parser.add_argument_group("the files"))
    parser.set_defaults(bins=[], missing="raise")


def add_sample(commands: Any, exit_codes: str) -> None:
    """Add the command that draws individuals from a table or a result."""
    parser = commands.add_parser(
        "sample",
        help="draw records from a table or a result",
        description="Draw individuals from a table of counts or probabilities, or from a saved projection, and write "
        "one row per individual.",
        epilog=exit_codes,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a table (.csv, .parquet, .nc) or a saved result (.nc)")
    parser.add_argument("--rows", type=int, required=True, metavar="N", help="number of rows to draw")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws (default: 0)")
    parser.add_argument(
        "--without-replacement", action="store_true", help="for counts: draw each individual at most once"
    )
    parser.add_argument("--counts", action="store_true", help="write the counts of the profiles instead of rows")
    parser.add_argument("--out", type=Path, required=True, metavar="PATH", help=".csv, .csv.gz or .parquet")


def add_proxies(commands: Any, exit_codes: str, add_data: Callable[[Any], None], add_strength: Any) -> None:
    """Add the command that ranks predictors by what parity costs with them."""
    parser = commands.add_parser(
        "proxies",
        help="find the columns that reveal the protected ones, and what parity costs with them",
        description="Rank columns and sets of columns by the cost of parity with them: whether the conditions can "
        "be met, the smallest violation, and the divergence in nats.",
        epilog=exit_codes,
    )
    add_data(parser)
    question = parser.add_argument_group("the question")
    add_strength(question)
    question.add_argument(
        "--largest", type=int, default=2, metavar="N", help="largest number of columns in a set (default: 2)"
    )
    question.add_argument("--out", type=Path, metavar="PATH", help="write the results, .csv or .parquet")
    parser.set_defaults(conditions="PUR", reference="empirical")


def add_path(commands: Any, exit_codes: str, add_data: Callable[[Any], None], add_strength: Any) -> None:
    """Add the command that varies the pseudo-count of the reference."""
    parser = commands.add_parser(
        "path",
        help="show how the answer depends on the pseudo-count, from the data to maximum entropy",
        description="Project references of several pseudo-counts onto the same conditions; inf is the distribution of "
        "maximum entropy.",
        epilog=exit_codes,
    )
    add_data(parser)
    question = parser.add_argument_group("the question")
    question.add_argument(
        "--conditions", default="PUR", metavar="PUR", help="conditions, letters among P, U, R (default: PUR)"
    )
    question.add_argument(
        "--strengths",
        type=float,
        nargs="+",
        default=[1e-6, 1e-4, 1e-2, 1.0, float("inf")],
        metavar="LAMBDA",
        help="pseudo-counts (default: 1e-6 1e-4 0.01 1 inf)",
    )
    question.add_argument("--out", type=Path, metavar="PATH", help="write the results, .csv or .parquet")
    parser.set_defaults(reference="empirical", strength=1e-4)
