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
exit codes: 0 done, 2 usage or bad input, 3 infeasible, 4 not converged, 5 too large for the memory, 130 interrupted"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; `command` in its result names the module of purtensor.cli to run."""
    parser = Parser(
        prog="purtensor",
        description="Information projections of categorical data: labelled, sparse, fast, and proved.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"purtensor {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument("--json", action="store_true", help="print one object of JSON, also for errors")
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
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one object of JSON")
        command.add_argument("--quiet", action="store_true", default=argparse.SUPPRESS, help="print errors only")
    return parser


def _add_inspect(commands: Any) -> None:
    parser = commands.add_parser(
        "inspect",
        help="look at the columns of a file before anything is solved",
        description="Tell of each column its categories, gaps and type, and whether it looks like a weight, an "
        "identifier, a number to be binned, or a proxy of what is protected; then what to type next.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("file", metavar="FILE", help="records, of any kind that is read; - for what is piped in")
    data = parser.add_argument_group("the data, where it is known")
    data.add_argument("--response", metavar="Y", help="the column that is decided")
    data.add_argument("--protected", nargs="+", metavar="S", help="columns it must not depend on (default: by name)")
    data.add_argument("--weights", metavar="COLUMN", help="a weight or count for each row (default: by name)")
    add_missing_values(data)
    parser.set_defaults(bins=[], missing="raise")  # what `project` takes, and messages name


def _add_project(commands: Any) -> None:
    parser = commands.add_parser(
        "project",
        help="make a fair version of your own data",
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
    solution.add_argument("--tolerance", type=float, default=1e-10, help="largest miss, total mass 1 (default: 1e-10)")
    solution.add_argument(
        "--stop-on",
        default="residual",
        choices=("residual", "tv_bound", "log_ratio"),
        help="what the tolerance is of: the largest miss, the proved distance in total variation, or the proved bound "
        "on the logarithm of the factor that any profile is off, for odds ratios and rare groups (default: residual)",
    )
    solution.add_argument("--max-iterations", type=int, metavar="N", help="stop after so many iterations")
    solution.add_argument("--max-seconds", type=float, metavar="T", help="stop after so many seconds")
    solution.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="PATH",
        help="where to write: .nc for the whole result with its evidence, .csv, .csv.gz or .parquet for the table; of "
        "a stored table .zarr for the table, any other new folder for the whole result",
    )
    _add_people(solution)
    solution.add_argument(
        "--report",
        type=Path,
        metavar="DIR",
        help="write a page on what was reached into a folder",
    )


def _add_diagnose(commands: Any) -> None:
    parser = commands.add_parser(
        "diagnose",
        help="tell whether your own data has a fair version, and why not",
        description="Tell whether demographic parity (P), utility (U) and realism (R) can be met together on the "
        "profiles of a data set, with a proof that is checked, and explain it in the data's own labels.",
        epilog="exit codes: 0 they can be met, 2 usage or bad input, 3 they cannot, 4 not decided, 5 too large for the "
        "memory",
    )
    _add_data(parser)
    _add_question(parser)
    _add_bounds(parser)
    parser.add_argument("--proof", action="store_true", help="print the whole proof, however long")


def _add_relax(commands: Any) -> None:
    parser = commands.add_parser(
        "relax",
        help="make your own data as fair as it can be where not all can hold",
        description="Find the distribution that keeps the hard conditions and comes as close to the soft ones as it is "
        "worth: divergence from the data plus a penalty for what the soft ones miss.",
        epilog=EXIT_CODES,
    )
    _add_data(parser)
    _add_question(parser)
    relaxed = parser.add_argument_group("the relaxation")
    relaxed.add_argument("--soft", default="P", metavar="P", help="letters of conditions that may miss (default: P)")
    relaxed.add_argument(
        "--penalty", choices=("kl", "l1", "quadratic"), default="kl", help="of what they miss (default: kl)"
    )
    relaxed.add_argument(
        "--penalty-strength",
        type=float,
        default=1.0,
        metavar="NATS",
        help="what one unit of penalty is worth, in nats of divergence (default: 1)",
    )
    relaxed.add_argument("--tolerance", type=float, default=1e-10, help="of the hard conditions (default: 1e-10)")
    relaxed.add_argument("--max-iterations", type=int, metavar="N", help="stop after so many iterations")
    relaxed.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="PATH",
        help="where to write: .nc for the whole result with its evidence, .csv, .csv.gz or .parquet for the table",
    )
    _add_people(relaxed)


def _add_curve(commands: Any) -> None:
    parser = commands.add_parser(
        "curve",
        help="trace what parity costs on your own data, from none of it to all",
        description="Trace the price of parity: the least divergence from the data for each violation of parity that "
        "is allowed, utility and realism kept, with the disparity ratios along the way.",
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
        help="violations to allow, sum of |p(y, s) - f(y) f(s)| (default: from the smallest there is to the data's)",
    )
    traced.add_argument("--points", type=int, default=21, metavar="N", help="how many, without --slacks (default: 21)")
    traced.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="PATH",
        help="where to write: .csv, .parquet or .nc; pictures go beside it as .svg and .png",
    )


def _add_people(group: Any) -> None:
    group.add_argument(
        "--weights-out",
        type=Path,
        metavar="PATH",
        help="write the records as well, with a weight for each in the column 'weight', .csv or .parquet",
    )
    group.add_argument(
        "--rows",
        type=int,
        metavar="N",
        help="write to --out, in place of the table, N rows drawn from the result, with the columns of the file",
    )
    group.add_argument("--seed", type=int, default=0, help="of --rows (default: 0)")


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help=".csv, .tsv (also .gz) or .parquet: records, or counts; for project and diagnose also a stored table "
        "(.zarr), which is taken as it is",
    )
    data = parser.add_argument_group("the data")
    data.add_argument("--response", required=True, metavar="Y", help="the column that is decided")
    data.add_argument("--protected", required=True, nargs="+", metavar="S", help="columns it must not depend on")
    data.add_argument("--unprotected", nargs="+", metavar="X", help="all other columns to use (default: all others)")
    data.add_argument(
        "--weights", metavar="COLUMN", help="a weight or count for each row (default: the column 'count', if any)"
    )
    add_missing(data)


