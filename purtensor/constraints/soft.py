"""Targets that may be missed at a cost, and constraints named by themselves or by their positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any, overload

import numpy as np

from purtensor._options import check_choice, is_number, items_of
from purtensor._typing import FloatArray, Table
from purtensor.constraints.labelled import require_numbers
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.rows import (
    Cells,
    RowBlock,
    RowConstraint,
    Softness,
    Wrapped,
    numbers_on_rows,
    several_constraints,
)
from purtensor.errors import InvalidOptionError, InvalidTableError


def soft_positions(constraints: Sequence[Marginal], soft: Any) -> tuple[int, ...]:
    """Return the positions of the constraints that `soft` names, ascending: one or more Marginals or positions.

    Raises
    ------
    InvalidOptionError
        What is not a constraint of these, or nothing at all.
    """
    several = None if isinstance(soft, Marginal | str) else items_of(soft)
    named = [soft] if several is None else several
    positions = {_position(constraints, item) for item in named}
    if not positions:
        raise InvalidOptionError(
            f"soft names no constraint; give constraints or their positions from 0 to {len(constraints) - 1}"
        )
    return tuple(sorted(positions))


def _position(constraints: Sequence[Marginal], item: Any) -> int:
    if isinstance(item, Marginal):
        # by identity: two constraints may have equal targets
        found = [k for k, constraint in enumerate(constraints) if constraint is item]
        if not found:
            raise InvalidOptionError(f"{item!r} in soft is not one of the constraints; pass the same object")
        return found[0]
    try:
        position = index(item)
    except TypeError:
        position = -1
    if isinstance(item, bool) or not 0 <= position < len(constraints):
        raise InvalidOptionError(
            f"soft must name constraints by themselves or by position from 0 to {len(constraints) - 1}, got {item!r}"
        )
    return position


PENALTIES = ("kl", "l1", "quadratic", "huber")
"""The words for `penalty`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Soft(Wrapped):
    """A constraint whose misses cost something instead of being forbidden; made by `soft`."""

    penalty: str
    strength: Any = None
    sd: Any = None
    covariance: FloatArray | None = None
    # Huber's k: 95 per cent efficiency where errors are normal (Huber 1981)
    k: float = 1.345

    def rows(self, cells: Cells) -> RowBlock:
        """Return the rows over cells, with what missing them costs."""
        block: RowBlock = self.constraint.rows(cells)
        strength = None if self.strength is None else self._positive(self.strength, block, "strength")
        sd = None if self.sd is None else self._positive(self.sd, block, "sd")
        if self.covariance is not None and len(self.covariance) != len(block.labels):
            raise InvalidTableError(
                f"the covariance of {self.name} must have one row for each of its {len(block.labels)} rows, got "
                f"{len(self.covariance)}"
            )
        softness = Softness(self.penalty, strength, sd, self.covariance, self.k)
        return replace(block, softness=softness, is_marginal=False)

    def _positive(self, value: Any, block: RowBlock, option: str) -> FloatArray:
        found = numbers_on_rows(value, block, f"{option} of {self.name}")
        wrong = found[~((found > 0) & np.isfinite(found))]
        if len(wrong):
            raise InvalidOptionError(_not_positive(f"{option} of {self.name}", wrong[0]))
        return found

    def __repr__(self) -> str:
        return f"<{self.name}: soft, {self.penalty}>"


