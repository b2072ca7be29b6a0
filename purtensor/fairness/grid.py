"""Answers along a grid of numbers, slacks of a curve or strengths of a path, as one labelled Dataset."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from purtensor._typing import Attributes, BoolArray, FloatArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.fairness.disparity import disparity_ratio
from purtensor.fairness.response_table import ResponseTable
from purtensor.fairness.roles import Roles, roles_of
from purtensor.projection.deliver import what_is_missing
from purtensor.tables.domain import describe_profile, label_of
from purtensor.tables.layouts import to_dense
from purtensor.tables.marginal import marginal

RATIO = "disparity_ratio"

_Answer = TypeVar("_Answer")


def check_steps(name: str, values: Iterable[float], fits: Callable[[FloatArray], BoolArray], what: str) -> FloatArray:
    """Return the numbers of a grid, one or more in a row, as an array.

    Parameters
    ----------
    name, what
        Their plural, and what each must be, for messages.
    fits
        Returns which of them are allowed.

    Raises
    ------
    InvalidOptionError
        Text, what cannot be iterated over or holds no numbers, none at all, rows of rows, or a number that is not
        allowed.
    """
    try:
        given = [values] if isinstance(values, str | bytes) else list(values)  # '12' would be 1 and 2
        if any(isinstance(value, str | bytes) for value in given):
            raise TypeError
        steps = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidOptionError(f"{name} must be numbers, got {values!r}") from None
    if steps.ndim != 1 or not len(steps):
        raise InvalidOptionError(f"{name} must be a one-dimensional sequence of at least one number")
    wrong = steps[~fits(steps)]
    if len(wrong):
        raise InvalidOptionError(f"{name} must be {what}, got {wrong[0]}")
    return steps


def solve_steps(
    steps: FloatArray, solve: Callable[[float], _Answer]
) -> tuple[list[float], list[_Answer], dict[str, str]]:
    """Return the steps in their order and the answer of each, solved from the largest step to the smallest.

    After Ctrl-C these are the completed ones, and the last result says which are missing.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, if none was completed.
    """
    found: dict[float, _Answer] = {}
    order = sorted(set(steps.tolist()), reverse=True)
    cut: dict[str, str] = {}
    try:
        for step in order:
            found[step] = solve(step)
    except KeyboardInterrupt:
        if not found:
            raise
        cut = what_is_missing(f"{step:g}" for step in order if step not in found)
    done = [step for step in steps.tolist() if step in found]
    return done, [found[step] for step in done], cut


def roles_beside(f: Table, response: str, protected: Attributes, names: Sequence[str]) -> Roles:
    """Return the roles of the attributes of f, none of which has the name of a dimension or variable of the result.

    Raises
    ------
    UnknownAttributeError, InvalidOptionError
        As `roles_of`, or a response or protected attribute with one of these names.
    """
    roles = roles_of(f, response, protected)
    taken = [name for name in (roles.response, *roles.protected) if name in (*names, RATIO)]
    # the dataset would have two variables of this name
    if taken:
        raise InvalidOptionError(f"the result has a variable of the name {taken[0]!r}: rename that attribute")
    return roles


def dataset_along(
    dimension: str,
    steps: Sequence[float],
    numbers: Mapping[str, tuple[Sequence[Any], str]],
    tables: Sequence[Table | None],
    f: Table,
    roles: Roles,
) -> xr.Dataset:
    """Return numbers, each with what it means, and the disparity ratios of the tables along a dimension.

    A table that is None has NaN ratios. The ratios are p(y | s) / p(y | s0), s0 the largest group of f, which the
    attributes of the variable name.
    """
    # the first among equals
    groups = ResponseTable.of(f, roles.response, roles.protected)
    domain, largest = groups.domain.select(roles.protected), int(np.argmax(groups.sizes))
    codes = [column[largest] for column in groups.profiles]
    reference = dict(zip(roles.protected, label_of(domain, codes), strict=True))
    data: dict[str, Any] = {
        name: (dimension, np.asarray(values), {"long_name": meaning}) for name, (values, meaning) in numbers.items()
    }
    result = xr.Dataset(data, coords={dimension: (dimension, np.asarray(steps, dtype=np.float64))})
    # where there is no distribution: the labels of f without numbers
    empty = _ratios(f, roles, reference) * np.nan
    ratios = [empty if table is None else _ratios(table, roles, reference) for table in tables]
    # projections may lack responses or groups that lost all mass: outer join, NaN there
    stacked = xr.concat(ratios, dim=dimension, join="outer", coords="minimal", compat="override")
    stacked.attrs = {
        "long_name": f"p({roles.response} | group) / p({roles.response} | {describe_profile(domain, codes)})"
    }
    result[RATIO] = stacked.assign_coords({dimension: result[dimension]})
    return result


def pairs_of(table: Table, roles: Roles) -> Table:
    """Return the marginal of responses and protected profiles: all that the ratios are worked out from."""
    return marginal(table, (roles.response, *roles.protected))


def _ratios(table: Table, roles: Roles, reference: Mapping[str, Any]) -> xr.DataArray:
    pairs = to_dense(pairs_of(table, roles))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a ratio to nothing is NaN in the result, once for every step
        return disparity_ratio(pairs, response=roles.response, protected=roles.protected, reference=reference)
