"""The base of all errors: their text, and the same as data: where, what was expected, what came, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from purtensor._printing import printable

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


def read_facts(message: str) -> dict[str, str]:
    """Return which of `where`, `expected`, `got` and `hint` a message has, in its own words.

    Messages say what came, what was wanted and what to do, in clauses, or "... must be ..., got ...".

    Examples
    --------
    >>> read_facts("tolerance must be in [0, 1), got 5")
    {'where': 'tolerance', 'expected': 'in [0, 1)', 'got': '5'}
    >>> read_facts("column 'age' is text; numbers are needed: give bins")
    {'where': "column 'age'", 'hint': 'give bins', 'expected': 'numbers are needed', 'got': "column 'age' is text"}
    """
    # the form "... must be ..., got ..." says all three; other messages are read clause by clause
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
    # of several clauses the first that requires something is what was expected, the first other one what came
    needed = next((clause for clause in clauses if _NEED.search(clause)), None)
    if needed is not None:
        found.setdefault("expected", needed)
    found.setdefault("got", next((clause for clause in clauses if clause is not needed), said))
    return found


_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where one word of a class's name ends and the next begins."""

_IS_OURS = re.compile(r"purtensor\.(?!cli\b)")


class PurtensorError(Exception):
    """Base class of every error that purtensor raises on purpose; its text holds no control characters.

    Attributes
    ----------
    code
        A stable identifier of the kind of error, for programs; the reference lists all codes.
    where
        The file, attribute, option or constraint concerned, if any.
    expected, got
        What was wanted, and what came: values, or in words; what is wanted of all where the message does not say it.
    hint
        What to do: the end of the message, or general advice where it has none.
    """

    code: str = "error"
    where: str | None = None
    expected: object = "a valid call"
    got: object = None
    hint: str | None = "see the message"

    def __init__(self, *args: object, **facts: object) -> None:
        super().__init__(*args)
        for name, fact in facts.items():
            if name not in ("code", "where", "expected", "got", "hint"):
                raise TypeError(f"an error has no attribute {name!r}")
            if fact is not None:
                setattr(self, name, fact)
        # what the raiser knows goes before what its message says, and that before what holds for the class
        for name, fact in read_facts(str(args[0])).items() if args else ():
            if facts.get(name) is None:
                setattr(self, name, fact)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "code" not in cls.__dict__:  # InvalidTableError: invalid-table
            words = _WORDS.sub("-", cls.__name__.strip("_").removesuffix("Error"))
            cls.code = words.lower()

    def __str__(self) -> str:
        return printable(super().__str__())

    def facts(self) -> dict[str, Any]:
        """Return the error as plain data for programs; `where` is the function called if nothing else is concerned.

        Examples
        --------
        >>> import purtensor as pt
        >>> try:
        ...     pt.tabulate({"sex": ["f", "m"]}, "gender")
        ... except pt.PurtensorError as error:
        ...     facts = error.facts()
        >>> facts["error"], facts["code"], facts["got"], facts["expected"]
        ('UnknownAttributeError', 'unknown-attribute', 'gender', ['sex'])
        """
        where = self.where or getattr(self, "filename", None) or _find_called(self.__traceback__)
        return {
            "error": type(self).__name__,
            "code": self.code,
            "message": str(self),
            "where": where if where is None else str(where),
            "expected": _plain(self.expected),
            "got": _plain(self.got),
            "hint": self.hint,
        }


def _find_called(traceback: TracebackType | None) -> str | None:
    """Return the first function of this package in a traceback, the command line's own left out."""
    modules = ((step.tb_frame.f_globals.get("__name__", ""), step.tb_frame.f_code) for step in _steps(traceback))
    called = (f"{module}.{code.co_qualname}" for module, code in modules if _IS_OURS.match(module))
    return next(called, None)


def _steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _plain(fact: object) -> Any:
    """Return a fact as what JSON has: numbers, text, lists of these; anything else as it is written."""
    if fact is None or isinstance(fact, str | bool | int | float):
        return fact
    # text is iterable too, and was returned above
    if isinstance(fact, Iterable):
        return [_plain(item) for item in fact]
    return str(fact)


class PurtensorWarning(UserWarning):
    """Base class of every warning that purtensor gives; its text holds no control characters."""

    def __str__(self) -> str:
        return printable(super().__str__())
