"""Parse names with options: 'pur(responses=2, protected=3)', 'ipf(relaxation=1.5)'."""

from __future__ import annotations

import ast
import re
from typing import Any

from purtensor.errors import InvalidOptionError


def name_and_options(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name in 'name' or 'name(option=value, ...)', and the options as Python reads them.

    Raises
    ------
    InvalidOptionError
        It is written in another way.

    Examples
    --------
    >>> name_and_options("ipf(order=(2, 0, 1), acceleration='anderson')")
    ('ipf', {'order': (2, 0, 1), 'acceleration': 'anderson'})
    """
    if re.fullmatch(r"[\w.-]+", text):
        return text, {}
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)) or call.args:
            raise ValueError(text)
        return call.func.id, {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidOptionError(f"options must be written as name(option=value, ...), got {text!r}") from None
