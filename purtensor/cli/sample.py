"""`purtensor sample`: individuals drawn from a table or a saved result."""

from __future__ import annotations

import argparse

from purtensor.cli.output import show_facts, write_frame
from purtensor.cli.people import require_frame
from purtensor.projection.files import load
from purtensor.sampling.draw import sample, sample_without_replacement
from purtensor.sampling.records import to_records
from purtensor.tables.io.files import save_table


def run(arguments: argparse.Namespace) -> None:
    """Read the table, draw, write the individuals or their counts, and print what was done."""
    require_frame(arguments.out, "--out")
    found = load(arguments.file)
    table = getattr(found, "table", found)
    draw = sample_without_replacement if arguments.without_replacement else sample
    counts = draw(table, arguments.rows, seed=arguments.seed)
    if arguments.counts:
        save_table(counts, arguments.out)
    else:
        write_frame(to_records(counts), arguments.out)
    drawn = int((counts.values > 0).sum())
    show_facts(
        "sample",
        {
            "file": str(arguments.file),
            "drawn": f"{arguments.rows:,} of {drawn:,} profiles, seed {arguments.seed}",
            "written to": str(arguments.out),
        },
    )
