"""The parser of everything that can be typed after `purtensor`; imports nothing heavy, so that help answers at once."""

from __future__ import annotations

import argparse

from purtensor import __version__
from purtensor.cli.data_commands import CURVE, DECIDE, DIAGNOSE, INSPECT, PATH, PROJECT, PROXIES, RELAX
from purtensor.cli.declarations import EXIT_CODES
from purtensor.cli.study_commands import COMPARE, INFO, REPRODUCE, WARMUP
from purtensor.cli.weight_commands import CALIBRATE, RAKE, SAMPLE
from purtensor.cli.wording import Parser

COMMANDS = (
    INSPECT,
    PROJECT,
    DIAGNOSE,
    RELAX,
    CURVE,
    DECIDE,
    PROXIES,
    PATH,
    SAMPLE,
    RAKE,
    CALIBRATE,
    REPRODUCE,
    COMPARE,
    INFO,
    WARMUP,
)


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
    for command in COMMANDS:
        command.add_to(commands)
    return parser
