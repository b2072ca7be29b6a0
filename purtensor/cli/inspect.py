"""`purtensor inspect`: what the columns of a file hold, and which command to type next."""

from __future__ import annotations

import argparse
import math

import purtensor as pt
from purtensor.cli.output import show_facts, show_lines, show_table
from purtensor.cli.parser import as_options
from purtensor.cli.records import text_options
from purtensor.records.files import open_records


def run(arguments: argparse.Namespace) -> None:
    """Read the file, and print its columns, what is to be decided, and the command for it."""
    records = open_records(arguments.file, **text_options(arguments))
    found = pt.inspect(records, response=arguments.response, protected=arguments.protected, weights=arguments.weights)
    facts = {name: text for name, text in found.summary().items() if not name.startswith("look at")}
    show_facts("records", {"file": str(arguments.file), **facts})
    _show_columns(found)
    if found.warnings:
        sentences = [as_options(sentence, arguments) for sentence in found.warnings]
        show_facts("to decide", {str(k): sentence for k, sentence in enumerate(sentences, start=1)})
    show_lines("next", [found.command(str(arguments.file))])


def _show_columns(found: pt.results.Inspection) -> None:
    rows = [
        (
            str(name),
            str(column["type"]),
            f"{column['categories']:,}",
            f"{column['missing']:,}",
            "" if math.isnan(column["tells"]) else f"{column['tells']:.0%}",
            str(column["looks_like"]),
            str(column["examples"]),
        )
        for name, column in found.columns.iterrows()
    ]
    protected = " and ".join(found.roles["protected"])
    tells = f"tells {protected}" if protected else "tells"
    show_table("columns", ("", "type", "categories", "missing", tells, "looks like", "examples"), rows)
