"""The commands of studies and comparisons, and those about the installation."""

from __future__ import annotations

from pathlib import Path

from purtensor.cli.declarations import MISSING, TOLERANCE, Command, option
from purtensor.solving.solvers import SOLVERS

# the names of the peers, without importing them
PEERS = (
    "ipfn",
    "humanleague",
    "pot",
    "pot-stabilized",
    "pot-greenkhorn",
    "ott-jax",
    "mbi",
    "scipy-lbfgs",
    "trust-exact",
    "clarabel",
    "loglin",
)

# the names of the studies of convergence rates, without importing them
STUDIES = ("lambda", "size", "granularity", "atlas")

REPRODUCE = Command(
    "reproduce",
    "reproduce_{study}:run",
    "run a study of the paper on real data",
    "Run a study of 'Demographic Parity: Mitigating Biases in Real-World Data' (arXiv 2309.17347).",
    [
        option(
            "study",
            "adult: income in the embedded UCI Adult data; wage: five wage ranges in the Current Population Survey",
            choices=("adult", "wage"),
        ),
        option("--out", "default: out", type=Path, default=Path("out"), metavar="FOLDER"),
        option(
            "--strength",
            "pseudo-count of the regularization (default: 1e-4)",
            type=float,
            default=1e-4,
            metavar="LAMBDA",
        ),
        option("--data-sets", "adult: data sets to generate (default: 100)", type=int, default=100, metavar="N"),
        option("--seed", "seed of all random draws (default: 0)", type=int, default=0),
        option(
            "--drawn-from",
            "distribution of simulated sets: the data, as in the paper, or f, which has profiles without observations "
            "(default: empirical)",
            choices=("empirical", "regularized"),
            default="empirical",
        ),
        option(
            "--unseen",
            "test people whose profile is not in the training set: predicted by q(y), or left out (default: marginal)",
            choices=("marginal", "drop"),
            default="marginal",
        ),
        option(
            "--workers",
            "number of threads; does not affect the results (default: 2)",
            type=int,
            default=2,
            metavar="N",
        ),
    ],
    {
        "wage": [
            option(
                "--cps",
                "the gender-pay-gap file (.csv or .dta) with all its years (default: an embedded survey of 1994-95)",
                type=Path,
                metavar="FILE",
            ),
            option(
                "--sets",
                "number of simulated training and test sets, with three projections each (default: 1000)",
                type=int,
                default=1000,
                metavar="N",
            ),
            option(
                "--wage-edges",
                "lower ends of the wage ranges, in dollars per hour (default: 10 20 30 40 with --cps, else 5 7.5 10 "
                "15)",
                type=float,
                nargs="+",
                metavar="DOLLARS",
            ),
            option(
                "--age-edges",
                "lower ends of the age groups (default: 30 50)",
                type=float,
                nargs="+",
                metavar="YEARS",
            ),
            option(
                "--education-edges",
                "with --cps: lower ends of the groups of years of schooling (default: 12 13 16)",
                type=float,
                nargs="+",
                metavar="YEARS",
            ),
            option(
                "--education-map",
                "without --cps: file with columns category,group for the 16 categories of education (default: no "
                "diploma, high school, some college, degree)",
                type=Path,
                metavar="CSV",
            ),
            option(
                "--sector-map",
                "file with columns category,group for the industries (default: the seven sectors of the paper, and "
                "manufacturing)",
                type=Path,
                metavar="CSV",
            ),
        ]
    },
    epilog=None,
)

COMPARE = Command(
    "compare",
    "compare:run",
    "compare solvers on problems",
    "Run solvers on problems with one stopping rule and budget, evaluate their tables independently, time them in "
    "turns, and write tables, curves, performance profiles and a report.",
    [
        option(
            "problems",
            "a name (a, b, b_hard, ... , staircase), a family with sizes such as 'pur(responses=2, protected=3, "
            "unprotected=40)', a saved projection (.nc), or records (a file of any kind that is read; see below)",
            nargs="*",
            metavar="PROBLEM",
        ),
        option(
            "--solvers",
            f"{', '.join(SOLVERS)}, also with options, such as 'ipf(relaxation=1.5)'; project (with labels); other "
            f"packages: {', '.join(PEERS)}; or module:name for your own solver (default: auto ipf newton)",
            nargs="+",
            default=["auto", "ipf", "newton"],
            metavar="NAME",
        ),
        option(
            "--study",
            "instead of a comparison: number of sweeps of IPF while one property of a PUR problem varies (b, if no "
            "problem is named)",
            choices=STUDIES,
        ),
        option(
            "--fair",
            "instead of solvers, compare methods for fair prediction: PUR, P, PU and MaxEnt-PUR as natural "
            "classifiers and as weights for models, and fairlearn, AIF360 and equipy if installed; DATA is adult, "
            "adult-rich (more categories), or records with --response and --protected",
            metavar="DATA",
        ),
        option(
            "--methods",
            "with --fair: methods, by their names in the table (default: all)",
            nargs="+",
            metavar="NAME",
        ),
        option(
            "--splits",
            "with --fair: number of random splits of the people (default: 20)",
            type=int,
            default=20,
            metavar="N",
        ),
        option("--seed", "seed of the splits (default: 0)", type=int, default=0),
        option("--budget", "time limit per run in seconds (default: 60)", type=float, default=60.0, metavar="S"),
        TOLERANCE,
        option(
            "--max-iterations",
            "limit of iterations per run (default: 100000)",
            type=int,
            default=100_000,
            metavar="N",
        ),
        option("--repetitions", "number of timing rounds (default: 5)", type=int, default=5, metavar="N"),
        option(
            "--clock",
            "clock for timing; processor time excludes other programs (default: wall)",
            choices=("wall", "processor"),
            default="wall",
        ),
        option(
            "--workers",
            "number of parallel processes; affects times, but not counts and residuals (default: 1)",
            type=int,
            default=1,
            metavar="N",
        ),
        option("--baseline", "solver in the denominator of time ratios (default: the first)", metavar="NAME"),
        option("--out", "default: out/compare", type=Path, default=Path("out/compare"), metavar="FOLDER"),
    ],
    {
        "records, for a PUR problem": [
            option("--response", "the response, a column", metavar="Y"),
            option("--protected", "columns that the response must not depend on", nargs="+", metavar="S"),
            option("--weights", "column of weights or counts of the rows", metavar="COLUMN"),
            *MISSING,
            option("--strength", "pseudo-count (default: 1e-4)", type=float, default=1e-4, metavar="LAMBDA"),
        ]
    },
    epilog=None,
)

INFO = Command(
    "info",
    "installation:run_info",
    "print versions, threads, cache, memory and embedded data",
    "Print the information for a bug report: versions, threads, cache, memory, embedded data.",
    epilog=None,
)

WARMUP = Command(
    "warmup",
    "installation:run_warmup",
    "compile all kernels now, so that later runs need not",
    "Compile all kernels and cache them, for example in an image or an installation for other users.",
    epilog=None,
)
