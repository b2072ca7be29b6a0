"""The entry of the command line: from words to a command, from its ending to an exit code."""

from __future__ import annotations

import argparse
import glob
import io
import json
import os
import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from purtensor._printing import printable
from purtensor.cli.declarations import BAD_INPUT, DONE, INFEASIBLE, INTERRUPTED, NOT_CONVERGED, TOO_LARGE
from purtensor.cli.parser import UsageError, as_options, as_typed, build_parser, one_word
from purtensor.errors import (
    InfeasibleError,
    InvalidOptionError,
    NotConvergedError,
    PurtensorError,
    PurtensorWarning,
    TooLargeError,
)

# the options that name what is written
OUTPUTS = ("out", "report", "template", "weights_out", "members_out")
# up to this many replaced files are listed by name; otherwise their number is printed
MOST_PATHS = 10

# the smallest extra that has a package
EXTRAS = {
    "matplotlib": "plot",
    "jinja2": "report",
    "tabulate": "report",
    "sklearn": "sklearn",
    "fairlearn": "fair",
    "netCDF4": "io",
    "zarr": "distributed",
    "dask": "distributed",
    "distributed": "distributed",
    "rich": "progress",
    "openpyxl": "excel",
    "pyreadstat": "spss",
    "cvxpy": "peers",
    "ipfn": "peers",
    "ot": "peers",
}

