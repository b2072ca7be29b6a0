"""Why the user's own data has no fair version, in short: which column makes it so, and what to leave out or merge."""

from __future__ import annotations

import argparse

from purtensor.cli.question import Question
from purtensor.errors import InfeasibleError
from purtensor.fairness.advice import Advice, advise
from purtensor.tables.coded import encode

_MOST_PROFILES = 300_000
_MOST_PREDICTORS = 40
_SHORT = 500
"""Characters of a refusal that are read to the end."""

PROOF = "`purtensor diagnose` with --proof prints the proof"


def advice_on(arguments: argparse.Namespace, question: Question) -> Advice | None:
    """Return what helps; None where parity, utility and realism are not all asked, or the search would be long."""
    bounded = getattr(arguments, "ratio_bounds", None) is not None
    if bounded or sorted(arguments.conditions) != sorted("PUR") or arguments.reference != "empirical":
        return None
    coded = encode(question.f)
    predictors = len(coded.domain.attributes) - 1 - len(arguments.protected)
    if not 0 < predictors <= _MOST_PREDICTORS or len(coded.values) > _MOST_PROFILES:
        return None
    return advise(question.f, response=arguments.response, protected=arguments.protected)


def shorten(error: InfeasibleError, arguments: argparse.Namespace, question: Question) -> InfeasibleError:
    """Return the error with a reason and advice instead of the proof; unchanged if nothing is known."""
    advice = advice_on(arguments, question)
    if advice is None:
        return error
    whole = " ".join(error.reason.split()).rstrip(".")
    short = len(whole) <= _SHORT
    message = "; ".join((whole, *advice.sentences) if short else (_first_sentence(whole), *advice.sentences, PROOF))
    left_out = " ".join(advice.kept)
    hint = f"--unprotected {left_out}" if advice.left_out and left_out else None
    return InfeasibleError(
        message,
        error.diagnosis,
        where=", ".join(advice.culprits) or None,
        got=list(advice.culprits),
        expected=list(advice.kept) if advice.left_out else None,
        hint=hint,
    )


def _first_sentence(message: str) -> str:
    """Return the first sentence of a refusal."""
    return message.partition(". ")[0]
