"""What makes a question general: bounds, other distances, free totals, signs; and whether one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from purtensor._options import check_choice, check_flag, is_number
from purtensor._typing import Table
from purtensor.constraints.marginals import Marginal, flatten
from purtensor.constraints.rows import RowConstraint
from purtensor.errors import InvalidOptionError
from purtensor.solving.dual.question import DISTANCES

Bound: TypeAlias = "float | Table | None"
Bounds: TypeAlias = "tuple[Bound, Bound] | None"
_TOTALS = ("constrained", "free", "reference")


@dataclass(frozen=True, slots=True, eq=False)
class GeneralOptions:
    """The options that make a projection a general one; all at their defaults in a plain one."""

    ratio_bounds: Any = None
    cell_bounds: Any = None
    distance: str = "kl"
    total: Any = "constrained"
    size: float | None = None
    signed: bool = False

    def __post_init__(self) -> None:
        check_choice("distance", self.distance, DISTANCES)
        check_flag("signed", self.signed)
        if self.size is not None and not (is_number(self.size) and 0 < self.size < np.inf):
            raise InvalidOptionError(f"size must be the positive size of a sample, got {self.size!r}")
        # a word or a number; which words is checked before any table is read
        if isinstance(self.total, str):
            check_choice("total", self.total, _TOTALS)
        elif not (is_number(self.total) and 0 < self.total < np.inf):
            raise InvalidOptionError(
                f"total must be a positive number or one of {', '.join(_TOTALS)}, got {self.total!r}"
            )
        for name in ("ratio_bounds", "cell_bounds"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, tuple | list) and len(value) == 2):
                raise InvalidOptionError(f"{name} must be a pair (lower, upper), with None for no limit, got {value!r}")

    @property
    def plain(self) -> bool:
        """Whether nothing is asked beyond marginals that hold."""
        return (
            self.ratio_bounds is None
            and self.cell_bounds is None
            and self.distance == "kl"
            and isinstance(self.total, str)
            and self.total == "constrained"
            and self.size is None
            and not self.signed
        )

    @property
    def may_be_negative(self) -> bool:
        """Whether masses may be negative, as with chi-squared distance where no bounds forbid it."""
        return self.distance == "linear" and self.ratio_bounds is None and self.cell_bounds is None

    def in_words(self) -> str:
        """Return the bounds as the beginning of a sentence."""
        words = [] if self.ratio_bounds is None else [bounds_in_words(self.ratio_bounds, " times", "on the ratios")]
        if self.cell_bounds is not None:
            words.append("these bounds on the cells")
        said = " and ".join(filter(None, words))
        return f"with {said}, " if said else ""


def bounds_in_words(pair: tuple[Any, Any], unit: str, on: str) -> str:
    """Return bounds on weights, such as 'weights between 0.5 and 2 times'; `on` says what bounds in a table are on."""
    # tables of bounds have no two numbers to show
    if not all(value is None or is_number(value) for value in pair):
        return f"these bounds {on}"
    low, high = pair
    # a pair without limits says nothing
    if low is None and high is None:
        return ""
    if low is not None and high is not None:
        return f"weights between {low:g} and {high:g}{unit}"
    return f"weights of at least {low:g}{unit}" if high is None else f"weights of at most {high:g}{unit}"


def general_constraints(constraints: Any) -> tuple[Any, ...]:
    """Return constraints of any kind as a tuple, flattened one level."""
    return flatten(constraints, RowConstraint)


def is_plain(constraints: Sequence[Any], options: GeneralOptions) -> bool:
    """Return whether a question is one of marginals with targets alone, which has a path of its own."""
    return options.plain and all(
        isinstance(one, Marginal) and one.target is not None and not bool((np.asarray(one.target.values) < 0).any())
        for one in constraints
    )