# options whose words may happen to be paths, as the decimal point is
NO_PATHS = ("decimal", "delimiter", "encoding", "typed", "runs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name and return its exit code.

    Parameters
    ----------
    arguments
        The words after the program's name; those of the process when None.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        parsed = build_parser().parse_args(words)
    except UsageError as error:
        # nothing could be parsed: the option is looked for among the words
        if "--json" in words:
            print(json.dumps({"command": None, "exit_code": BAD_INPUT, "error": error.facts()}, ensure_ascii=False))
        else:
            error.show()
        raise
    parsed.typed = shlex.join(["purtensor", *words])
    if parsed.json:
        return run_as_json(parsed)
    # what is printed goes nowhere; files and errors are as always
    if parsed.quiet:
        with redirect_stdout(io.StringIO()):
            return outcome(parsed)
    return outcome(parsed)


def run_as_json(parsed: argparse.Namespace) -> int:
    """Run a command and print its results, warnings and error as one JSON object; return the exit code."""
    with import_module("purtensor.cli.output").collecting() as collected, redirect_stdout(io.StringIO()):
        code = outcome(parsed, collected)
    text = json.dumps({"command": parsed.command, "exit_code": code, **collected}, ensure_ascii=False, default=str)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        drop_output()
    return code


def drop_output() -> None:
    """Send stdout nowhere, as its reader went away: Python flushes it once more at its end, which must not raise."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def outcome(parsed: argparse.Namespace, collected: dict[str, Any] | None = None) -> int:
    """Run the parsed command and return its exit code; errors go to stderr, or into `collected` as data."""
    try:
        # a command's module stands on numpy, pandas and more: it is imported only when it is called
        module, _, name = parsed.runs.format_map(vars(parsed)).partition(":")  # a study has a module of its own
        run = getattr(import_module(f"purtensor.cli.{module}"), name)
        with show_warnings(parsed, collected):
            ending = run_keeping_inputs(run, parsed, collected)
        # a pipe that is closed shows here, and not only when Python ends
        sys.stdout.flush()
        return DONE if ending is None else int(ending)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        drop_output()
    except KeyboardInterrupt as error:
        return report_failure(error, "interrupted", collected, INTERRUPTED)
    except ImportError as error:
        missing = missing_package(error)
        if parsed.debug or missing is None:
            raise
        return report_failure(error, missing, collected, BAD_INPUT)
    except (PurtensorError, OSError, MemoryError) as error:
        if isinstance(error, NotConvergedError) and error.interrupted:
            return report_failure(error, "interrupted", collected, INTERRUPTED)
        if parsed.debug:
            raise
        message = one_line(error)
        if isinstance(error, PurtensorError) and error.hint:
            hint = one_word(error.hint)
            error.hint = as_options(hint, parsed)
            message = message.replace(hint, error.hint)
        if isinstance(error, NotConvergedError | InvalidOptionError):  # others may contain names of the data
            message, error.hint = as_typed(message, parsed), as_typed(error.hint or "", parsed)
        return report_failure(error, message, collected, exit_code(error))
    return DONE


def report_failure(error: BaseException, message: str, collected: dict[str, Any] | None, code: int) -> int:
    """Report the failure of a command, on stderr or as data, and return the exit code."""
    if collected is None:
        print(f"purtensor: {message}", file=sys.stderr)
    else:
        facts = error.facts() if isinstance(error, PurtensorError) else {"error": type(error).__name__}
        collected["error"] = {**facts, "message": message.removeprefix(f"{type(error).__name__}: ")}
    return code


def run_keeping_inputs(
    run: Callable[[argparse.Namespace], int | None], parsed: argparse.Namespace, collected: dict[str, Any] | None = None
) -> int | None:
    """Run a command so that nothing is written over a file that it reads, and say which other files it replaced."""
    files = import_module("purtensor.tables.io.atomic")  # stands on numpy
    inputs = input_paths(parsed)
    # refused before the command reads anything
    outputs = {name: getattr(parsed, name) for name in OUTPUTS if getattr(parsed, name, None) is not None}
    for path in outputs.values():
        files.require_other_file(path, inputs)
    require_different(outputs)
    with files.keep_files(inputs) as written:
        ending = run(parsed)
    if written.replaced and collected is not None:
        collected["replaced"] = [str(path) for path in written.replaced]
    elif written.replaced:
        print(printable(f"\nreplaced, having been there before: {describe_replaced(written.replaced)}"))
    return ending


def require_different(outputs: Mapping[str, str | os.PathLike[str]]) -> None:
    """Refuse two options that name the same file to write: the second would replace the first."""
    options: dict[str, str] = {}
    for name, path in outputs.items():
        option = f"--{name.replace('_', '-')}"
        # two spellings of one path are one file
        other = options.setdefault(os.path.realpath(path), option)
        if other != option:
            raise InvalidOptionError(f"{other} and {option} must name different files, got {os.fspath(path)} twice")


@contextmanager
def show_warnings(parsed: argparse.Namespace, collected: dict[str, Any] | None = None) -> Iterator[None]:
    """Print warnings of purtensor like errors, with the options of the command line; others as Python does."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, PurtensorWarning):
            sentence = printable(as_options(one_word(str(message)), parsed))
            if collected is not None:
                collected.setdefault("warnings", []).append({"warning": category.__name__, "message": sentence})
            else:
                print(f"purtensor: warning: {sentence}", file=sys.stderr)
        else:
            as_python(message, category, *where, **more)

    with warnings.catch_warnings():
        as_python, warnings.showwarning = warnings.showwarning, show
        yield


def describe_replaced(paths: Sequence[Path]) -> str:
    """Return a few paths each, and of more how many there are in which folder.

    Examples
    --------
    >>> print(describe_replaced([Path("out/a.csv"), Path("b.csv")]))
    out/a.csv, b.csv
    >>> print(describe_replaced([Path(f"out/{at}.csv") for at in range(12)]))
    12 files in out
    """
    if len(paths) <= MOST_PATHS:
        return ", ".join(map(str, paths))
    return ", ".join(f"{count} files in {folder}" for folder, count in Counter(path.parent for path in paths).items())


def input_paths(parsed: argparse.Namespace) -> list[str]:
    """Return every word but those of outputs that is the path of something there, wildcards expanded."""
    words: list[str] = []
    # any word may name a file that is read, also in options that only some commands have
    for name, value in vars(parsed).items():
        if name not in (*OUTPUTS, *NO_PATHS):
            words += [str(word) for word in (value if isinstance(value, list) else [value]) if word]
    return [path for word in words for path in ([word] if os.path.exists(word) else sorted(glob.glob(word)))]


def missing_package(error: ImportError) -> str | None:
    """Return what to install, where an import failed for lack of an optional package."""
    # purtensor itself says what to install
    if "pip install" in str(error):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("purtensor"):
        package = (error.name or "").partition(".")[0]
        return f"this command needs {package}: pip install 'purtensor[{EXTRAS.get(package, 'all')}]'"
    return None


def exit_code(error: BaseException) -> int:
    """Return the exit code that scripts see for an error."""
    if isinstance(error, InfeasibleError):
        return INFEASIBLE
    if isinstance(error, NotConvergedError):
        return NOT_CONVERGED
    if isinstance(error, TooLargeError | MemoryError):
        return TOO_LARGE
    return BAD_INPUT


def one_line(error: BaseException) -> str:
    """Return an error's name and message on one line."""
    return printable(one_word(f"{type(error).__name__}: {error}"))
