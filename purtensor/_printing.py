"""How results are displayed on a terminal and in a notebook; names and labels are escaped."""

from __future__ import annotations

import difflib
import html
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""C0 and C1 controls but for tabs and ends of lines, and the marks that turn the direction of writing."""


def printable(text: str) -> str:
    r"""Return text in which every control character is written as its escape.

    >>> print(printable("sex\x1b[2J"))
    sex\x1b[2J
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


_PLACES = {
    **dict.fromkeys(("BestOrder", "BestRelaxation", "ConvergenceRate"), "convergence"),
    **dict.fromkeys(
        (
            "Bootstrap",
            "Calibration",
            "Comparison",
            "Ensemble",
            "Inspection",
            "LogLinearFit",
            "Relaxation",
            "StandardErrors",
            "StoredTable",
        ),
        "results",
    ),
}
"""The public modules of results that are neither at the root nor in the package of their own module."""


class Shown(ABC):
    """A result that shows its numbers: the facts of its summary as text on a terminal, as a table in a notebook."""

    __slots__ = ()

    @abstractmethod
    def summary(self) -> dict[str, str]:
        """Return the facts about this result as text, one line each; empty ones are not shown."""

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Return what a notebook shows below the facts, by heading."""
        return {}

    def __repr__(self) -> str:
        return facts_as_text(_name_of(self), self.summary())

    def _repr_html_(self) -> str:
        below = "".join(
            f"<p>{html.escape(heading)}</p>{frame.to_html(float_format=_number)}"
            for heading, frame in self.frames().items()
        )
        return facts_as_html(_name_of(self), self.summary()) + below


def draw(function: str, *shown: Any, **options: Any) -> Axes:
    """Return the axes that a function of `purtensor.plots` draws: a layer above all results, found by its name."""
    axes: Axes = getattr(import_module("purtensor.plots"), function)(*shown, **options)
    return axes


def facts_as_text(title: str, facts: Mapping[str, str]) -> str:
    """Return the title and the facts below it, one per line.

    Examples
    --------
    >>> print(facts_as_text("Projection", {"ending": "converged", "notes": ""}))
    <purtensor.Projection>
      ending: converged
    """
    return "\n".join([f"<purtensor.{title}>", *(f"  {name}: {value}" for name, value in facts.items() if value)])


def facts_as_html(title: str, facts: Mapping[str, str]) -> str:
    """Return a table with the title and one row a fact, in which no name or value acts as HTML.

    Examples
    --------
    >>> facts_as_html("Projection", {"missed of <b>": "0.5", "notes": ""})
    '<table><caption>purtensor.Projection</caption><tr><th>missed of &lt;b&gt;</th><td>0.5</td></tr></table>'
    """
    rows = (
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in facts.items() if value
    )
    return f"<table><caption>purtensor.{html.escape(title)}</caption>{''.join(rows)}</table>"


def _name_of(shown: Shown) -> str:
    """Return the name of a result's class as users import it."""
    package = type(shown).__module__.split(".")[1]
    name = type(shown).__name__
    place = package if package in ("convergence", "fairness") else _PLACES.get(name)
    return name if place is None else f"{place}.{name}"


def _number(value: float) -> str:
    return f"{value:.6g}"


_NUMBERS = re.compile(r"\d+(?:\.\d+)?")


def near_name(name: Hashable, known: Iterable[Hashable]) -> str | None:
    """Return the question whether a name like this was meant, or the same label of another type."""
    for other in known:
        if str(other).strip().lower() == str(name).strip().lower():
            return (
                f"did you mean {other!r}" + (f" ({type(other).__name__})" if not isinstance(other, str) else "") + "?"
            )
    # names of up to two letters begin too many others
    begun = [other for other in known if len(str(name)) > 2 and str(other).lower().startswith(str(name).lower())]
    if len(begun) == 1:
        return f"did you mean {begun[0]!r}?"
    # bins such as 30-45 and [30, 45) have the same numbers
    numbers = _NUMBERS.findall(str(name))
    same = [other for other in known if len(numbers) > 1 and _NUMBERS.findall(str(other)) == numbers]
    if len(same) == 1:  # bins that are spelt another way
        return f"did you mean {str(same[0])!r}?"
    near = difflib.get_close_matches(str(name).lower(), {str(other).lower(): other for other in known}, 1, 0.75)
    found = next((other for other in known if near and str(other).lower() == near[0]), None)
    return None if found is None else f"did you mean {found!r}?"
