"""Everything that can be typed after `purtensor`; imports nothing heavy, so that help answers at once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from purtensor import __version__
from purtensor.cli.calibrate_arguments import add_calibrate
from purtensor.cli.compare_arguments import add_compare, add_missing, add_missing_values
from purtensor.cli.decide_arguments import add_decide
from purtensor.cli.more_arguments import add_path, add_proxies, add_rake, add_sample
from purtensor.cli.usage import Parser
from purtensor.solving.solvers import SOLVERS

EXIT_CODES = """\
exit codes: 0 success, 2 wrong usage or invalid input, 3 infeasible, 4 not converged, 5 too large, 130 interrupted"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; `command` in its result names the module of purtensor.cli to run."""
    parser = Parser(
        prog="purtensor",
        description="Information projections of categorical data, with labels, sparse tables and certificates.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"purtensor {__version__}")
    parser.add_argument("--debug", action="store_true", help="print the traceback of an error")
    parser.add_argument("--json", action="store_true", help="print one JSON object, also for errors")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_inspect(commands)
    _add_project(commands)
    _add_diagnose(commands)
    _add_relax(commands)
    _add_curve(commands)
    add_decide(commands, EXIT_CODES)
    add_proxies(commands, EXIT_CODES, _add_data, _add_strength)
    add_path(commands, EXIT_CODES, _add_data, _add_strength)
    add_sample(commands, EXIT_CODES)
    add_rake(commands, EXIT_CODES)
    add_calibrate(commands, EXIT_CODES)
    _add_reproduce(commands)
    add_compare(commands)
    _add_info(commands)
    _add_warmup(commands)
    for command in commands.choices.values():  # before or after the command
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object")
        command.add_argument("--quiet", action="store_true", default=argparse.SUPPRESS, help="print errors only")
    return parser


def _add_inspect(commands: Any) -> None:
    parser = commands.add_parser(
        "inspect",
        help="report the columns of a file",
        description="Report the categories, missing values and type of each column, and whether it looks like a "
        "weight, an "
        "identifier, a number to bin, or a proxy of the protected columns; then suggest the next command.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("file", metavar="FILE", help="records in a supported format; - for standard input")
    data = parser.add_argument_group("the data (optional)")
    data.add_argument("--response", metavar="Y", help="the response, a column")
    data.add_argument(
        "--protected", nargs="+", metavar="S", help="columns that the response must not depend on (default: by name)"
    )
    data.add_argument("--weights", metavar="COLUMN", help="column of weights or counts of the rows (default: by name)")
    add_missing_values(data)
    parser.set_defaults(bins=[], missing="raise")  # what `project` takes, and messages name


def _add_project(commands: Any) -> None:
    parser = commands.add_parser(
        "project",
        help="compute the fair version of a data set",
        description="Project a data set onto demographic parity (P), utility (U) and realism (R), and write the "
        "projection: the fair distribution that is closest to the data.",
        epilog=EXIT_CODES,
    )
    _add_data(parser)
    _add_question(parser)
    _add_bounds(parser)
    solution = parser.add_argument_group("the solution")
    solution.add_argument(
        "--solver",
        default="auto",
        metavar="NAME",
        help=f"{', '.join(SOLVERS)}, also with options, such as 'ipf(relaxation=1.5)' (default: auto)",
    )
    solution.add_argument(
        "--distance",
        choices=("kl", "linear", "logit"),
        default="kl",
        help="what is kept small: the divergence, the chi-squared distance, or the logit one, which takes bounds "
        "(default: kl)",
    )
    solution.add_argument("--tolerance", type=float, default=1e-10, help="largest miss, total mass 1 (default: 1e-10)")
    solution.add_argument(
        "--stop-on",
        default="residual",
        choices=("residual", "tv_bound", "log_ratio"),
        help="quantity compared with the tolerance: the largest miss, the proved total variation distance, or the "
        "proved bound "
        "on the log ratio of every profile, for odds ratios and rare groups (default: residual)",
    )
    solution.add_argument("--max-iterations", type=int, metavar="N", help="stop after N iterations")
    solution.add_argument("--max-seconds", type=float, metavar="T", help="stop after T seconds")
    solution.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="PATH",
        help="output: .nc for the complete result with its certificate, .csv, .csv.gz or .parquet for the table; for "
        "a stored table, .zarr for the table or any other new folder for the complete result",
    )
    _add_people(solution)
    solution.add_argument(
        "--report",
        type=Path,
        metavar="DIR",
        help="write a report into a folder",
    )


def _add_diagnose(commands: Any) -> None:
    parser = commands.add_parser(
        "diagnose",
        help="prove whether a fair version of a data set exists",
        description="Decide whether demographic parity (P), utility (U) and realism (R) can be met together on the "
        "profiles of a data set, with a checked proof, and explain the result in the labels of the data.",
        epilog="exit codes: 0 feasible, 2 wrong usage or invalid input, 3 infeasible, 4 undecided, 5 too large for the "
        "memory",
    )
    _add_data(parser)
    _add_question(parser)
    _add_bounds(parser)
    parser.add_argument("--proof", action="store_true", help="print the complete proof")


def _add_relax(commands: Any) -> None:
    parser = commands.add_parser(
        "relax",
        help="find the nearest distribution when not all conditions can hold",
        description="Find the distribution that meets the hard conditions and minimises the "
        "divergence from the data plus a penalty for violations of the soft conditions.",
        epilog=EXIT_CODES,
    )
    _add_data(parser)
    _add_question(parser)
    relaxed = parser.add_argument_group("the relaxation")
    relaxed.add_argument("--soft", default="P", metavar="P", help="letters of the soft conditions (default: P)")
    relaxed.add_argument(
        "--penalty", choices=("kl", "l1", "quadratic"), default="kl", help="penalty for violations (default: kl)"
    )
    relaxed.add_argument(
        "--penalty-strength",
        type=float,
        default=1.0,
        metavar="NATS",
        help="weight of the penalty, in nats of divergence per unit (default: 1)",
    )
    relaxed.add_argument(
        "--tolerance", type=float, default=1e-10, help="tolerance of the hard conditions (default: 1e-10)"
    )
    relaxed.add_argument("--max-iterations", type=int, metavar="N", help="stop after N iterations")
    relaxed.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="PATH",
        help="output: .nc for the complete result with its certificate, .csv, .csv.gz or .parquet for the table",
    )
    _add_people(relaxed)


