"""A page for each command, out of its parser: what can be typed, and what each option means."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path

from purtensor.cli.arguments import build_parser


def write_pages(folder: Path) -> None:
    """Write a page for each command into the folder."""
    folder.mkdir(exist_ok=True)
    for name in commands():
        title = f"purtensor {name}"
        options = {"module": "command_pages", "func": name, "prog": title, "title": title}
        lines = [".. sphinx_argparse_cli::", *(f"   :{option}: {value}" for option, value in options.items())]
        (folder / f"{name}.rst").write_text("\n".join([*lines, ""]))


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    (found,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for parser in found.choices.values():
        for option in parser._actions:  # help is plain text, and the directive reads it as reStructuredText
            option.help = re.sub(r"([|*`])", r"\\\1", option.help or "")
    return dict(found.choices)


def __getattr__(name: str) -> Callable[[], argparse.ArgumentParser]:
    """Return the function that the directive calls for the parser of a command."""
    if name not in commands():
        raise AttributeError(name)
    return lambda: commands()[name]