@overload
def soft(
    constraint: RowConstraint,
    *,
    penalty: str | None = None,
    strength: Any = None,
    sd: Any = None,
    covariance: Any = None,
    k: float = 1.345,
) -> Soft: ...
@overload
def soft(
    constraint: Iterable[RowConstraint],
    *,
    penalty: str | None = None,
    strength: Any = None,
    sd: Any = None,
    covariance: Any = None,
    k: float = 1.345,
) -> tuple[Soft, ...]: ...
def soft(
    constraint: Any,
    *,
    penalty: str | None = None,
    strength: Any = None,
    sd: Any = None,
    covariance: Any = None,
    k: float = 1.345,
) -> Soft | tuple[Soft, ...]:
    """Return a constraint that may be violated at a cost, so that targets may contradict each other.

    With T the total, r the miss of a row and t = r / T, the cost of a row in nats per unit of mass is

    - "kl": strength * (v log(v / b) - v + b) / T, with v the value and b the target of the row;
    - "l1": strength * |t|;
    - "quadratic": strength / 2 * t^2, or (r / sd)^2 / (2 size), which corresponds to sampling errors of the targets;
    - "huber": the same up to k sd, linear beyond.

    For a constraint from `between` the cost is 0 inside the interval.

    Parameters
    ----------
    constraint
        Any constraint, or an iterable of them.
    penalty
        One of "kl", "l1", "quadratic" and "huber"; when None, "quadratic" with `sd` or `covariance`, else "kl".
    strength
        The weight of one unit of the penalty, in nats; 1 by default. A number, or numbers by the labels of the rows.
        For rows in other units than mass use `sd`.
    sd
        The standard error of each target, in its own units: a number, or numbers by the labels of the rows.
    covariance
        The covariance matrix of the targets, rows and columns in the order of `project(...).rows`, which for
        marginals is that of the target's profiles.
    k
        The miss in standard errors at which "huber" becomes linear.

    Raises
    ------
    InvalidOptionError
        Another penalty, more than one of strength, sd and covariance, one that is not positive, or "huber" without sd.
    InvalidTableError
        The covariance is not a symmetric positive definite matrix.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> sex, age = pt.marginals_of(counts, "sex | age")
    >>> pt.soft(sex, sd=2.0), pt.soft(age, penalty="l1", strength=10)
    (<sex: soft, quadratic>, <age: soft, l1>)
    """
    if isinstance(constraint, Table):
        raise InvalidOptionError("soft must be given constraints, got a table; wrap it as Marginal(table)")
    if not hasattr(constraint, "rows"):
        return tuple(
            soft(one, penalty=penalty, strength=strength, sd=sd, covariance=covariance, k=k)
            for one in several_constraints(constraint, "soft")
        )
    if isinstance(constraint, Soft):
        raise InvalidOptionError(f"{constraint.name} is already soft")
    errors = sd is not None or covariance is not None
    word = penalty if penalty is not None else "quadratic" if errors else "kl"
    check_choice("penalty", word, PENALTIES)
    _check_prices(word, strength, sd, covariance)
    if not (is_number(k) and 0 < k < np.inf):
        raise InvalidOptionError(_not_positive("k", k))
    matrix = None if covariance is None else _covariance(covariance)
    default = 1.0 if strength is None and not errors else strength
    return Soft(constraint, word, default, sd, matrix, float(k))


def _check_prices(word: str, strength: Any, sd: Any, covariance: Any) -> None:
    # each of the three says what a miss costs: two would contradict each other
    options = (("strength", strength), ("sd", sd), ("covariance", covariance))
    given = [name for name, value in options if value is not None]
    if len(given) > 1:
        raise InvalidOptionError(f"give only one of strength, sd and covariance, got {' and '.join(given)}")
    if word == "huber" and sd is None:
        raise InvalidOptionError("penalty='huber' needs sd=, the standard error of the targets")
    if word in ("kl", "l1") and given and given != ["strength"]:
        raise InvalidOptionError(
            f"penalty={word!r} takes strength=, not {given[0]}=, which is for 'quadratic' and 'huber'"
        )
    for option, value in (("strength", strength), ("sd", sd)):
        if value is not None:
            require_numbers(option, value)
        if is_number(value) and not 0 < value < np.inf:
            raise InvalidOptionError(_not_positive(option, value))


def _covariance(covariance: Any) -> FloatArray:
    wanted = "covariance must be a square matrix of finite numbers"
    try:
        matrix = np.array(covariance, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidTableError(f"{wanted}, got {covariance!r:.60}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise InvalidTableError(f"{wanted}, got shape {matrix.shape}")
    scale = np.abs(matrix).max(initial=0.0)
    # estimated matrices are symmetric to rounding only
    if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-12 * scale:
        raise InvalidTableError("covariance must be symmetric")
    try:
        # fails exactly where the matrix is not positive definite, to rounding
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise InvalidTableError("covariance must be positive definite; remove rows that the others imply") from None
    # what follows takes symmetry for exact
    return (matrix + matrix.T) / 2


def _not_positive(what: str, value: Any) -> str:
    return f"{what} must be positive and finite, got {value!r}; without soft the constraint holds exactly"
