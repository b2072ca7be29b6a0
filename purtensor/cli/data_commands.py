"""The commands on the user's own data with a response and protected attributes."""

from __future__ import annotations

from pathlib import Path

from purtensor.cli.declarations import (
    BOUNDS,
    CONDITIONS,
    DATA,
    FILE,
    MAX_ITERATIONS,
    MISSING,
    MISSING_VALUES,
    OUT,
    PEOPLE,
    PROTECTED,
    QUESTION,
    RESPONSE,
    RESULTS_OUT,
    STRENGTH,
    TOLERANCE,
    UNPROTECTED,
    Command,
    option,
)
from purtensor.solving.solvers import SOLVERS

INSPECT = Command(
    "inspect",
    "inspect:run",
    "report the columns of a file",
    "Report the categories, missing values and type of each column, and whether it looks like a weight, an "
    "identifier, a number to bin, or a proxy of the protected columns; then suggest the next command.",
    [option("file", "records in a supported format; - for standard input", metavar="FILE")],
    {
        "the data (optional)": [
            option("--response", "the response, a column", metavar="Y"),
            option(
                "--protected",
                "columns that the response must not depend on (default: by name)",
                nargs="+",
                metavar="S",
            ),
            option("--weights", "column of weights or counts of the rows (default: by name)", metavar="COLUMN"),
            *MISSING_VALUES,
        ]
    },
    defaults={"bins": [], "missing": "raise"},  # what `project` takes, and messages name
)

PROJECT = Command(
    "project",
    "project:run",
    "compute the fair version of a data set",
    "Project a data set onto demographic parity (P), utility (U) and realism (R), and write the projection: the fair "
    "distribution that is closest to the data.",
    [FILE],
    {
        "the data": DATA,
        "the question": QUESTION,
        "the bounds": BOUNDS,
        "the solution": [
            option(
                "--solver",
                f"{', '.join(SOLVERS)}, also with options, such as 'ipf(relaxation=1.5)' (default: auto)",
                default="auto",
                metavar="NAME",
            ),
            option(
                "--distance",
                "what is kept small: the divergence, the chi-squared distance, or the logit one, which takes bounds "
                "(default: kl)",
                choices=("kl", "linear", "logit"),
                default="kl",
            ),
            TOLERANCE,
            option(
                "--stop-on",
                "quantity compared with the tolerance: the largest miss, the proved total variation distance, or the "
                "proved bound on the log ratio of every profile, for odds ratios and rare groups (default: residual)",
                default="residual",
                choices=("residual", "tv_bound", "log_ratio"),
            ),
            MAX_ITERATIONS,
            option("--max-seconds", "stop after T seconds", type=float, metavar="T"),
            option(
                "--out",
                "output: .nc for the complete result with its certificate, .csv, .csv.gz or .parquet for the table; "
                "for a stored table, .zarr for the table or any other new folder for the complete result",
                type=Path,
                required=True,
                metavar="PATH",
            ),
            *PEOPLE,
            option("--report", "write a report into a folder", type=Path, metavar="DIR"),
        ],
    },
)

DIAGNOSE = Command(
    "diagnose",
    "diagnose:run",
    "prove whether a fair version of a data set exists",
    "Decide whether demographic parity (P), utility (U) and realism (R) can be met together on the profiles of a data "
    "set, with a checked proof, and explain the result in the labels of the data.",
    [FILE, option("--proof", "print the complete proof", action="store_true")],
    {"the data": DATA, "the question": QUESTION, "the bounds": BOUNDS},
    epilog="exit codes: 0 feasible, 2 wrong usage or invalid input, 3 infeasible, 4 undecided, 5 too large for the "
    "memory",
)

RELAX = Command(
    "relax",
    "project:run_relax",
    "find the nearest distribution when not all conditions can hold",
    "Find the distribution that meets the hard conditions and minimises the divergence from the data plus a penalty "
    "for violations of the soft conditions.",
    [FILE],
    {
        "the data": DATA,
        "the question": QUESTION,
        "the relaxation": [
            option("--soft", "letters of the soft conditions (default: P)", default="P", metavar="P"),
            option(
                "--penalty",
                "penalty for violations (default: kl)",
                choices=("kl", "l1", "quadratic"),
                default="kl",
            ),
            option(
                "--penalty-strength",
                "weight of the penalty, in nats of divergence per unit (default: 1)",
                type=float,
                default=1.0,
                metavar="NATS",
            ),
            option("--tolerance", "tolerance of the hard conditions (default: 1e-10)", type=float, default=1e-10),
            MAX_ITERATIONS,
            OUT,
            *PEOPLE,
        ],
    },
)

