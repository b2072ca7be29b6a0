"""Arrays with axes for attributes, as tables: for packages that know no names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import is_count, items_of
from purtensor._typing import FloatArray, Table
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.tables.coded import dense_table
from purtensor.tables.domain import Domain
from purtensor.tables.marginal import marginal


def array_table(values: Any) -> Table:
    """Return an array as a dense table whose attributes are 'axis 0', 'axis 1', ..., and whose categories count from 0.

    Raises
    ------
    InvalidTableError
        It has no axis, or holds no numbers.
    """
    array = _unmask(values, "the table")
    # complex numbers, text, dates and objects are refused, booleans count as 0 and 1
    if array.ndim == 0 or array.dtype.kind not in "buif":
        raise InvalidTableError(f"the table must be an array of numbers with at least one axis, got {values!r:.60}")
    return dense_table(_domain(range(array.ndim), array.shape), array)


def array_target(values: Any, axes: Any, shape: Sequence[int]) -> Marginal:
    """Return the marginal over these axes of a table of this shape, the target's own axes in the order of `axes`.

    Raises
    ------
    InvalidOptionError
        Axes that the table does not have, or that occur twice.
    InvalidTableError
        A target of another shape than the table has along the axes.
    """
    along = _check_axes(axes, len(shape))
    target = _unmask(values, "a target")
    wanted = tuple(shape[axis] for axis in along)
    if target.shape != wanted:
        raise InvalidTableError(
            f"the target over axes {along} must have the shape {wanted} of the table, got {target.shape}"
        )
    return Marginal(dense_table(_domain(along, wanted), target, name="target"))


def check_lengths(targets: Any, entries: Any, what: str) -> None:
    """Refuse lists that are empty, or of which one has more items than the other; `what` each target must have."""
    counts = [len(items_of(given) or ()) for given in (targets, entries)]
    if counts[0] != counts[1] or not counts[0]:
        raise InvalidOptionError(f"each target must have its {what}, got {counts[0]} targets and {counts[1]} entries")


def fit_array(
    values: Any, targets: Sequence[Any], axes: Sequence[Any], solve: Callable[[Table, list[Marginal]], Table]
) -> FloatArray:
    """Return an array with these margins, by `solve` on the axes that a target mentions.

    What no target mentions keeps its conditional distribution: the array is multiplied by the ratio of its sums, after
    over before; where they are 0, so is the answer.
    """
    table = array_table(values)
    margins = [array_target(target, along, table.shape) for target, along in zip(targets, axes, strict=True)]
    mentioned = {name for target in margins for name in target.scope}
    before = marginal(table, [str(name) for name in table.dims if name in mentioned])
    after = solve(before, margins)
    if before.ndim == table.ndim:
        answer: FloatArray = after.values.copy()  # who changes it does not change the projection
        return answer
    ratio = np.divide(after.values, before.values, out=np.zeros(before.shape), where=before.values > 0)
    # axes of length 1 for what was summed out, so that the ratio is broadcast along them
    places = tuple(slice(None) if name in before.dims else None for name in table.dims)
    scaled: FloatArray = table.values * ratio[places]
    return scaled


def _unmask(values: Any, what: str) -> Any:
    """Return an array, refused where cells of it are masked: what lies under the mask would count."""
    if np.ma.is_masked(values):
        raise InvalidTableError(
            f"{what} has masked cells; give each a number with filled(...), 0 for cells that must be empty"
        )
    return np.asarray(values)


def _domain(axes: Sequence[int] | range, sizes: Sequence[int]) -> Domain:
    return Domain(tuple(f"axis {axis}" for axis in axes), tuple(pd.RangeIndex(size) for size in sizes))


def _check_axes(axes: Any, count: int) -> tuple[int, ...]:
    along = tuple(np.atleast_1d(axes).tolist())
    fine = all(is_count(axis) and 0 <= axis < count for axis in along) and len(set(along)) == len(along)
    if not (along and fine):
        raise InvalidOptionError(f"the axes of a target must be distinct integers from 0 to {count - 1}, got {along}")
    return along
