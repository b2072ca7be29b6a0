"""A table of people as a matrix, so that thousands of simulated data sets need no labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd

import purtensor as pt
from purtensor._typing import BoolArray, FloatArray, IntArray, Table
from purtensor.fairness.roles import Roles, roles_of
from purtensor.tables.coded import domain_of, encode
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles

# what simulated sets may be drawn from, in words
DRAWN_FROM: Mapping[str, str] = MappingProxyType(
    {"empirical": "the data as they are, as in the paper", "regularized": "f, which also has profiles that nobody has"}
)

# what may happen to test people whose predictor profile was not trained on, in words; members have both, in order
UNSEEN: Mapping[str, str] = MappingProxyType({"marginal": "predicted by q(y)", "drop": "left out"})


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Which predictor profiles there are, and which protected and unprotected profile each of them is.

    Attributes
    ----------
    domain, roles
        Of the table.
    protected, unprotected
        Shape (predictor profiles,): the number of the protected and of the unprotected profile.
    protected_codes, unprotected_codes
        For each protected (unprotected) attribute the category code of every protected (unprotected) profile.
    counts
        Shape (predictor profiles, responses): the table; predictor profiles lie by unprotected profile.
    """

    domain: Domain
    roles: Roles
    protected: IntArray
    unprotected: IntArray
    protected_codes: tuple[IntArray, ...]
    unprotected_codes: tuple[IntArray, ...]
    counts: FloatArray

    @property
    def responses(self) -> int:
        """The number of response categories."""
        return int(self.counts.shape[1])

    @property
    def response_categories(self) -> list[str]:
        """The response categories as text."""
        return [str(label) for label in self.domain.select((self.roles.response,)).categories[0]]

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """The protected profiles as text, in the order of their numbers."""
        categories = self.domain.select(self.roles.protected).categories
        columns = [
            [str(label) for label in known[code]] for known, code in zip(categories, self.protected_codes, strict=True)
        ]
        return list(zip(*columns, strict=True))

    def compare_with(self, reference: Mapping[str, str]) -> tuple[int, list[int]]:
        """Return the number of a protected profile, and the numbers of the others."""
        at = self.groups.index(tuple(reference[name] for name in self.roles.protected))
        return at, [s for s in range(len(self.groups)) if s != at]


def population_of(counts: Table, *, response: str, protected: tuple[str, ...]) -> Population:
    """Return a table as a matrix over its predictor profiles and responses.

    Raises
    ------
    UnknownAttributeError, InvalidOptionError
        A response or protected attributes that the table does not have, or that do not fit together.

    Examples
    --------
    >>> import purtensor as pt
    >>> people = pt.tabulate({"hired": ["no", "yes", "yes"], "sex": ["f", "f", "m"], "age": ["old", "old", "old"]})
    >>> population_of(people, response="hired", protected=("sex",)).counts
    array([[1., 1.],
           [0., 1.]])
    """
    coded = encode(counts)
    roles = roles_of(coded.domain, response, protected)
    (y,) = coded.columns((response,))
    s, s_codes = _number(coded.columns(roles.protected), coded.domain.select(roles.protected).sizes, len(y))
    x, x_codes = _number(coded.columns(roles.unprotected), coded.domain.select(roles.unprotected).sizes, len(y))
    # by x first, so that the profiles of a slab lie together
    row, (row_x, row_s) = group_profiles([x, s], [int(x.max()) + 1, int(s.max()) + 1])
    matrix = np.zeros((len(row_x), coded.domain.select((response,)).size))
    matrix[row, y] = coded.values
    return Population(coded.domain, roles, row_s, row_x, s_codes, x_codes, matrix)


def _number(
    columns: tuple[IntArray, ...], sizes: tuple[int, ...], profiles: int
) -> tuple[IntArray, tuple[IntArray, ...]]:
    if not columns:
        return np.zeros(profiles, dtype=np.int64), ()
    return group_profiles(columns, sizes)


def shares_of(counts: Table) -> pd.DataFrame:
    """Return the share of people in each category of each attribute of a table.

    Examples
    --------
    >>> import purtensor as pt
    >>> shares_of(pt.tabulate({"sex": ["f", "m"]}, weights=[1, 3])).to_dict("records")
    [{'attribute': 'sex', 'category': 'f', 'share': 0.25}, {'attribute': 'sex', 'category': 'm', 'share': 0.75}]
    """
    rows = []
    for attribute in domain_of(counts).attributes:
        shares = pt.marginal(counts, (attribute,)).to_series() / float(counts.sum())
        rows += [(attribute, str(label[0] if isinstance(label, tuple) else label), v) for label, v in shares.items()]
    return pd.DataFrame(rows, columns=["attribute", "category", "share"])


def regularize_counts(counts: FloatArray, strength: float) -> FloatArray:
    """Return counts as `purtensor.regularize` makes them: a pseudo-count on observed responses x observed predictors.

    Parameters
    ----------
    counts
        Shape (predictor profiles, responses).
    """
    size = counts.sum()
    cells = np.outer(counts.sum(axis=1) > 0, counts.sum(axis=0) > 0)
    masses = (counts / size + strength / size) / (1.0 + cells.sum() * strength / size)
    return np.where(cells, masses, 0.0)


def masses_to_draw_from(population: Population, strength: float, drawn_from: str) -> FloatArray:
    """Return the distribution that simulated sets are drawn from, shape (predictor profiles, responses).

    It is that of the observed people, or, where `drawn_from` is "regularized", f.
    """
    if drawn_from == "regularized":
        return regularize_counts(population.counts, strength)
    masses: FloatArray = population.counts / population.counts.sum()
    return masses


def predict_natural(q: FloatArray, people: FloatArray, unseen: str = "marginal") -> tuple[FloatArray, BoolArray]:
    """Return the natural classifier's prediction q(y | s, x) for people, and which predictor profiles q never saw.

    Unseen profiles are predicted by q(y) or dropped, as `purtensor.predict` does with "marginal" and "drop".

    Parameters
    ----------
    q
        Shape (predictor profiles, responses).
    people
        Shape (predictor profiles,): their masses.
    unseen
        "marginal" or "drop".
    """
    of_predictors = q.sum(axis=1)
    is_unseen = of_predictors == 0
    conditional = q / np.where(is_unseen, 1.0, of_predictors)[:, None]
    conditional[is_unseen] = q.sum(axis=0) / q.sum() if unseen == "marginal" else 0.0
    return conditional * people[:, None], is_unseen & (people > 0)


def sum_rows(masses: FloatArray, number: IntArray, count: int) -> FloatArray:
    """Return the rows of `masses` summed by their number, shape (count, responses)."""
    return np.stack([np.bincount(number, column, count) for column in masses.T], axis=1)


def conditionals(population: Population, masses: FloatArray) -> FloatArray:
    """Return p(y | s), shape (responses, protected profiles); NaN where a protected profile has no mass."""
    of_pairs = sum_rows(masses, population.protected, len(population.protected_codes[0])).T
    of_groups = of_pairs.sum(axis=0)
    return np.asarray(of_pairs / np.where(of_groups > 0, of_groups, np.nan))


def utility_divergence(population: Population, data: FloatArray, prediction: FloatArray) -> float:
    """Return KL of the (response, unprotected) marginals of data and prediction, in nats; inf where it is undefined."""
    count = int(population.unprotected.max()) + 1
    p, q = (sum_rows(masses / masses.sum(), population.unprotected, count) for masses in (data, prediction))
    if np.any((p > 0) & (q == 0)):
        return float("inf")
    some = p > 0
    return float(np.sum(p[some] * np.log(p[some] / q[some])))
