"""Means and shares that must hold: rows that are linear in the masses, though the ratio itself is not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from purtensor._typing import Attributes, FloatArray, Table
from purtensor.constraints.ends import Ends, RowsOnMembers, group_names, incidence, place_rows, read_ends
from purtensor.constraints.rows import Cells, RowBlock
from purtensor.constraints.totals import word_constraint
from purtensor.constraints.values import Selection, Values, read_selection, read_values
from purtensor.errors import InfeasibleError, InvalidOptionError, InvalidTableError
from purtensor.tables.grouping import group_profiles


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratio:
    """A sum over a base, both in the same group, lies between the ends; made by `mean` and `share`.

    With sums N and B the ratio t holds where N - t B = 0, and lies above t where N - t B >= 0: no base need be known.

    Attributes
    ----------
    name
        The constraint in words.
    values, counted
        What the numerator adds up, and over which profiles of the base.
    base
        The profiles of the denominator.
    by, groups
        The attributes of the rows, and those among them within which the denominator is taken.
    ends
        The ratio, or its lower and upper ends.
    """

    name: str
    values: Values
    counted: Selection | None
    base: Selection | None
    by: tuple[str, ...]
    groups: tuple[str, ...]
    ends: Ends

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the cells must have."""
        chosen = [name for part in (self.counted, self.base) if part is not None for name in part.attributes]
        return tuple(dict.fromkeys([*self.by, *self.values.attributes, *chosen]))

    def widen(self, by: FloatArray | float) -> Ratio:
        """Return the same ratio within so much of its target."""
        return replace(self, ends=replace(self.ends, lower=self.ends.lower - by, upper=self.ends.upper + by))

    def rows(self, cells: Cells) -> RowBlock:
        """Return the rows over cells.

        Raises
        ------
        InfeasibleError
            A group has no profile in its base, so that it has no ratio.
        """
        base = None if self.base is None else self.base.on(cells)
        placed = place_rows(self.ends, cells, base, self.name)
        denominators = self._denominators(placed, cells, base)
        empty = np.flatnonzero(np.diff(denominators.indptr) == 0)
        if len(empty):
            raise InfeasibleError(
                f"{self.name}{_at(placed.labels[empty[0]])} has no profile in its base, so it cannot be met"
            )
        values = self.values.on(cells)
        if self.counted is not None:
            values = np.where(self.counted.on(cells), values, 0.0)
        numerators = incidence(placed, values)
        return self._block(placed, cells.over_cells(numerators), cells.over_cells(denominators))

    def _denominators(self, placed: RowsOnMembers, cells: Cells, base: Any) -> sparse.csr_array:
        """Return for every row the 0-1 row of the profiles in its denominator."""
        if self.groups == self.by:
            return incidence(placed)
        positions = [self.by.index(name) for name in self.groups]
        everything = np.ones(cells.members, dtype=bool) if base is None else base
        # a denominator counts all members of its groups, whatever the other attributes of the row are
        columns = cells.columns(self.groups)
        of_rows = [placed.codes[k] for k in positions]
        # members and rows in one grouping, by which a row finds the members of its denominator
        together = [np.concatenate([own, row]) for own, row in zip(columns, of_rows, strict=True)]
        profiles = len(everything)
        if not together:
            group = np.zeros(profiles + placed.count, dtype=np.int64)
        else:
            group, _ = group_profiles(together, cells.domain.select(self.groups).sizes)
        inside = np.flatnonzero(everything)
        members = sparse.csr_array(
            (np.ones(len(inside)), (group[:profiles][inside], inside)), shape=(int(group.max()) + 1, profiles)
        )
        return members[group[profiles:]]

    def _block(self, placed: RowsOnMembers, numerators: sparse.csr_array, denominators: sparse.csr_array) -> RowBlock:
        if (placed.lower == placed.upper).all():
            matrix = numerators - sparse.diags_array(placed.lower) @ denominators
            zeros = np.zeros(placed.count)
            parts, lower, upper, labels, rows = [matrix], zeros, zeros, placed.labels, np.arange(placed.count)
        else:
            # N - l B >= 0 and N - u B <= 0 have different coefficients: a row for either end
            low, high = np.flatnonzero(np.isfinite(placed.lower)), np.flatnonzero(np.isfinite(placed.upper))
            parts = [
                numerators[chosen] - sparse.diags_array(ends[chosen]) @ denominators[chosen]
                for chosen, ends in ((low, placed.lower), (high, placed.upper))
                if len(chosen)
            ]
            lower = np.concatenate([np.zeros(len(low)), np.full(len(high), -np.inf)])
            upper = np.concatenate([np.full(len(low), np.inf), np.zeros(len(high))])
            labels = (
                *(_join(placed.labels[row], f"at least {placed.lower[row]:g}") for row in low),
                *(_join(placed.labels[row], f"at most {placed.upper[row]:g}") for row in high),
            )
            rows = np.concatenate([low, high])
        matrix = sparse.csr_array(sparse.vstack(parts, format="csr"))
        # at a ratio of 0 or 1 entries cancel exactly
        matrix.eliminate_zeros()
        index: pd.MultiIndex | None = None if placed.index is None else placed.index[rows]
        return RowBlock(
            name=self.name,
            labels=tuple(labels),
            coefficients=matrix,
            lower=lower,
            upper=upper,
            counts=sparse.csr_array(denominators[rows]),
            index=index,
        )

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.ends.lower)} row{'s' if len(self.ends.lower) > 1 else ''}>"


