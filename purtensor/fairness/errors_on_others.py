"""Standard errors of a disparity that is predicted for other people than the data: both samples vary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from purtensor._options import is_number
from purtensor._typing import Attributes, BoolArray, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, UnknownCategoryError
from purtensor.fairness.response_table import find_profile
from purtensor.fairness.roles import roles_of
from purtensor.inference.delta_method import StandardErrors
from purtensor.kernels.sums import group_sums
from purtensor.tables.coded import encode, sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles
from purtensor.tables.marginal import marginal
from purtensor.tables.profile_lookup import lookup
from purtensor.tables.translate import translate_codes


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
    prediction = _Prediction.of(errors, people, response, protected, float(total))
    responses, groups = len(prediction.responses), len(prediction.groups[0])
    base = find_profile(prediction.domain.select(prediction.domain.attributes[1:]), prediction.groups, reference)
    found = np.zeros((responses, groups))
    for y in range(responses):
        of_base = prediction.predict(y, base)
        for s in range(groups):
            if s != base:
                found[y, s] = _error(errors, prediction.predict(y, s), of_base, ratio)
    codes = [np.repeat(prediction.responses, groups), *(np.tile(code, responses) for code in prediction.groups)]
    return sparse_table(prediction.domain, codes, found.reshape(-1), name="standard_error")


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


def _error(errors: StandardErrors, one: _Predicted, other: _Predicted, ratio: bool) -> float:
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


@dataclass(frozen=True, slots=True, eq=False)
class _Prediction:
    """The profiles of q and the people, matched.

    Attributes
    ----------
    domain
        Of response and protected attributes; `responses` and `groups` are the codes of those that occur.
    q, y, place
        Of each profile of q: its mass, its response, and the number of its predictor profile.
    of_place
        The mass of each predictor profile of q.
    people, of_people, at
        Of each predictor profile of the people: mass, number of the protected profile, and where q has it, or -1.
    size
        How many people there are.
    """

    domain: Domain
    responses: IntArray
    groups: tuple[IntArray, ...]
    q: FloatArray
    y: IntArray
    place: IntArray
    of_place: FloatArray
    people: FloatArray
    of_people: IntArray
    at: IntArray
    size: float

    @classmethod
    def of(
        cls, errors: StandardErrors, people: Table, response: str, protected: Attributes, size: float
    ) -> _Prediction:
        own, kept = errors.coded, errors.labelled.profiles
        roles = roles_of(own.domain, response, protected)
        (y,) = (column[kept] for column in own.columns((response,)))
        predictors = [name for name in own.domain.attributes if name != response]
        columns = [column[kept] for column in own.columns(predictors)]
        place, known = group_profiles(columns, own.domain.select(predictors).sizes)
        others = encode(marginal(people, predictors))
        theirs = translate_codes(others, own.domain.select(predictors))
        of_group = [theirs[predictors.index(name)] for name in roles.protected]
        strange = [name for name, code in zip(roles.protected, of_group, strict=True) if code.min() < 0]
        if strange:
            raise UnknownCategoryError(f"the people have a category of {strange[0]} that the data do not have")
        of_people, groups = group_profiles(of_group, own.domain.select(roles.protected).sizes)
        q = errors.influence.q
        return cls(
            own.domain.select((response, *roles.protected)),
            responses=np.unique(y),
            groups=groups,
            q=q,
            y=y,
            place=place,
            of_place=group_sums(q, place, len(known[0])),
            people=others.values,
            of_people=of_people,
            at=lookup(known, theirs),
            size=size,
        )

    def predict(self, y: int, group: int) -> _Predicted:
        """Return what is predicted of one response for one group (notes/standard_errors.md, equation 8)."""
        is_y: BoolArray = self.y == self.responses[y]
        conditional = np.bincount(self.place, self.q * is_y, len(self.of_place)) / self.of_place
        whole = float(self.q[is_y].sum())
        rows = np.flatnonzero(self.of_people == group)
        weights = self.people[rows] / self.people[rows].sum()
        seen = self.at[rows] >= 0
        # unseen profiles are predicted by q(y), as predict does with unseen="marginal"
        given = np.where(seen, conditional[self.at[rows]], whole)
        value = float(weights @ given)
        of_place = np.bincount(self.at[rows][seen], weights[seen], len(self.of_place)) / self.of_place
        gradient = of_place[self.place] * (is_y - conditional[self.place])
        # q(y) varies, too, in what is predicted of the unseen
        gradient += float(weights[~seen].sum()) * (is_y - whole)
        asked = self.size * float(self.people[rows].sum() / self.people.sum())
        return _Predicted(value, gradient, float(weights @ (given - value) ** 2) / asked)
