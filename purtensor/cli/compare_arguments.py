"""What can be typed after `purtensor compare`; imports nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from purtensor.solving.solvers import SOLVERS

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
"""The names of the peers, without importing them."""

STUDIES = ("lambda", "size", "granularity")
"""The names of the studies of convergence rates, without importing them."""


def add_compare(commands: Any) -> None:
    """Add the command to a parser's commands."""
    parser = commands.add_parser(
        "compare",
        help="compare solvers on problems",
        description="Run solvers on problems under one stopping rule and one budget, judge what they return from "
        "outside, time them in turns, and write tables, curves, performance profiles and a report.",
    )
    parser.add_argument(
        "problems",
        nargs="*",
        metavar="PROBLEM",
        help="a name (a, b, b_hard, ... , staircase), a family with sizes such as 'pur(responses=2, protected=3, "
        "unprotected=40)', a saved projection (.nc), or records (a file of any kind that is read; see below)",
    )
    parser.add_argument(
        "--solvers",
        nargs="+",
        default=["auto", "ipf", "newton"],
        metavar="NAME",
        help=f"{', '.join(SOLVERS)}, also with options, such as 'ipf(relaxation=1.5)'; project (with labels); peers: "
        f"{', '.join(PEERS)}; or module:name for your own (default: auto ipf newton)",
    )
    parser.add_argument(
        "--study",
        choices=STUDIES,
        help="instead of a comparison: how many sweeps IPF needs while one property of a PUR problem varies (b, where "
        "none is named)",
    )
    parser.add_argument(
        "--fair",
        metavar="DATA",
        help="instead of solvers, compare ways to fair predictions: PUR, P, PU and MaxEnt-PUR as natural classifiers "
        "and as weights for models, beside fairlearn, AIF360 and equipy where they are installed; DATA is adult, "
        "adult-rich (more categories), or records with --response and --protected",
    )
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="of --fair: methods by their names in the table (default: all)"
    )
    parser.add_argument(
        "--splits", type=int, default=20, metavar="N", help="of --fair: random divisions of the people (default: 20)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the divisions (default: 0)")
    parser.add_argument("--budget", type=float, default=60.0, metavar="S", help="seconds a run may take (default: 60)")
    parser.add_argument("--tolerance", type=float, default=1e-10, help="largest miss, total mass 1 (default: 1e-10)")
    parser.add_argument(
        "--max-iterations", type=int, default=100_000, metavar="N", help="iterations a run may take (default: 100000)"
    )
    parser.add_argument(
        "--repetitions", type=int, default=5, metavar="N", help="rounds of timing, in turns (default: 5)"
    )
    parser.add_argument(
        "--clock",
        choices=("wall", "processor"),
        default="wall",
        help="what runs are timed by; the processor's leaves out what other programs take (default: wall)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="processes that compute side by side; counts and residuals do not depend on them, times do (default: 1)",
    )
    parser.add_argument("--baseline", metavar="NAME", help="whose time the ratios are over (default: the first solver)")
    parser.add_argument("--out", type=Path, default=Path("out/compare"), metavar="FOLDER", help="default: out/compare")
    records = parser.add_argument_group("records: PUR is asked of them")
    records.add_argument("--response", metavar="Y", help="the column that is decided")
    records.add_argument("--protected", nargs="+", metavar="S", help="columns it must not depend on")
    records.add_argument("--weights", metavar="COLUMN", help="a weight or count for each row")
    add_missing(records)
    records.add_argument("--strength", type=float, default=1e-4, metavar="LAMBDA", help="pseudo-count (default: 1e-4)")


def add_missing(group: Any) -> None:
    """Add what is said of missing values, of text and of bins to a group of options."""
    group.add_argument(
        "--missing",
        choices=("raise", "drop", "category"),
        default="raise",
        help="rows with a missing value: refuse, drop, or make missing a category (default: raise)",
    )
    group.add_argument(
        "--bins",
        nargs="+",
        default=[],
        metavar="COLUMN=EDGES",
        help="bins of a column of numbers: age=30,45,65 (where bins begin) or age=quantiles:4; or a file: as its table",
    )
    add_missing_values(group)


def add_missing_values(group: Any) -> None:
    """Add what is said of cells that mean missing, and of text, to a group of options."""
    group.add_argument(
        "--missing-values",
        nargs="+",
        default=[],
        metavar="TEXT",
        help="cells of text that mean missing, beside the empty cell",
    )
    group.add_argument(
        "--not-missing",
        nargs="+",
        default=[],
        metavar="TEXT",
        help="cells such as NA, ? or . that are categories; they are refused unless it is said what they mean",
    )
    add_text(group)


def add_text(group: Any) -> None:
    """Add what may be said of text files to a group of options."""
    group.add_argument("--delimiter", metavar="C", help="what stands between cells; 'tab' is one (default: found)")
    group.add_argument("--decimal", choices=(".", ","), default=".", help="the mark before decimals (default: .)")
    group.add_argument("--encoding", metavar="NAME", help="of text, such as latin-1 (default: UTF-8, or UTF-16)")