def _add_curve(commands: Any) -> None:
    parser = commands.add_parser(
        "curve",
        help="trace the divergence against the allowed violation of parity",
        description="Trace the cost of parity: the least divergence from the data for each allowed violation of "
        "parity, subject to utility and realism, with the disparity ratios.",
        epilog=EXIT_CODES,
    )
    _add_data(parser)
    _add_strength(parser.add_argument_group("the question"))
    parser.set_defaults(conditions="PUR", reference="empirical")
    traced = parser.add_argument_group("the curve")
    traced.add_argument(
        "--slacks",
        type=float,
        nargs="+",
        metavar="E",
        help="allowed violations, sum of |p(y, s) - f(y) f(s)| (default: from the smallest possible to that of the "
        "data)",
    )
    traced.add_argument(
        "--points", type=int, default=21, metavar="N", help="number of violations without --slacks (default: 21)"
    )
    traced.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="PATH",
        help="output: .csv, .parquet or .nc; figures are written beside it as .svg and .png",
    )


def _add_people(group: Any) -> None:
    group.add_argument(
        "--weights-out",
        type=Path,
        metavar="PATH",
        help="also write the records with their weights in a column 'weight', .csv or .parquet",
    )
    group.add_argument(
        "--rows",
        type=int,
        metavar="N",
        help="write N rows drawn from the result to --out instead of the table, with the columns of the file",
    )
    group.add_argument("--seed", type=int, default=0, help="seed of --rows (default: 0)")


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help=".csv, .tsv (also .gz) or .parquet: records, or counts; for project and diagnose also a stored table "
        "(.zarr), which is used unchanged",
    )
    data = parser.add_argument_group("the data")
    data.add_argument("--response", required=True, metavar="Y", help="the response, a column")
    data.add_argument(
        "--protected", required=True, nargs="+", metavar="S", help="columns that the response must not depend on"
    )
    data.add_argument("--unprotected", nargs="+", metavar="X", help="other columns to use (default: all)")
    data.add_argument(
        "--weights", metavar="COLUMN", help="column of weights or counts of the rows (default: 'count', if any)"
    )
    add_missing(data)


