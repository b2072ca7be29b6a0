"""The parser of everything that can be typed after `purtensor`, and errors and messages in the same words."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import sys
from typing import Any, NoReturn

from purtensor import __version__
from purtensor._printing import near_name
from purtensor.cli.data_commands import CURVE, DECIDE, DIAGNOSE, INSPECT, PATH, PROJECT, PROXIES, RELAX
from purtensor.cli.declarations import BAD_INPUT, EXIT_CODES
from purtensor.cli.study_commands import COMPARE, INFO, REPRODUCE, WARMUP
from purtensor.cli.weight_commands import CALIBRATE, RAKE, SAMPLE

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

# argparse says what is wrong in its messages only
_CHOICE = re.compile(r"argument (?P<where>[^:]+): invalid choice: '(?P<got>[^']*)' \(choose from (?P<known>.*)\)")
_UNKNOWN = re.compile(r"unrecognized arguments: (?P<got>-\S+)")
_OTHER = re.compile(r"(?:argument (?P<where>[^:]+): )?(?P<expected>.*)", re.DOTALL)


class UsageError(SystemExit):
    """Words that the parser does not take: ends the program with the exit code 2."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(BAD_INPUT)
        self.parser = parser
        choice, unknown = _CHOICE.search(message), _UNKNOWN.search(message)
        parts = next(found.groupdict() for found in (choice, unknown, _OTHER.match(message)) if found)
        options = sorted({word for each in _with_commands(parser) for word in each._option_string_actions})
        known = [word.strip("'\"") for word in parts["known"].split(", ")] if choice else options if unknown else []
        near = near_name(parts["got"], known) if "got" in parts else None
        self.message = message + (f"; {near}" if near else "")
        self.help = f"{parser.prog} --help"
        self.data = {
            "message": self.message,
            "where": parts.get("where") or parser.prog,
            "expected": parts.get("expected") or known,
            "got": parts.get("got", "other words"),
            "hint": near or f"try: {self.help}",
        }

    def facts(self) -> dict[str, Any]:
        """Return the error as data, in the form of other purtensor errors."""
        return {"error": type(self).__name__, "code": "usage", **self.data}

    def show(self) -> None:
        """Print it, and where the words are listed; argparse would print them all, twenty lines of some commands."""
        print(f"{self.parser.prog}: error: {self.message}\ntry: {self.help}", file=sys.stderr)


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError`, and leaves it to its caller to show it."""

    def error(self, message: str) -> NoReturn:
        """Raise the error."""
        raise UsageError(self, message)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; `runs` in its result names what runs the command."""
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


def _with_commands(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Return a parser and those of its commands."""
    found = [parser]
    # argparse has no public list of a parser's commands
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [each for command in action.choices.values() for each in _with_commands(command)]
    return found


def as_typed(message: str, parsed: argparse.Namespace) -> str:
    """Return a message with Python options replaced by command-line options, where they exist."""
    for name in vars(parsed):
        if "_" in name:  # a single word may be meant as a word
            message = re.sub(rf"(?<![\w-]){name}\b", f"--{name.replace('_', '-')}", message)
    return message.replace("Newton()", "--solver newton") if "solver" in parsed else message


def as_options(hint: str, parsed: argparse.Namespace) -> str:
    """Return a hint with Python options, such as missing_values=['?'], replaced by command-line options."""

    def replace(match: re.Match[str]) -> str:
        name, value = match["name"], ast.literal_eval(match["value"])
        if name not in parsed:
            return match[0]
        if isinstance(value, dict):  # bins
            items = [
                (key, edges if isinstance(edges, str) else ",".join(map(str, edges))) for key, edges in value.items()
            ]
            value = [f"{key}={edges}" for key, edges in items]
        words = value if isinstance(value, list) else [value]
        return f"--{name.replace('_', '-')} {' '.join(shlex.quote(str(word)) for word in words)}"

    # its options are the command's
    hint = re.sub(r"purtensor\.records\.files\.open_records\(FILE, ([^()]*)\)", r"\1", hint)
    return re.sub(r"(?P<name>\w+)=(?P<value>\{[^}]*\}|\[[^\]]*\]|'[^']*')", replace, hint)


def one_word(text: str) -> str:
    """Return text with one blank where it has several, or a line end."""
    return " ".join(text.split())
