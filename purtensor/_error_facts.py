"""What the text of an error tells, as data: where it is, what was expected, what came, and what to do."""

from __future__ import annotations

import re

_MUST = re.compile(
    r"(?P<where>[\w .'\[\]=-]{1,60}?) must (?:be )?(?P<expected>[^\n]+?), got (?P<got>[^\n]+?)(?:; [^;]*)?$"
    r"|(?P<itself>'[^']+') must (?P<wanted>[^;:\n]+)"
)
"""How messages about options read: "tolerance must be in [0, 1), got 5", or "'x.doc' must end in .csv"."""

_NEED = re.compile(
    r"\b(?:must|needs?|needed|expected|only|at (?:most|least)|supports?|takes?|accepts?|allowed|allows|requires?|reads|"
    r"is read|appl(?:y|ies) to)\b"
)
"""Words of a clause that says what is required."""

_VERBS = (
    "ask|check|choose|collect|compute|convert|copy|correct|count|create|delete|did you mean|diagnose|divide|draw|end"
    "|fill|free|give|increase|leave|load|make|merge|name|number|omit|open|pass|project|raise|read|remove|rename|replace"
    "|request|resample|resume|save|say|see|set|start|store|sum|take|use|verify|wrap|write"
)
_TO_DO = re.compile(
    rf"(?:^|; |: |\n)(?P<hint>(?:(?:to|for) [^;,]+?,? |if [^;]+?, )?(?:{_VERBS})\b(?! must\b).*)$", re.DOTALL
)
"""The advice with which a message ends: a clause that begins with what to do."""

_PLACE = re.compile(
    r"(?:attribute|column|category|control|covariance|family|option|problem|profile|replicate|row|solver|target) "
    r"(?:'[^']*'|\([^)]*\)|\d+)|(?<!\S)--[a-z][\w-]*"
)
"""What a message is about, where it names that: a column, a row, an option of the command line."""


def facts_of(message: str) -> dict[str, str]:
    """Return which of `where`, `expected`, `got` and `hint` a message tells, in its own words.

    Messages say what came, what was wanted and what to do, in clauses, or "... must be ..., got ...".

    Examples
    --------
    >>> facts_of("tolerance must be in [0, 1), got 5")
    {'where': 'tolerance', 'expected': 'in [0, 1)', 'got': '5'}
    >>> facts_of("column 'age' is text; numbers are needed: give bins")
    {'where': "column 'age'", 'hint': 'give bins', 'expected': 'numbers are needed', 'got': "column 'age' is text"}
    """
    found = {}
    must, place, to_do = _MUST.match(message), _PLACE.search(message), _TO_DO.search(message)
    if must is not None and must["itself"]:
        found = {"expected": must["wanted"], "got": must["itself"]}
    elif must is not None:
        found = {name: must[name] for name in ("where", "expected", "got")}
    elif place is not None:
        found["where"] = place[0]
    if to_do is not None:
        found["hint"] = to_do["hint"]
    said = message if to_do is None else message[: to_do.start()] or message
    clauses = [clause.strip() for clause in re.split(r"[;:] |,? but |, got |\n", said) if clause.strip()]
    needed = next((clause for clause in clauses if _NEED.search(clause)), None)
    if needed is not None:
        found.setdefault("expected", needed)
    found.setdefault("got", next((clause for clause in clauses if clause is not needed), said))
    return found