def mean(values: Any, *, by: Attributes = (), target: Any = None, of: Any = None) -> Ratio:
    """Return a constraint on the mean of a variable, over all profiles or in each group of `by`.

    The rows are sum (value - target) mass = 0, so the sizes of the groups need not be known. For intervals see
    `between`. The function creates a constraint; to compute the mean of a table use `marginal` or `to_records`.

    Parameters
    ----------
    values, by, of
        As in `total`.
    target
        The mean, by group: a number (for every group with mass), a mapping, a Series, or a table over `by`.

    Raises
    ------
    InvalidTableError
        No target, NaN, or an attribute with a label that is not a number.
    InfeasibleError
        Raised when a reference is given: a group has no profile.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.mean("income", by="sex", target={"f": 31.5, "m": 34.0})
    <mean of income by sex: 2 rows>
    """
    if target is None:
        raise InvalidTableError(
            "mean creates a constraint and needs a target; for the means of a table use purtensor.marginal or "
            "purtensor.to_records"
        )
    names = group_names(by)
    read, base = read_values(values, "mean"), read_selection(of, "of")
    what = word_constraint("mean", read, names, base) if not read.counts else "mean of 1"
    return Ratio(what, read, None, base, names, names, read_ends(names, what, target=target))


def share(*, of: Any, target: Any, within: Any = None, by: Attributes = ()) -> Ratio:
    """Return a constraint on a share: the fraction of the mass `within` some profiles that belongs to `of`.

    The rows are mass(of and within) - target mass(within) = 0. The mass within is free, as in weighting "among those
    who own one", which a fixed marginal cannot express. For intervals see `between`.

    Parameters
    ----------
    of
        The profiles of the numerator: a dict of attributes and categories, all of which must hold, or a list of such
        dicts, of which one must hold.
    within
        The profiles of the denominator, in the same form; all profiles when None.
    target
        The share, from 0 to 1, by group: a number (for every group with mass), a mapping, a Series, or a table.
    by
        The attributes whose profiles are the groups.

    Raises
    ------
    InvalidTableError
        A target outside of [0, 1].
    InvalidOptionError
        `of` or `within` is not a valid selection.
    InfeasibleError
        Raised when a reference is given: no profile lies within.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.share(of={"brand": "A"}, within={"brand": ["A", "B"]}, target=0.5)
    <share of brand=A within brand=A|B: 1 row>
    """
    counted, base = read_selection(of, "of"), read_selection(within, "within")
    if counted is None:
        raise InvalidOptionError("share needs of=, the profiles of the numerator, such as of={'brand': 'A'}")
    names = group_names(by)
    groups = f" by {', '.join(names)}" if names else ""
    what = f"share of {counted}{'' if base is None else f' within {base}'}{groups}"
    ends = read_ends(names, what, target=target)
    # of a part in a whole, so that no other number can be met
    wrong = np.flatnonzero((ends.lower < 0) | (ends.upper > 1))
    if len(wrong):
        raise InvalidTableError(f"the target of {what} must be between 0 and 1, got {ends.lower[wrong[0]]:g}")
    return Ratio(what, Values(1.0), counted, base, names, names, ends)


def rates_within(target: Table, groups: tuple[str, ...], rate: float, name: str) -> Ratio:
    """Return that the shares within each profile of `groups` are those of a table, to within `rate`."""
    attributes = tuple(str(name) for name in read_ends(None, name, target=target).attributes)
    ends = read_ends(attributes, name, target=target)
    if ends.listed is None:
        raise InvalidOptionError(f"{name} has no labels, and therefore no rates")
    codes = [ends.listed.codes[attributes.index(group)] for group in groups]
    group, _ = group_profiles(codes, ends.listed.domain.select(groups).sizes)
    sums = np.bincount(group, weights=ends.lower)
    shares = ends.lower / sums[group]
    # the target's own shares are the middle: the sizes of the groups are left free
    within = Ends(attributes, ends.listed, shares - rate, shares + rate)
    return Ratio(name, Values(1.0), None, None, attributes, groups, within)


def _at(label: str) -> str:
    return f" at {label}" if label else ""


def _join(label: str, end: str) -> str:
    return f"{label}, {end}" if label else end
