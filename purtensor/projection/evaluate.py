"""The projection's masses outside of its support."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from purtensor._options import check_choice
from purtensor._typing import BoolArray, IntArray, Table
from purtensor.constraints.rank.redundancy import redundant
from purtensor.constraints.system import System, align, reduce_system
from purtensor.errors import InvalidTableError
from purtensor.projection.log_reference import support_of
from purtensor.projection.result import Projection, require_projection
from purtensor.tables.coded import CodedTable, encode
from purtensor.tables.grouping import group_profiles
from purtensor.tables.translate import category_map
from purtensor.tables.values_at import look_up


def evaluate(result: Projection, reference: Table, *, undefined: str = "raise") -> Table:
    """Return reference * exp(C^T potentials): the projection's member of the family, on any profiles.

    On the profiles of the projection's own reference this is the projection. Outside of them it is what the same
    potentials say, where they say anything: a profile's value is determined when its column of C depends on the
    columns of the support.

    Parameters
    ----------
    result
        A projection whose potentials are finite where they are needed; a target of 0 gives its profiles 0.
    reference
        A table over the same attributes, such as the reference extended by more profiles; it may hold categories
        that the projection never saw.
    undefined
        What happens to profiles whose value the potentials do not determine: "raise", or "drop", which gives them 0.

    Raises
    ------
    InvalidOptionError
        `undefined` is neither.
    UnknownAttributeError
        `reference` lacks an attribute of the projection.
    InvalidTableError
        Undefined profiles, naming the first and how many there are.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"a": [0, 0, 1], "b": [0, 1, 0]})
    >>> fitted = pt.project(counts, pt.marginals_of(counts, ["a", "b"]))
    >>> full = pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    >>> pt.results.evaluate(fitted, full).sizes["profile"]
    4
    """
    require_projection(result)
    check_choice("undefined", undefined, ("raise", "drop"))
    coded = encode(reference)
    full = align(encode(support_of(result)), result.constraints)
    rows = _rows_of(full, coded)
    potentials = np.concatenate(
        [
            look_up(table, full.domain.select(scope), full.row_codes[k])
            for k, (scope, table) in enumerate(zip(full.scopes, result.potentials, strict=True))
        ]
    )
    listed = (rows >= 0).all(axis=0)
    exponent = np.where(listed, potentials[rows].sum(axis=0), -np.inf)
    # a target of 0 says 0, whatever the other potentials are
    known = listed & (np.isneginf(exponent) | _determine(full, rows))
    unknown = np.flatnonzero(~known)
    if len(unknown) and undefined == "raise":
        raise InvalidTableError(
            f"the potentials do not determine {len(unknown)} profiles, such as {coded.label(int(unknown[0]))}; "
            'pass undefined="drop" to set them to 0'
        )
    values = np.zeros(len(coded.values))
    values[known] = coded.values[known] * np.exp(exponent[known])
    return coded.rebuild(values, name="projection")


def _rows_of(system: System, coded: CodedTable) -> IntArray:
    """Return, shape (K, profiles), the row of each profile among all rows of the system, -1 where it has none."""
    found = np.empty((len(system.scopes), len(coded.values)), dtype=np.int64)
    for k, scope in enumerate(system.scopes):
        domain = system.domain.select(scope)
        columns = []
        for name, categories, code in zip(scope, domain.categories, coded.columns(scope), strict=True):
            columns.append(category_map(coded.domain.categories[coded.domain.position(name)], categories)[code])
        here = np.all([column >= 0 for column in columns], axis=0)
        joint = [np.concatenate([own, column[here]]) for own, column in zip(system.row_codes[k], columns, strict=True)]
        group, _ = group_profiles(joint, domain.sizes)
        count = len(system.row_codes[k][0])
        row_of_group = np.full(int(group.max()) + 1, -1, dtype=np.int64)
        row_of_group[group[:count]] = np.arange(system.offsets[k], system.offsets[k + 1])
        found[k] = -1
        found[k, here] = row_of_group[group[count:]]
    return found


def _determine(full: System, rows: IntArray) -> BoolArray:
    """Return which columns of C, given by their rows, depend on the columns of the support.

    They do when every combination of rows that vanishes on the support vanishes on them.
    """
    reduction = reduce_system(full)
    number = np.full(full.rows + 1, -1, dtype=np.int64)
    # the last entry stays -1: it is what rows numbered -1 pick
    number[reduction.rows] = np.arange(len(reduction.rows))
    local = number[rows]
    combinations = redundant(reduction.system)
    height = len(reduction.rows)
    # in whole numbers, so that "vanishes" is exact
    vanishing = sparse.csr_array(
        (
            np.concatenate(
                [np.append(r.weights, -r.multiplier) for r in combinations] or [np.empty(0, dtype=np.int64)]
            ),
            np.concatenate([np.append(r.rows, r.row) for r in combinations] or [np.empty(0, dtype=np.int64)]),
            np.cumsum([0, *(len(r.rows) + 1 for r in combinations)]),
        ),
        shape=(len(combinations), height),
    )
    used, column = local[local >= 0], np.nonzero(local >= 0)[1]
    columns = sparse.csr_array((np.ones(len(used), dtype=np.int64), (used, column)), shape=(height, rows.shape[1]))
    return np.asarray(abs(vanishing @ columns).sum(axis=0) == 0)
