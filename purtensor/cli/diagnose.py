"""`purtensor diagnose`: whether the user's own data has a fair version, proved and explained."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import purtensor as pt
from purtensor._typing import Table
from purtensor.cli.declarations import DONE, INFEASIBLE, NOT_CONVERGED
from purtensor.cli.output import show_facts, show_lines, show_table
from purtensor.cli.question import PROOF, advice_on, is_stored, read_question, read_stored_question
from purtensor.feasibility.row_witness import RowWitness
from purtensor.tables.store.table import StoredTable

_MOST_ROWS = 40
_MOST_NAMED = 8
# characters of a proof that are printed unasked
_SHORT = 1500


def run(arguments: argparse.Namespace) -> int:
    """Read the file, print the verdict with its reasons, and return the exit code."""
    on_disk = is_stored(arguments.file)
    question = read_stored_question(arguments) if on_disk else read_question(arguments)
    show_facts("data", question.facts)
    found = pt.diagnose(
        question.reference, question.constraints, ratio_bounds=arguments.ratio_bounds, cell_bounds=arguments.cell_bounds
    )
    code = {pt.Verdict.INFEASIBLE: INFEASIBLE, pt.Verdict.OPEN: NOT_CONVERGED}.get(found.verdict, DONE)
    if isinstance(found.evidence, RowWitness):
        show_facts("verdict", _facts_within_bounds(found))
        show_lines("reasons", str(found.explanation).split("; "))
        return code
    show_facts("verdict", _facts(found))
    advice = None if on_disk or found.verdict is not pt.Verdict.INFEASIBLE else advice_on(arguments, question)
    if advice is not None:
        show_lines("reasons", [found.explanation.sentences[0], *advice.sentences])
    if arguments.proof or advice is None or _is_short(found):
        show_lines("reasons" if advice is None else "proof", found.explanation.sentences)
        _show_rows(found)
    else:
        show_lines("proof", [PROOF])
    return code


def _facts_within_bounds(found: pt.Diagnosis[Any]) -> dict[str, str]:
    """Return the facts of a verdict within bounds: what conflicts, with which bounds, and what must give way."""
    why = found.explanation
    proof = "checked in fractions" if found.verify() else "none"
    return {
        "verdict": str(found.verdict),
        "proof": proof if found.verdict is pt.Verdict.INFEASIBLE else "",
        "what conflicts": "; ".join(why.conflict[:_MOST_NAMED]),
        "with bounds": "; ".join(why.bounds[:_MOST_NAMED]),
        "what must give way": "; ".join(f"{name} ({by:+.6g})" for name, by in why.relaxations[:_MOST_NAMED]),
    }


def _is_short(found: pt.Diagnosis[Any]) -> bool:
    """Return whether the proof is something to read, rather than to keep."""
    explanation = found.explanation
    characters = sum(map(len, explanation.sentences)) + sum(len(labels) for _, labels, _, _ in explanation.rows)
    return characters <= _SHORT


def _facts(found: pt.Diagnosis[Any]) -> dict[str, str]:
    zeros, profiles = _profiles(found.implied_zeros), _profiles(found.reference)
    return {
        "verdict": str(found.verdict),
        "proof": "none" if found.verdict is pt.Verdict.OPEN else _proof(found),
        "without a place": _without_a_place(found),
        "implied zeros": f"{zeros:,} of {profiles:,} profiles" if zeros else "",
    }


def _without_a_place(found: pt.Diagnosis[Any]) -> str:
    """Return the share of the mass that contradicting constraints leave without a place, of tables in memory."""
    if found.verdict is not pt.Verdict.INFEASIBLE or isinstance(found.reference, StoredTable):
        return ""
    least = found.incompatibility()
    return "" if least is None else f"{least.value:.6g} of the mass, proved at least {float(least.proved):.6g}"


def _profiles(table: Table | StoredTable) -> int:
    """Return how many profiles have mass, or are stored where the table is on disk."""
    return table.profiles if isinstance(table, StoredTable) else int(np.count_nonzero(table.values))


def _proof(found: pt.Diagnosis[Any]) -> str:
    witness = "a certificate" if found.verdict is pt.Verdict.INFEASIBLE else "a solution"
    return f"{witness}, {'checked' if found.verify() else 'NOT confirmed'} ({found.exact})"


def _show_rows(found: pt.Diagnosis[Any]) -> None:
    """Print the rows that need mass and those that have room for it, largest first."""
    rows = [(role, labels, scope, f"{mass:.6g}") for role, labels, scope, mass in found.explanation.rows]
    if rows:
        title = "what conflicts" if found.verdict is pt.Verdict.INFEASIBLE else "what takes the mass"
        show_table(title, ("", "profiles", "target over", "mass"), rows, _MOST_ROWS)