def _add_question(parser: argparse.ArgumentParser) -> None:
    question = parser.add_argument_group("the question")
    question.add_argument(
        "--conditions", default="PUR", metavar="PUR", help="conditions, letters among P, U, R (default: PUR)"
    )
    question.add_argument(
        "--reference",
        default="empirical",
        metavar="empirical|uniform|smooth|FILE",
        help="what to stay close to: the data, the uniform distribution, the data simplified as far as it predicts "
        "other people best (by cross-validation, with a pseudo-count of its own), or a table (default: empirical)",
    )
    _add_strength(question)


def _add_bounds(parser: argparse.ArgumentParser) -> None:
    bounds = parser.add_argument_group("the bounds")
    bounds.add_argument(
        "--ratio-bounds",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="lower and upper bound on the mass of each profile, as multiples of its reference mass (default: no "
        "bounds)",
    )
    bounds.add_argument(
        "--cell-bounds",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="the same as probabilities (default: no bounds)",
    )


def _add_strength(group: Any) -> None:
    group.add_argument(
        "--strength",
        type=float,
        default=1e-4,
        metavar="LAMBDA",
        help="pseudo-count of each profile of Y x observed (S, X) (default: 1e-4)",
    )


def _add_reproduce(commands: Any) -> None:
    parser = commands.add_parser(
        "reproduce",
        help="run a study of the paper on real data",
        description="Run a study of 'Demographic Parity: Mitigating Biases in Real-World Data' (arXiv 2309.17347).",
    )
    parser.add_argument(
        "study",
        choices=("adult", "wage"),
        help="adult: income in the embedded UCI Adult data; wage: five wage ranges in the Current Population Survey",
    )
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="FOLDER", help="default: out")
    parser.add_argument(
        "--strength",
        type=float,
        default=1e-4,
        metavar="LAMBDA",
        help="pseudo-count of the regularization (default: 1e-4)",
    )
    parser.add_argument(
        "--data-sets", type=int, default=100, metavar="N", help="adult: data sets to generate (default: 100)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of all random draws (default: 0)")
    parser.add_argument(
        "--drawn-from",
        choices=("empirical", "regularized"),
        default="empirical",
        help="distribution of simulated sets: the data, as in the paper, or f, which has profiles without "
        "observations (default: empirical)",
    )
    parser.add_argument(
        "--unseen",
        choices=("marginal", "drop"),
        default="marginal",
        help="test people whose profile is not in the training set: predicted by q(y), or left out (default: marginal)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=2,
        metavar="N",
        help="number of threads; does not affect the results (default: 2)",
    )
    wage = parser.add_argument_group("wage")
    wage.add_argument(
        "--cps",
        type=Path,
        metavar="FILE",
        help="the gender-pay-gap file (.csv or .dta) with all its years (default: an embedded survey of 1994-95)",
    )
    wage.add_argument(
        "--sets",
        type=int,
        default=1000,
        metavar="N",
        help="number of simulated training and test sets, with three projections each (default: 1000)",
    )
    wage.add_argument(
        "--wage-edges",
        type=float,
        nargs="+",
        metavar="DOLLARS",
        help="lower ends of the wage ranges, in dollars per hour (default: 10 20 30 40 with --cps, else 5 7.5 10 15)",
    )
    wage.add_argument(
        "--age-edges", type=float, nargs="+", metavar="YEARS", help="lower ends of the age groups (default: 30 50)"
    )
    wage.add_argument(
        "--education-edges",
        type=float,
        nargs="+",
        metavar="YEARS",
        help="with --cps: lower ends of the groups of years of schooling (default: 12 13 16)",
    )
    wage.add_argument(
        "--education-map",
        type=Path,
        metavar="CSV",
        help="without --cps: file with columns category,group for the 16 categories of education (default: no "
        "diploma, high "
        "school, some college, degree)",
    )
    wage.add_argument(
        "--sector-map",
        type=Path,
        metavar="CSV",
        help="file with columns category,group for the industries (default: the seven sectors of the paper, and "
        "manufacturing)",
    )


def _add_info(commands: Any) -> None:
    commands.add_parser(
        "info",
        help="print versions, threads, cache, memory and embedded data",
        description="Print the information for a bug report: versions, threads, cache, memory, embedded data.",
    )


def _add_warmup(commands: Any) -> None:
    commands.add_parser(
        "warmup",
        help="compile all kernels now, so that later runs need not",
        description="Compile all kernels and cache them, for example in an image or an installation for other users.",
    )
