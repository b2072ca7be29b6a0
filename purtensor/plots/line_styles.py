"""Styles that distinguish many lines: colour, then dashes, then markers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from purtensor.plots.style import COLOURS, OTHER_COLOURS

# Okabe and Ito's palette without its yellow, which is too faint for a line on white
_COLOURS = (
    COLOURS["PUR"],
    OTHER_COLOURS[0],
    COLOURS["MaxEnt"],
    OTHER_COLOURS[1],
    COLOURS["P"],
    COLOURS["PU"],
    "#000000",
)
_DASHES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p", "h", "d")


@dataclass(frozen=True, slots=True)
class Look:
    """How the line of one name is drawn everywhere."""

    colour: str
    dashes: str
    marker: str


def looks_of(names: Iterable[str]) -> dict[str, Look]:
    """Return a look for each name; the first seven differ in colour, the next ones in dashes, all in markers.

    Examples
    --------
    >>> looks_of(["ipf", "newton"])["newton"].colour
    '#D55E00'
    """
    return {
        name: Look(_COLOURS[i % len(_COLOURS)], _DASHES[i // len(_COLOURS) % len(_DASHES)], _MARKERS[i % len(_MARKERS)])
        for i, name in enumerate(dict.fromkeys(names))
    }
