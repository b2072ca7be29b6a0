"""`purtensor relax`: the nearest distribution to the user's own data where not everything can hold."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from purtensor.cli.disparities import show_disparities
from purtensor.cli.output import show_facts
from purtensor.cli.people import read_people, write_people
from purtensor.cli.question import NETCDF, read_question, require_writable
from purtensor.errors import InvalidOptionError
from purtensor.projection.files import save
from purtensor.projection.relax import relax
from purtensor.projection.relaxation import Relaxation
from purtensor.tables.coded import encode
from purtensor.tables.io.files import ending, require_writable_labels


def run(arguments: argparse.Namespace) -> None:
    """Read the file, relax its conditions, write the distribution, and print what was reached."""
    ending(arguments.out)  # refuses what could not be written later
    require_writable(arguments.out)
    soft = _positions(arguments.conditions, arguments.soft)
    question = read_question(arguments)
    require_writable_labels(question.reference, arguments.out)
    people = read_people(arguments, encode(question.f).domain.attributes)
    show_facts("data", question.facts)
    result = relax(
        question.reference,
        question.constraints,
        soft=soft,
        penalty=arguments.penalty,
        strength=arguments.penalty_strength,
        tolerance=arguments.tolerance,
        max_iterations=arguments.max_iterations,
    )
    if arguments.rows is None:
        save(result if ending(arguments.out) == NETCDF else result.table, arguments.out)
    facts = write_people(arguments, people, result)
    show_facts("relaxation", {**_facts(result), **facts, "written to": str(arguments.out)})
    show_disparities(question.f, result.table, arguments.response, arguments.protected, "relaxation")


def _positions(conditions: str, soft: str) -> list[int]:
    """Return where the soft letters stand among the conditions."""
    wrong = [letter for letter in soft if letter not in conditions]
    if wrong or not soft:
        raise InvalidOptionError(f"--soft must name letters of the conditions {conditions}, got {soft!r}")
    return [conditions.index(letter) for letter in dict.fromkeys(soft)]


def _facts(result: Relaxation) -> dict[str, str]:
    scopes: Sequence[str] = [" x ".join(constraint.scope) for constraint in result.constraints]
    asked = {f"soft: {scopes[k]}": f"{result.penalty}, strength {result.strength:g}" for k in result.soft}
    return {**asked, **result.summary(), "washed out": ""}  # shown with the data
