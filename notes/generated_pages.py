"""Pages that the build makes: one per command out of its parser, and one of all codes of errors out of the code."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Callable
from inspect import getdoc  # the module itself would hide the command of its name
from pathlib import Path

import purtensor
from purtensor import errors
from purtensor.cli.parser import build_parser

MEANINGS = {
    "bad-weight": "a weight is negative or not finite",
    "empty-file": "the file, or its first sheet, is empty",
    "encoding": "a byte that is not valid in the encoding",
    "inexact-integer": "an integer that float64 cannot represent exactly",
    "long-line": "a line that is too long for a table",
    "missing-values": "rows with a missing value, without an option for them",
    "missing-weight": "a row without a weight",
    "mixed-labels": "labels of several types in one attribute",
    "no-labels": "values that are not categories, such as lists",
    "no-number-to-bin": "a column to be binned with values that are not numbers",
    "null-character": "text with a null character",
    "number-to-bin": "a fractional number, which is not a category",
    "open-quote": "a quote that is never closed, or closed inside of a cell",
    "repeated-column": "two columns of the same name",
    "spelled-missing": "cells such as NA or ?, without an option for them",
    "uneven-rows": "a row with more or fewer cells than there are names",
    "unknown-kind": "an unsupported file format",
    "unnamed-column": "a column without a name",
    "weights-no-numbers": "a column of weights with cells that are not numbers",
}
"""Codes more specific than the class of their error; the others are explained by the docstring of the class."""


def write_pages(folder: Path) -> None:
    """Write a page for each command into the folder."""
    folder.mkdir(exist_ok=True)
    for name in commands():
        title = f"purtensor {name}"
        options = {"module": Path(__file__).stem, "func": name, "prog": title, "title": title}
        lines = [".. sphinx_argparse_cli::", *(f"   :{option}: {value}" for option, value in options.items())]
        (folder / f"{name}.rst").write_text("\n".join([*lines, ""]))


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    (found,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for parser in found.choices.values():
        for option in parser._actions:  # help is plain text, and the directive reads it as reStructuredText
            option.help = re.sub(r"([|*`])", r"\\\1", option.help or "")
    return dict(found.choices)


def write_codes(page: Path) -> None:
    """Write the page of all codes of errors."""
    lines = [
        "Codes of errors",
        "===============",
        "",
        "The ``code`` of an error is stable: programs can rely on it. ``error.facts()`` and ``--json`` have it too.",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "",
        *("   * - code", "     - class", "     - meaning"),
    ]
    for code, name, meaning in codes():
        lines += [f"   * - ``{code}``", f"     - :py:class:`~purtensor.errors.{name}`", f"     - {meaning}"]
    page.write_text("\n".join([*lines, ""]))


def codes() -> list[tuple[str, str, str]]:
    """Return each code with the class that carries it and its meaning, sorted."""
    classes = [thing for name, thing in vars(errors).items() if name[0] != "_" and name.endswith("Error")]
    found = {(thing.code, thing.__name__): _first_sentence(thing) for thing in classes if thing.code != "error"}
    for file in Path(purtensor.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.endswith("Error"):
                for given in call.keywords:
                    if given.arg == "code" and isinstance(given.value, ast.Constant):
                        found[given.value.value, call.func.id] = MEANINGS[given.value.value]
    return sorted((code, name, meaning) for (code, name), meaning in found.items())


def _first_sentence(thing: type) -> str:
    text = (getdoc(thing) or "").split("\n\n")[0].replace("\n", " ").rstrip(".")
    return text[:1].lower() + text[1:]


def __getattr__(name: str) -> Callable[[], argparse.ArgumentParser]:
    """Return the function that the directive calls for the parser of a command."""
    if name not in commands():
        raise AttributeError(name)
    return lambda: commands()[name]
