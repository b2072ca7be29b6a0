"""A field of a result that is computed from the evidence of the result at the first access."""

from __future__ import annotations

from typing import Any


class LazyField:
    """A field of a dataclass, without slots, whose default is the attribute of the same name of its `evidence`.

    >>> from dataclasses import dataclass, replace
    >>> from types import SimpleNamespace
    >>> @dataclass(frozen=True)
    ... class Result:
    ...     evidence: SimpleNamespace
    ...     table: str = lazy_field()
    >>> result = Result(SimpleNamespace(table="made"))
    >>> result.table, replace(result, table="given").table
    ('made', 'given')
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, result: Any, owner: Any = None) -> Any:
        if result is None:
            return None  # the default of the field
        given = vars(result).get(self._name)
        return getattr(result.evidence, self._name) if given is None else given

    def __set__(self, result: Any, value: Any) -> None:
        vars(result)[self._name] = value


def lazy_field() -> Any:
    """Return a LazyField, of whatever type the field is."""
    return LazyField()