def _add_question(parser: argparse.ArgumentParser) -> None:
    question = parser.add_argument_group("the question")
    question.add_argument("--conditions", default="PUR", metavar="PUR", help="letters of P, U, R (default: PUR)")
    question.add_argument(
        "--reference",
        default="empirical",
        metavar="empirical|uniform|smooth|FILE",
        help="what to stay close to: the data, the uniform distribution, the data simplified as far as it predicts "
        "other people best (by cross-validation, with a pseudo-count of its own), or a table (default: empirical)",
    )
    _add_strength(question)


def _add_bounds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument_group("the bounds").add_argument(
        "--ratio-bounds",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="what each profile may have at least and at most, times what it has in the reference (default: no bounds)",
    )


def _add_strength(group: Any) -> None:
    group.add_argument(
        "--strength",
        type=float,
        default=1e-4,
        metavar="LAMBDA",
        help="pseudo-count of each profile on Y x observed (S, X) (default: 1e-4)",
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
        help="adult: income in the UCI Adult data, embedded; wage: five wage ranges in the Current Population Survey",
    )
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="FOLDER", help="default: out")
    parser.add_argument(
        "--strength", type=float, default=1e-4, metavar="LAMBDA", help="of the regularization (default: 1e-4)"
    )
    parser.add_argument(
        "--data-sets", type=int, default=100, metavar="N", help="adult: data sets to generate (default: 100)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of everything that is drawn (default: 0)")
    parser.add_argument(
        "--drawn-from",
        choices=("empirical", "regularized"),
        default="empirical",
        help="what simulated sets are drawn from: the data as they are, as in the paper, or f, which has profiles that "
        "nobody has (default: empirical)",
    )
    parser.add_argument(
        "--unseen",
        choices=("marginal", "drop"),
        default="marginal",
        help="test people whose profile is not in the training set: predicted by q(y), or left out (default: marginal)",
    )
    parser.add_argument(
        "--workers", type=int, default=2, metavar="N", help="threads; the numbers do not depend on them (default: 2)"
    )
    wage = parser.add_argument_group("wage")
    wage.add_argument(
        "--cps",
        type=Path,
        metavar="FILE",
        help="the gender-pay-gap file (.csv or .dta), all its years; without it an embedded survey of 1994-95",
    )
    wage.add_argument(
        "--sets",
        type=int,
        default=1000,
        metavar="N",
        help="simulated training and test sets, three projections each (default: 1000)",
    )
    wage.add_argument(
        "--wage-edges",
        type=float,
        nargs="+",
        metavar="DOLLARS",
        help="where a wage range begins, in dollars an hour (default: 10 20 30 40 with --cps, else 5 7.5 10 15)",
    )
    wage.add_argument(
        "--age-edges", type=float, nargs="+", metavar="YEARS", help="where an age group begins (default: 30 50)"
    )
    wage.add_argument(
        "--education-edges",
        type=float,
        nargs="+",
        metavar="YEARS",
        help="with --cps: where a group of years of schooling begins (default: 12 13 16)",
    )
    wage.add_argument(
        "--education-map",
        type=Path,
        metavar="CSV",
        help="without --cps: category,group of each of the 16 categories of education (default: no diploma, high "
        "school, some college, degree)",
    )
    wage.add_argument(
        "--sector-map",
        type=Path,
        metavar="CSV",
        help="category,group of each industry (default: the paper's seven sectors, and manufacturing)",
    )


def _add_info(commands: Any) -> None:
    commands.add_parser(
        "info",
        help="versions, threads, cache, memory, embedded data",
        description="Print what a bug report should say: versions, threads, cache, memory, embedded data.",
    )


def _add_warmup(commands: Any) -> None:
    commands.add_parser(
        "warmup",
        help="compile every kernel now, so that later runs compute at once",
        description="Compile every kernel and keep it in the cache: for those who build images, or install for others.",
    )
