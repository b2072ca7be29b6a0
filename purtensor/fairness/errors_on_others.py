"""Standard errors of a disparity that is predicted for other people than the data: both samples vary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from purtensor._options import is_number
from purtensor._typing import Attributes, BoolArray, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, UnknownCategoryError
from purtensor.fairness.response_table import find_profile
from purtensor.fairness.roles import roles_of
from purtensor.inference.delta_method import StandardErrors
from purtensor.tables.coded import encode, sparse_table
from purtensor.tables.grouping import group_profiles
from purtensor.tables.marginal import marginal
from purtensor.tables.translate import find_profiles, translate_codes


def errors_on_others(
    errors: StandardErrors,
    people: Table,
    *,
    response: str,
    protected: Attributes,
    reference: Mapping[str, Any],
    size: float | None = None,
    ratio: bool = False,
) -> Table:
    """Return the standard error of a predicted disparity for people that the projection was not made from.

    It is of sum over x of t(x | s) q(y | s, x) less (or over) the same of s0, which `purtensor.attributable_disparity`
    (or `disparity_ratio`) gives of `purtensor.predict(q, people, unseen="marginal")`. Both samples vary: the data,
    whose projection is q, and these people (notes/standard_errors.md, equation 8).

    Parameters
    ----------
    errors
        Of the projection, from `purtensor.standard_errors`.
    people
        Counts over the predictors, and over the response or not.
    response, protected, reference
        As in `purtensor.attributable_disparity`.
    size
        How many people there are; the total of `people` when None.
    ratio
        Whether the disparity is the ratio rather than the difference.

    Returns
    -------
    Table
        Sparse, over (response, protected).

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError
        The people lack an attribute, or nobody has the reference profile.
    InvalidOptionError
        A size that is not positive, or attributes that do not fit together.

    Examples
    --------
    >>> import purtensor as pt
    >>> hired, sex, age = ["no", "yes", "yes", "no"] * 2, ["f", "f", "m", "m"] * 2, ["old"] * 4 + ["young"] * 4
    >>> counts = pt.tabulate({"hired": hired, "sex": sex, "age": age}, weights=[40, 10, 30, 20, 20, 20, 30, 30])
    >>> f = pt.empirical(counts)
    >>> fair = pt.project(f, pt.pur(f, response="hired", protected="sex"))
    >>> errors = pt.standard_errors(fair, size=200)
    >>> found = pt.fairness.errors_on_others(errors, counts, response="hired", protected="sex", reference={"sex": "m"})
    >>> found.to_series().round(4).to_dict()[("yes", "f")]
    0.0258
    """
    total = float(np.asarray(people.values).sum()) if size is None else size
    if not (is_number(total) and total > 0):
        raise InvalidOptionError(f"size must be a number of people of at least 1, got {size!r}")
    own, kept = errors.coded, errors.labelled.profiles
    roles = roles_of(own.domain, response, protected)
    predictors = (*roles.protected, *roles.unprotected)
    domain = own.domain.select((response, *roles.protected))
    # of each profile of q: its response, and the number of its predictor profile
    y, *columns = (column[kept] for column in own.columns((response, *predictors)))
    place, known = group_profiles(columns, own.domain.select(predictors).sizes)
    others = encode(marginal(people, predictors))
    theirs = translate_codes(others, own.domain.select(predictors))
    strange = [name for name, code in zip(roles.protected, theirs, strict=False) if code.min() < 0]
    if strange:
        raise UnknownCategoryError(f"the people have a category of {strange[0]} that the data do not have")
    group, groups = group_profiles(theirs[: len(roles.protected)], domain.sizes[1:])
    base = find_profile(domain.select(roles.protected), groups, reference)
    # where q has the predictor profiles of the people, or -1
    at, count = find_profiles(known, theirs), len(groups[0])
    # `size` may differ from the total of the table, which may be shares
    responses, scale = np.unique(y), float(total) / others.total
    found = np.zeros((len(responses), count))
    for row, code in enumerate(responses):
        predicted = [
            _predict(errors.influence.q, y == code, place, at[group == s], others.values[group == s], scale)
            for s in range(count)
        ]
        found[row] = [0.0 if s == base else _error(errors, predicted[s], predicted[base], ratio) for s in range(count)]
    codes = [np.repeat(responses, count), *(np.tile(column, len(responses)) for column in groups)]
    return sparse_table(domain, codes, found.reshape(-1), name="standard_error")


class _Predicted(NamedTuple):
    """One number, the sum over x of t(x | s) q(y | s, x), and what it varies by.

    Attributes
    ----------
    gradient
        The derivatives of the value with respect to the profiles of q.
    variance
        Of the test people, who are a sample too.
    """

    value: float
    gradient: FloatArray
    variance: float


def _predict(
    q: FloatArray, is_y: BoolArray, place: IntArray, at: IntArray, masses: FloatArray, scale: float
) -> _Predicted:
    """Return what is predicted of one response for one group of people (notes/standard_errors.md, equation 8).

    Parameters
    ----------
    q, is_y, place
        Of each profile of q: its mass, whether it has the response, and the number of its predictor profile.
    at, masses
        Of each predictor profile of the group: its number in q or -1, and its mass.
    scale
        The number of people per unit of these masses.
    """
    of_place = np.bincount(place, q)
    conditional = np.bincount(place, q * is_y) / of_place
    whole = float(q[is_y].sum())
    weights, seen = masses / masses.sum(), at >= 0
    # unseen profiles are predicted by q(y), as predict does with unseen="marginal"
    given = np.where(seen, conditional[at], whole)
    value = float(weights @ given)
    # d value / d q at a profile of place k: t(k) / q(k) (1{y} - q(y | k))
    share = np.bincount(at[seen], weights[seen], len(of_place)) / of_place
    gradient = share[place] * (is_y - conditional[place])
    # q(y) varies, too, in what is predicted of the unseen
    gradient += float(weights[~seen].sum()) * (is_y - whole)
    return _Predicted(value, gradient, float(weights @ (given - value) ** 2) / (scale * float(masses.sum())))


def _error(errors: StandardErrors, one: _Predicted, other: _Predicted, ratio: bool) -> float:
    """Return the standard error of the difference, or the ratio, of two predictions."""
    if not ratio:
        gradient, variance = one.gradient - other.gradient, one.variance + other.variance
    elif other.value > 0:
        # d(a / b) = (da - a / b db) / b
        share = one.value / other.value
        gradient = (one.gradient - share * other.gradient) / other.value
        variance = (one.variance + share**2 * other.variance) / other.value**2
    else:
        return float("nan")
    # from derivatives by q to those by the data (notes/standard_errors.md, equations 5 and 6)
    derivative = errors.influence.of(gradient)
    return float(np.sqrt(max(0.0, errors.influence.covariance(derivative, derivative, errors.size)) + variance))
