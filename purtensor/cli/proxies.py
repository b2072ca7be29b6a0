"""`purtensor proxies`: which columns of the user's own data give the protected ones away."""

from __future__ import annotations

import argparse
import math

from purtensor.cli.endings import DONE, INTERRUPTED
from purtensor.cli.output import show_facts, show_table, write_frame
from purtensor.cli.people import require_frame
from purtensor.cli.question import read_question
from purtensor.fairness.proxies import proxies

_MOST_ROWS = 40


def run(arguments: argparse.Namespace) -> int:
    """Read the file, rank its columns, print and write the numbers, and return the exit code."""
    if arguments.out is not None:
        require_frame(arguments.out, "--out")
    question = read_question(arguments)
    found = proxies(question.f, response=arguments.response, protected=arguments.protected, largest=arguments.largest)
    show_facts("data", question.facts)
    rows = [
        (names, str(size), verdict, f"{violation:.4g}", "out of reach" if math.isinf(kl) else f"{kl:.6f}")
        for names, size, verdict, violation, kl in found.itertuples(index=False)
    ]
    title = "what parity costs with each set of columns, the worst first; divergence in nats"
    show_table(title, ("", "columns", "verdict", "smallest violation", "divergence"), rows, _MOST_ROWS)
    if arguments.out is not None:
        write_frame(found, arguments.out)
    show_facts("proxies", {"interrupted": found.attrs.get("interrupted", ""), "written to": str(arguments.out or "")})
    return INTERRUPTED if "interrupted" in found.attrs else DONE
