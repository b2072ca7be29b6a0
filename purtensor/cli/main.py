"""The entry of the command line: from words to a command, from its ending to an exit code."""

from __future__ import annotations

import argparse
import glob
import os
import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from purtensor._printing import printable
from purtensor.cli.arguments import build_parser
from purtensor.cli.endings import BAD_INPUT, DONE, INFEASIBLE, INTERRUPTED, NOT_CONVERGED, TOO_LARGE
from purtensor.cli.wording import as_typed, one_word, typed_options
from purtensor.errors import (
    InfeasibleError,
    InvalidOptionError,
    NotConvergedError,
    PurtensorError,
    PurtensorWarning,
    TooLargeError,
)

OUTPUTS = ("out", "report", "template", "weights_out")
"""The options that name what is written."""

MOST_PATHS = 10
"""So many replaced files are told by name; of more, how many there are."""

NO_PATHS = ("decimal", "delimiter", "encoding", "typed")
"""Options whose words may happen to be paths, as the decimal point is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name and return its exit code.

    Parameters
    ----------
    arguments
        The words after the program's name; those of the process when None.
    """
    words = sys.argv[1:] if arguments is None else arguments
    parsed = build_parser().parse_args(words)
    parsed.typed = shlex.join(["purtensor", *words])
    try:
        # a command's module stands on numpy, pandas and more: it is imported only when it is called
        run = import_module(f"purtensor.cli.{parsed.command}").run
        with telling_warnings(parsed):
            ending = keeping_inputs(run, parsed)
        sys.stdout.flush()
        return DONE if ending is None else int(ending)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return told_interrupted()
    except ImportError as error:
        told = missing_package(error)
        if parsed.debug or told is None:
            raise
        print(f"purtensor: {told}", file=sys.stderr)
        return BAD_INPUT
    except (PurtensorError, OSError, MemoryError) as error:
        if isinstance(error, NotConvergedError) and error.interrupted:
            return told_interrupted()
        if parsed.debug:
            raise
        told = one_line(error)
        if isinstance(error, PurtensorError) and error.hint:
            told = told.replace(one_word(error.hint), typed_options(one_word(error.hint), parsed))
        if isinstance(error, NotConvergedError | InvalidOptionError):  # others may tell names of the data
            told = as_typed(told, parsed)
        print(f"purtensor: {told}", file=sys.stderr)
        return exit_code(error)
    return DONE


def keeping_inputs(run: Callable[[argparse.Namespace], int | None], parsed: argparse.Namespace) -> int | None:
    """Run a command so that nothing is written over a file that it reads, and say which other files it replaced."""
    files = import_module("purtensor.tables.io.atomic")  # stands on numpy
    inputs = input_paths(parsed)
    for name in OUTPUTS:
        if getattr(parsed, name, None) is not None:
            files.require_other_file(getattr(parsed, name), inputs)
    with files.keep_files(inputs) as written:
        ending = run(parsed)
    if written.replaced:
        print(printable(f"\nreplaced, having been there before: {replaced_in_words(written.replaced)}"))
    return ending


@contextmanager
def telling_warnings(parsed: argparse.Namespace) -> Iterator[None]:
    """Tell warnings of ours as errors are told, in the words of the command line; others as Python does."""

    def tell(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, PurtensorWarning):
            told = typed_options(one_word(str(message)), parsed)
            print(printable(f"purtensor: warning: {told}"), file=sys.stderr)
        else:
            as_python(message, category, *where, **more)

    with warnings.catch_warnings():
        as_python, warnings.showwarning = warnings.showwarning, tell
        yield


def replaced_in_words(paths: Sequence[Path]) -> str:
    """Return a few paths each, and of more how many there are in which folder.

    Examples
    --------
    >>> print(replaced_in_words([Path("out/a.csv"), Path("b.csv")]))
    out/a.csv, b.csv
    >>> print(replaced_in_words([Path(f"out/{at}.csv") for at in range(12)]))
    12 files in out
    """
    if len(paths) <= MOST_PATHS:
        return ", ".join(map(str, paths))
    return ", ".join(f"{count} files in {folder}" for folder, count in Counter(path.parent for path in paths).items())


def input_paths(parsed: argparse.Namespace) -> list[str]:
    """Return every word but those of outputs that is the path of something there, wildcards expanded."""
    words: list[str] = []
    for name, value in vars(parsed).items():
        if name not in (*OUTPUTS, *NO_PATHS):
            words += [str(word) for word in (value if isinstance(value, list) else [value]) if word]
    return [path for word in words for path in ([word] if os.path.exists(word) else sorted(glob.glob(word)))]


def missing_package(error: ImportError) -> str | None:
    """Return what to install, where an import failed for want of an optional package."""
    if "pip install" in str(error):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("purtensor"):
        return f"this command needs {error.name}: pip install 'purtensor[all]'"
    return None


def told_interrupted() -> int:
    """Say that Ctrl-C ended the command, and return its exit code."""
    print("purtensor: interrupted", file=sys.stderr)
    return INTERRUPTED


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
