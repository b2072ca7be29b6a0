"""The commands that weight records, or draw them."""

from __future__ import annotations

from pathlib import Path

from purtensor.cli.declarations import CLOSENESS, MISSING_VALUES, TOLERANCE, WEIGHT_NAME, Command, option

SAMPLE = Command(
    "sample",
    "people:run_sample",
    "draw records from a table or a result",
    "Draw individuals from a table of counts or probabilities, or from a saved projection, and write one row per "
    "individual.",
    [
        option("file", "a table (.csv, .parquet, .nc) or a saved result (.nc)", type=Path, metavar="FILE"),
        option("--rows", "number of rows to draw", type=int, required=True, metavar="N"),
        option("--seed", "seed of the draws (default: 0)", type=int, default=0),
        option("--without-replacement", "for counts: draw each individual at most once", action="store_true"),
        option("--counts", "write the counts of the profiles instead of rows", action="store_true"),
        option("--out", ".csv, .csv.gz or .parquet", type=Path, required=True, metavar="PATH"),
    ],
)

RAKE = Command(
    "rake",
    "rake:run",
    "compute weights with which a sample has the marginals given in files",
    "Compute the weights nearest to the design weights with which a sample has the marginals in the files; each file "
    "has columns of labels and one of counts, shares or per cent. For intervals, totals of numeric columns and "
    "targets with errors see calibrate.",
    [
        option("file", "records in a supported format", type=Path, metavar="SAMPLE"),
        option(
            "--targets",
            "files with one marginal each, such as sex.csv",
            nargs="+",
            type=Path,
            required=True,
            metavar="FILE",
        ),
        option("--weights", "column of design weights (default: 'count', if any, else 1)", metavar="COLUMN"),
        option("--total", "sum of the weights, if targets are shares", type=float, metavar="N"),
        *CLOSENESS,
        TOLERANCE,
        WEIGHT_NAME,
        option("--out", "write the sample with its weights", type=Path, required=True, metavar="PATH"),
    ],
    {"the files": MISSING_VALUES},
    defaults={"bins": [], "missing": "raise"},
)

CALIBRATE = Command(
    "calibrate",
    "calibrate:run",
    "compute weights for the records of a file that meet controls",
    "Change the design weights of records as little as possible, so that the weighted sample reproduces controls: "
    "counts and totals by group, as points, intervals, or targets with a standard error. The controls are a file that "
    "--template creates for you to fill in.",
    [
        option(
            "file",
            "records, one per row: .csv, .parquet, .feather, .xlsx, .dta, .sav and others",
            type=Path,
            metavar="FILE",
        )
    ],
    {
        "the data": [
            option("--weights", "column of design weights (default: 1 each)", metavar="COLUMN"),
            option("--members", "the persons, if the records are households", type=Path, metavar="FILE"),
            option("--key", "column with the household of each person", metavar="COLUMN"),
            *MISSING_VALUES,
        ],
        "the question": [
            option(
                "--controls",
                "the controls, one row per target: columns control, the attributes, value, and target or lower and "
                "upper, and sd",
                type=Path,
                metavar="FILE",
            ),
            *CLOSENESS,
            option(
                "--total",
                "sum of the weights if no control fixes it: a number, 'free' or 'reference'",
                default="constrained",
                metavar="T",
            ),
            option("--size", "sample size for the standard errors of controls", type=float, metavar="N"),
            TOLERANCE,
        ],
        "output": [
            option("--out", "write the records with their weights, .csv or .parquet", type=Path, metavar="PATH"),
            WEIGHT_NAME,
            option(
                "--members-out", "write the members with the weights of their households", type=Path, metavar="PATH"
            ),
            option("--report", "write a report, .html", type=Path, metavar="PATH"),
            option(
                "--curve",
                "show the cost of N bounds on the ratios in the report",
                type=int,
                default=0,
                metavar="N",
            ),
            option("--bootstrap", "also write weights of N bootstrap samples", type=int, default=0, metavar="N"),
            option("--seed", "seed of the bootstrap (default: 0)", type=int, default=0),
            option("--template", "only write controls to fill in", type=Path, metavar="PATH"),
            option(
                "--scopes",
                "with --template: columns to control, 'age region' for both",
                nargs="+",
                metavar="SCOPE",
            ),
        ],
    },
)
