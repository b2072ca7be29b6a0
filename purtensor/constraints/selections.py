"""Which profiles are meant: {"sex": "f", "age": ["young", "middle"]}, and lists of such as alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._options import items_of
from purtensor._typing import BoolArray
from purtensor.constraints.rows import Cells
from purtensor.errors import InvalidOptionError


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Profiles of which one of the alternatives holds: every attribute in it has one of its categories."""

    alternatives: tuple[dict[str, tuple[Any, ...]], ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that are examined."""
        return tuple(dict.fromkeys(name for part in self.alternatives for name in part))

    def on(self, cells: Cells) -> BoolArray:
        """Return for every member of the cells whether it is meant.

        Raises
        ------
        UnknownAttributeError, UnknownCategoryError
            The cells have no such attribute or category.
        """
        chosen = np.zeros(cells.members, dtype=bool)
        for part in self.alternatives:
            holds = np.ones(len(chosen), dtype=bool)
            for name, labels in part.items():
                wanted = np.zeros(len(cells.domain.categories[cells.domain.position(name)]), dtype=bool)
                wanted[[cells.domain.code(name, label) for label in labels]] = True
                holds &= wanted[cells.columns([name])[0]]
            chosen |= holds
        return chosen

    def __str__(self) -> str:
        parts = [
            ", ".join(f"{name}={'|'.join(map(str, labels))}" for name, labels in part.items())
            for part in self.alternatives
        ]
        return " or ".join(parts)


def read_selection(of: Any, option: str) -> Selection | None:
    """Return the profiles that a dict, or a list of dicts, means; None for all of them.

    Raises
    ------
    InvalidOptionError
        Something else, or a dict or a list of categories without an item.
    """
    if of is None:
        return None
    parts = [of] if isinstance(of, Mapping) else items_of(of)
    if isinstance(of, str) or not parts or not all(isinstance(part, Mapping) and part for part in parts):
        raise InvalidOptionError(
            f"{option} must be a dict of attributes and categories, such as {{'sex': 'f'}}, or a list of such dicts, "
            f"got {of!r}"
        )
    return Selection(tuple({str(name): _labels(part[name], name, option) for name in part} for part in parts))


def _labels(value: Any, name: str, option: str) -> tuple[Any, ...]:
    several = items_of(value) if isinstance(value, list | tuple | set | frozenset | np.ndarray) else [value]
    if not several:
        raise InvalidOptionError(f"{option} must name at least one category of {name!r}, got none")
    return tuple(several)
