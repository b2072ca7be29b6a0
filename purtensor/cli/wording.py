"""Convert messages to the command line: options in its syntax, on one line."""

from __future__ import annotations

import argparse
import ast
import re
import shlex


def as_typed(message: str, parsed: argparse.Namespace) -> str:
    """Return a message with Python options replaced by command-line options, where they exist."""
    for name in vars(parsed):
        if "_" in name:  # a single word may be meant as a word
            message = re.sub(rf"(?<![\w-]){name}\b", f"--{name.replace('_', '-')}", message)
    return message.replace("Newton()", "--solver newton") if "solver" in parsed else message


def typed_options(hint: str, parsed: argparse.Namespace) -> str:
    """Return a hint with Python options, such as missing_values=['?'], replaced by command-line options."""

    def typed(match: re.Match[str]) -> str:
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

    hint = hint.replace(" purtensor.records.files.open_records", "")  # its options are the command's
    return re.sub(r"(?P<name>\w+)=(?P<value>\{[^}]*\}|\[[^\]]*\]|'[^']*')", typed, hint)


def one_word(text: str) -> str:
    """Return text with one blank where it has several, or a line end."""
    return " ".join(text.split())
