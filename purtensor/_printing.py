"""Text for terminals: names and labels are data, and data may hold what moves the cursor or hides what follows."""

from __future__ import annotations

import re

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""C0 and C1 controls but for tabs and ends of lines, and the marks that turn the direction of writing."""


def printable(text: str) -> str:
    r"""Return text in which every control character is written as its escape.

    >>> print(printable("sex\x1b[2J"))
    sex\x1b[2J
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
