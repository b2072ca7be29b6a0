"""Measures of several distributions as one labelled Dataset with an extra dimension."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from purtensor._typing import Attributes, FloatArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.fairness.disparity import disparity_ratio
from purtensor.fairness.roles import Roles, roles_of
from purtensor.tables.coded import describe_profile, encode
from purtensor.tables.layouts import to_dense
from purtensor.tables.marginal import marginal, marginalize

RATIO = "disparity_ratio"


def roles_beside(f: Table, response: str, protected: Attributes, names: Sequence[str]) -> Roles:
    """Return the roles of the attributes of f, none of which has the name of a dimension or variable of the result.

    Raises
    ------
    UnknownAttributeError, InvalidOptionError
        As `roles_of`, or a response or protected attribute with one of these names.
    """
    roles = roles_of(encode(f).domain, response, protected)
    taken = [name for name in (roles.response, *roles.protected) if name in (*names, RATIO)]
    if taken:
        raise InvalidOptionError(f"the result has a variable of the name {taken[0]!r}: rename that attribute")
    return roles


def largest_group(f: Table, roles: Roles) -> dict[str, Any]:
    """Return the protected profile with the most mass, the first among equals: what the others are compared with."""
    domain, codes, masses = marginalize(encode(f), roles.protected)
    largest = int(np.argmax(masses))
    return {
        name: categories[int(column[largest])]
        for name, categories, column in zip(roles.protected, domain.categories, codes, strict=True)
    }


def dataset_along(
    dimension: str,
    steps: Sequence[float] | FloatArray,
    numbers: Mapping[str, tuple[Sequence[Any], str]],
    tables: Sequence[Table | None],
    f: Table,
    roles: Roles,
) -> xr.Dataset:
    """Return numbers, each with what it means, and the disparity ratios of the tables along a dimension.

    A table that is None has NaN ratios. The ratios are p(y | s) / p(y | s0), s0 the largest group of f, which the
    attributes of the variable name.
    """
    reference = largest_group(f, roles)
    data: dict[str, Any] = {
        name: (dimension, np.asarray(values), {"long_name": meaning}) for name, (values, meaning) in numbers.items()
    }
    result = xr.Dataset(data, coords={dimension: (dimension, np.asarray(steps, dtype=np.float64))})
    empty = _ratios(f, roles, reference) * np.nan
    ratios = [empty if table is None else _ratios(table, roles, reference) for table in tables]
    stacked = xr.concat(ratios, dim=dimension, join="outer", coords="minimal", compat="override")
    domain = encode(f).domain.select(roles.protected)
    compared = describe_profile(domain, [domain.code(name, category) for name, category in reference.items()])
    stacked.attrs = {"long_name": f"p({roles.response} | group) / p({roles.response} | {compared})"}
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
