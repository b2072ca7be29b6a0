"""Intervals around targets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast, overload

import numpy as np
from scipy import sparse

from purtensor._options import is_number
from purtensor._typing import FloatArray, Table
from purtensor.constraints.labelled import Labelled, read_labelled, require_numbers
from purtensor.constraints.linear import Linear
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.ratios import Ratio, rates_within
from purtensor.constraints.rows import Cells, RowBlock, RowConstraint, Wrapped, numbers_on_rows, several_constraints
from purtensor.constraints.soft import Soft
from purtensor.errors import InvalidOptionError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Between(Wrapped):
    """The rows of a constraint, each within an interval around its target; made by `between`."""

    absolute: Any = None
    relative: float | Labelled | None = None
    rate: float | None = None

    def rows(self, cells: Cells) -> RowBlock:
        """Return the rows over cells."""
        block: RowBlock = self.constraint.rows(cells)
        _require_target(block.lower, block.upper, self.name)
        # a rate needs the row's denominator, which absolute and relative widths do without
        if self.rate is not None:
            return _within_rate(block, cast(sparse.csr_array, self.constraint.base_on(cells)), self.rate)
        if self.absolute is not None:
            width = numbers_on_rows(self.absolute, block, f"absolute of {self.name}")
        else:
            # lower is the target: both ends are equal here
            width = np.abs(block.lower) * numbers_on_rows(self.relative, block, f"relative of {self.name}")
        if not (np.isfinite(width) & (width >= 0)).all():
            raise InvalidOptionError(f"the widths of {self.name} must be finite and not negative, got {width.min():g}")
        return replace(block, lower=block.lower - width, upper=block.upper + width, is_marginal=False)

    def __repr__(self) -> str:
        return f"<{self.name}: between>"


@overload
def between(
    constraint: RowConstraint, *, absolute: Any = None, relative: Any = None, rate: float | None = None
) -> Between | Ratio: ...
@overload
def between(
    constraint: Iterable[RowConstraint], *, absolute: Any = None, relative: Any = None, rate: float | None = None
) -> tuple[Between | Ratio, ...]: ...
def between(
    constraint: RowConstraint | Iterable[RowConstraint],
    *,
    absolute: Any = None,
    relative: Any = None,
    rate: float | None = None,
) -> Between | Ratio | tuple[Between | Ratio, ...]:
    """Return a constraint whose rows may lie in an interval around their targets.

    Parameters
    ----------
    constraint
        A constraint with a target, or an iterable of such constraints.
    absolute
        The largest allowed distance of each row from its target, in the units of the target: a number, or numbers by
        the labels of the rows. For `mean` and `share` the units are those of the mean and the share.
    relative
        The same as a fraction of the absolute value of the target; a target of 0 remains exact.
    rate
        For shares within groups: `share`, `mean`, `parity`, and `parity(keep_rates=False)`. |p(y|s) - target| <= rate,
        with the target's own share of y, and the size of s whatever it becomes.

    Raises
    ------
    InvalidOptionError
        Not exactly one of the three was given, a width is negative, the constraint is already soft or an interval, or
        `rate` was given for a constraint without groups.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.between(pt.marginals_of(counts, "sex | age"), relative=0.02)
    (<sex: between>, <age: between>)
    >>> pt.between(pt.share(of={"age": "old"}, target=0.5), absolute=0.1)
    <share of age=old: 1 row>
    """
    given = [value for value in (absolute, relative, rate) if value is not None]
    if len(given) != 1:
        raise InvalidOptionError(f"between needs exactly one of absolute, relative and rate, got {len(given)}")
    if not isinstance(constraint, Table) and not hasattr(constraint, "rows"):
        several = several_constraints(constraint, "between")
        return tuple(_between(one, absolute, relative, rate) for one in several)
    return _between(cast(RowConstraint, constraint), absolute, relative, rate)


def _between(constraint: RowConstraint, absolute: Any, relative: Any, rate: float | None) -> Between | Ratio:
    if isinstance(constraint, Soft):
        raise InvalidOptionError(
            "an interval around a soft constraint is not defined; for a dead zone use soft(between(constraint), sd=...)"
        )
    if isinstance(constraint, Between):
        raise InvalidOptionError(f"{constraint.name} is already an interval")
    if not hasattr(constraint, "rows"):
        raise InvalidOptionError(f"between takes constraints, got {type(constraint).__qualname__}")
    for option, width in (("absolute", absolute), ("relative", relative), ("rate", rate)):
        if width is not None:
            require_numbers(option, width)
        if is_number(width) and not 0 <= width < np.inf:
            raise InvalidOptionError(f"{option} must be finite and not negative, got {width!r}")
    if isinstance(constraint, Ratio):
        return _ratio_between(constraint, absolute, relative, rate)
    if isinstance(constraint, Marginal) and constraint.target is None:
        raise InvalidOptionError(f"{constraint!r} is already an interval")
    if rate is None:
        return Between(constraint, absolute, relative)
    if not is_number(rate):
        raise InvalidOptionError(f"rate must be a number, got {rate!r}")
    if isinstance(constraint, Linear) and constraint.base is not None:
        return Between(constraint, rate=float(rate))
    # of parity: the attributes within whose groups it compares shares
    if isinstance(constraint, Marginal) and constraint.groups:
        return rates_within(constraint.target, constraint.groups, float(rate), constraint.name)
    raise InvalidOptionError(
        f"rate applies to shares within groups (parity, share, mean), and {constraint.name} has none; use absolute or "
        "relative"
    )


def _ratio_between(constraint: Ratio, absolute: Any, relative: Any, rate: float | None) -> Ratio:
    """Return the interval of a mean or a share, whose own units are those of `absolute` and `rate` alike."""
    ends = constraint.ends
    _require_target(ends.lower, ends.upper, constraint.name)
    width = next(value for value in (absolute, relative, rate) if value is not None)
    read = read_labelled(width, ends.attributes, f"the width of {constraint.name}")
    if isinstance(read, Labelled):
        raise InvalidOptionError(f"the width of {constraint.name} must be one number; create one constraint per group")
    return constraint.widen(read if relative is None else np.abs(ends.lower) * read)


def _within_rate(block: RowBlock, base: sparse.csr_array, rate: float) -> RowBlock:
    """Return rows that say |row - target| <= rate * base, each as two one-sided rows."""
    count = len(block.labels)
    # row + rate * base >= target, and row - rate * base <= target: linear in the masses of both
    matrix = sparse.csr_array(
        sparse.vstack([block.coefficients + rate * base, block.coefficients - rate * base], format="csr")
    )
    # entries whose coefficient is exactly the rate cancel
    matrix.eliminate_zeros()
    labels = (
        *(f"{label}, at most {rate:g} below" for label in block.labels),
        *(f"{label}, at most {rate:g} above" for label in block.labels),
    )
    return replace(
        block,
        labels=labels,
        coefficients=matrix,
        is_marginal=False,
        counts=None,
        lower=np.concatenate([block.lower, np.full(count, -np.inf)]),
        upper=np.concatenate([np.full(count, np.inf), block.upper]),
        index=None if block.index is None else block.index.append(block.index),
    )


def _require_target(lower: FloatArray, upper: FloatArray, name: str) -> None:
    if not (lower == upper).all():
        raise InvalidOptionError(f"{name} is already an interval; between needs a constraint with a target")