CURVE = Command(
    "curve",
    "analyses:run_curve",
    "trace the divergence against the allowed violation of parity",
    "Trace the cost of parity: the least divergence from the data for each allowed violation of parity, subject to "
    "utility and realism, with the disparity ratios.",
    [FILE],
    {
        "the data": DATA,
        "the question": [STRENGTH],
        "the curve": [
            option(
                "--slacks",
                "allowed violations, sum of |p(y, s) - f(y) f(s)| (default: from the smallest possible to that of the "
                "data)",
                type=float,
                nargs="+",
                metavar="E",
            ),
            option(
                "--points", "number of violations without --slacks (default: 21)", type=int, default=21, metavar="N"
            ),
            option(
                "--out",
                "output: .csv, .parquet or .nc; figures are written beside it as .svg and .png",
                type=Path,
                required=True,
                metavar="PATH",
            ),
        ],
    },
    defaults={"conditions": "PUR", "reference": "empirical"},
)

DECIDE = Command(
    "decide",
    "decide:run",
    "make fair decisions about people, and report their cost",
    "Project the records of a file onto demographic parity, and decide for each record, or for other people; then "
    "show the rate of each decision in each group, and the accuracy. A row that is dropped for a missing value is not "
    "learned from, and gets no decision.",
    [option("file", "records to fit to, one row per person", type=Path, metavar="FILE")],
    {
        "the data": [
            RESPONSE,
            PROTECTED,
            UNPROTECTED,
            option("--weights", "column of weights of the rows to fit to", metavar="COLUMN"),
            *MISSING,
        ],
        "the question": [
            CONDITIONS,
            option(
                "--reference",
                "what to stay close to: the data, the uniform distribution, or the data simplified as far as it "
                "predicts other people best, by cross-validation (default: empirical)",
                default="empirical",
                choices=("empirical", "uniform", "smooth"),
            ),
            option(
                "--strength",
                "pseudo-count of each profile; smooth chooses its own (default: 1e-4)",
                type=float,
                default=1e-4,
                metavar="LAMBDA",
            ),
        ],
        "the decisions": [
            option(
                "--decision",
                "fair: least loss with the same rates for all groups; draw: draw from the probabilities; likeliest: "
                "the category of largest probability, which is not fair (default: fair)",
                choices=("fair", "draw", "likeliest"),
                default="fair",
            ),
            option(
                "--rate",
                "rates of the fair decisions, such as no=0.8 yes=0.2 (default: those of the data)",
                nargs="+",
                metavar="CATEGORY=SHARE",
            ),
            option(
                "--people",
                "records to decide about, with the same columns (default: FILE)",
                type=Path,
                metavar="FILE",
            ),
            option(
                "--ids",
                "column that identifies a person; draws depend only on it and on the seed (default: the row number)",
                metavar="COLUMN",
            ),
            option("--seed", "seed of the draws (default: 0)", type=int, default=0),
            option(
                "--unseen",
                "people with a profile that is not in FILE: decide by the overall rates, or raise an error (default: "
                "marginal)",
                choices=("marginal", "raise"),
                default="marginal",
            ),
            option("--name", "column of the decisions (default: decision)", default="decision", metavar="COLUMN"),
            option("--out", "write the people with their decisions", type=Path, required=True, metavar="PATH"),
        ],
    },
)

PROXIES = Command(
    "proxies",
    "analyses:run_proxies",
    "find the columns that reveal the protected ones, and what parity costs with them",
    "Rank columns and sets of columns by the cost of parity with them: whether the conditions can be met, the "
    "smallest violation, and the divergence in nats.",
    [FILE],
    {
        "the data": DATA,
        "the question": [
            STRENGTH,
            option("--largest", "largest number of columns in a set (default: 2)", type=int, default=2, metavar="N"),
            RESULTS_OUT,
        ],
    },
    defaults={"conditions": "PUR", "reference": "empirical"},
)

PATH = Command(
    "path",
    "analyses:run_path",
    "show how the answer depends on the pseudo-count, from the data to maximum entropy",
    "Project references of several pseudo-counts onto the same conditions; inf is the distribution of maximum entropy.",
    [FILE],
    {
        "the data": DATA,
        "the question": [
            CONDITIONS,
            option(
                "--strengths",
                "pseudo-counts (default: 1e-6 1e-4 0.01 1 inf)",
                type=float,
                nargs="+",
                default=[1e-6, 1e-4, 1e-2, 1.0, float("inf")],
                metavar="LAMBDA",
            ),
            RESULTS_OUT,
        ],
    },
    defaults={"reference": "empirical", "strength": 1e-4},
)
