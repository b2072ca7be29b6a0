"""The projection's masses outside of its support."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from scipy import sparse

from purtensor._options import check_choice
from purtensor._typing import BoolArray, FloatArray, IntArray, Table
from purtensor.constraints.decomposable import compute_closed_form
from purtensor.constraints.marginals import Constraints, as_constraints
from purtensor.constraints.rank.redundancy import redundant
from purtensor.constraints.system import System, align, reduce_system
from purtensor.errors import InvalidTableError
from purtensor.projection.labels import table_of
from purtensor.projection.log_reference import support_of
from purtensor.projection.result import Projection, require_projection
from purtensor.solving.problem import build_problem
from purtensor.tables.coded import CodedTable, dense_table, domain_of, encode, is_sparse, read_codes
from purtensor.tables.domain import Domain, describe_profile
from purtensor.tables.translate import find_profiles, translate_codes, values_at


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
    # profiles that the support lacks have rows all the same, if their categories do
    rows = _rows_of(full, coded)
    potentials = np.concatenate(
        [
            values_at(table, full.domain.select(scope), full.row_codes[k])
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
    found = []
    for k, scope in enumerate(system.scopes):
        own = find_profiles(system.row_codes[k], translate_codes(coded, system.domain.select(scope)))
        found.append(np.where(own < 0, -1, own + system.offsets[k]))
    return np.array(found)


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


Contrast = Callable[[FloatArray, int], tuple[FloatArray, FloatArray]]


def _sum_to_zero(values: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
    level = values.mean(axis=axis, keepdims=True)
    return level, values - level


def _first_is_zero(values: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
    level = values.take([0], axis=axis)
    return level, values - level


_CONTRASTS: dict[str, Contrast] = {"sum": _sum_to_zero, "treatment": _first_is_zero}


def log_linear_parameters(result: Projection, *, contrasts: str = "sum") -> dict[tuple[str, ...], Table]:
    """Return the log-linear parameters of a projection: log(table / reference) as effects and interactions.

    The parameters of a set of attributes are a dense table over them; those of all sets that lie in a scope add up to
    log(table / reference) on the support. They are unique where every profile of the scopes is supported.

    Parameters
    ----------
    result
        A projection; of one that has not converged the parameters of its table are returned.
    contrasts
        "sum": every parameter sums to zero over each of its attributes. "treatment": it is zero at the first category
        of each, so that what is left compares with the first.

    Returns
    -------
    dict
        From attribute names, fewest first and () for the constant, to tables of natural logarithms.

    Raises
    ------
    InvalidOptionError
        `contrasts` is neither.
    InvalidTableError
        A profile of a scope without potential, or with a target of 0: the parameters are not determined there.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.empirical(pt.tabulate({"a": [0, 0, 1], "b": [0, 1, 0]}))
    >>> independent = pt.project(pt.to_dense(pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})),
    ...                          pt.marginals_of(f, ["a", "b"]))
    >>> log_odds = pt.results.log_linear_parameters(independent, contrasts="treatment")[("a",)]
    >>> round(float(log_odds.sel(a=1)), 4)      # log of (1/3) / (2/3)
    -0.6931
    """
    require_projection(result)
    check_choice("contrasts", contrasts, _CONTRASTS)
    order = domain_of(result.reference).attributes
    found: dict[tuple[str, ...], Table] = {}
    for potentials in result.potentials:
        domain, values = _whole_scope(potentials)
        for names, part in _decompose(values, domain.attributes, _CONTRASTS[contrasts]).items():
            key = tuple(sorted(names, key=order.index))
            named = dense_table(domain.select(names), part).transpose(*key) if names else Table(float(part))
            # overlapping scopes share lower effects: their sum is what is unique
            found[key] = found[key] + named if key in found else named
    return dict(sorted(found.items(), key=lambda item: (len(item[0]), [order.index(name) for name in item[0]])))


def _whole_scope(potentials: Table) -> tuple[Domain, FloatArray]:
    """Return potentials as a dense array over the categories that occur, refused where one is missing."""
    domain = domain_of(potentials)
    values = np.full(domain.sizes, np.nan)
    if is_sparse(potentials):
        values[read_codes(potentials, domain)] = potentials.values
    else:
        values[...] = potentials.transpose(*domain.attributes).values
    finite = np.isfinite(values)
    axes = range(values.ndim)
    # categories that never occur, or have targets of 0 only, are left out: there is nothing to determine
    used = [np.flatnonzero(finite.any(axis=tuple(other for other in axes if other != axis))) for axis in axes]
    kept = values[np.ix_(*used)]
    smaller = Domain(domain.attributes, tuple(c[u] for c, u in zip(domain.categories, used, strict=True)))
    if not np.isfinite(kept).all():
        bad = np.unravel_index(int(np.argmin(np.isfinite(kept))), kept.shape)
        raise InvalidTableError(
            f"the log-linear parameters over ({', '.join(domain.attributes)}) are not determined: profile "
            f"({describe_profile(smaller, bad)}) has no potential, because it has no mass in the reference or a "
            "target of 0"
        )
    return smaller, kept


def _decompose(values: FloatArray, names: Sequence[str], contrast: Contrast) -> dict[tuple[str, ...], FloatArray]:
    """Return the parts of an array that belong to each set of its axes; they add up to it."""
    # axis by axis each part splits into its level and what deviates from it: 2^n parts in n steps
    parts: dict[tuple[str, ...], FloatArray] = {(): values}
    for axis, name in enumerate(names):
        split: dict[tuple[str, ...], FloatArray] = {}
        for key, part in parts.items():
            level, effect = contrast(part, axis)
            split[key] = level
            split[(*key, name)] = effect
        parts = split
    every = [key for size in range(len(names) + 1) for key in combinations(names, size)]
    return {
        key: parts[key].reshape([n for n, name in zip(parts[key].shape, names, strict=True) if name in key])
        for key in every
    }


def closed_form(reference: Table, constraints: Constraints) -> Table | None:
    """Return the projection as a product of the targets over their shared marginals, or None where it is none.

    It is one where the scopes of the constraints are decomposable (they can be put in a line in which each meets those
    before it inside one of them) and the reference lies in their family, as the uniform one on a full domain does
    (notes/independence.md, equation 5).

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError, InfeasibleError
        As `project`.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"y": [0, 0, 1, 1], "s": [0, 1, 0, 1], "x": [0, 0, 0, 1]})
    >>> everywhere = pt.to_dense(counts, fill_value=1.0) * 0 + 1
    >>> chain = pt.marginals_of(counts, [("y", "s"), ("s", "x")])
    >>> pt.results.closed_form(everywhere, chain).sel(y=0, s=1, x=1).item()
    0.5
    >>> pt.results.closed_form(everywhere, pt.marginals_of(counts, [("y", "s"), ("s", "x"), ("y", "x")])) is None
    True
    """
    labelled = build_problem(reference, as_constraints(constraints))
    masses = compute_closed_form(labelled.arrays.reference, labelled.arrays.system)
    return None if masses is None else table_of(labelled, masses)
