"""Ctrl-C where one call makes many projections: it ends the call, not only the projection that heard it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from purtensor.errors import NotConvergedError
from purtensor.projection.relaxation import Relaxation
from purtensor.projection.result import Projection
from purtensor.solving.termination import Termination

_Result = TypeVar("_Result", bound=Projection[Any] | Relaxation)


def is_interrupted(result: object) -> bool:
    """Return whether a projection or a relaxation is the state at which Ctrl-C came."""
    return getattr(result, "termination", None) is Termination.INTERRUPTED


def require_uninterrupted(result: _Result) -> _Result:
    """Return a result that was not interrupted.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C ended it: what follows would be computed from an answer that is not one.
    """
    if is_interrupted(result):
        raise KeyboardInterrupt
    return result


def what_is_missing(left: Iterable[str]) -> dict[str, str]:
    """Return the text of `interrupted` in a result after Ctrl-C: what was not completed.

    Examples
    --------
    >>> what_is_missing(["0.1", "0"])
    {'interrupted': 'by the user; not done: 0.1, 0'}
    """
    return {"interrupted": f"by the user; not done: {', '.join(left) or 'nothing'}"}


@contextmanager
def interrupting() -> Iterator[None]:
    """Turn the NotConvergedError of what Ctrl-C ended into a KeyboardInterrupt, which ends the calls around it."""
    try:
        yield
    except NotConvergedError as error:
        if error.interrupted:
            raise KeyboardInterrupt from error
        raise
