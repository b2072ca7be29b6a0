"""Log-linear parameters: the potentials as effects and interactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from purtensor._options import check_choice
from purtensor._typing import FloatArray, Table
from purtensor.errors import InvalidTableError
from purtensor.projection.result import Projection, require_projection
from purtensor.tables.coded import dense_table, describe_profile, domain_of, is_sparse, read_codes
from purtensor.tables.domain import Domain

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
