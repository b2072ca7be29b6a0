"""Decisions taken from probabilities: which of them are fair, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._options import check_choice, is_number
from purtensor._printing import Shown
from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, UnknownCategoryError
from purtensor.fairness.assignment import best_assignment
from purtensor.fairness.predict import predict
from purtensor.fairness.response_table import ResponseTable
from purtensor.fairness.roles import roles_of
from purtensor.tables.coded import domain_of, encode, like_sorted
from purtensor.tables.domain import Domain, join_some
from purtensor.tables.grouping import group_profiles

RULES = ("likeliest", "draw", "fair")
"""The likeliest category, a draw from the probabilities, or the least-loss decision at one rate for all groups."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Decisions(Shown):
    """A decision rule, applied to the people that it was made for.

    Attributes
    ----------
    rule
        "likeliest", "draw" or "fair".
    table
        Over (response, protected, unprotected): the number of people with each (s, x) that get each y. Its conditional
        d(y | s, x) is the rule, so `purtensor.predict(found.table, others, response=...)` applies it to other people;
        with `unseen="marginal"`, people with unknown profiles get y at the overall rates.
    accuracy
        The expected share of decisions that agree with the response, under the probabilities q.
    gap
        For the fair rule, an upper bound on the accuracy that other decisions at these rates could gain.
    """

    rule: str
    table: Table
    accuracy: float
    gap: float = 0.0

    def summary(self) -> dict[str, str]:
        """Return a summary of the decisions as named texts."""
        return {
            "rule": self.rule,
            "people": f"{float(self.table.sum()):,.6g}",
            "accuracy": f"{self.accuracy:.6g}",
            "gap": f"at most {self.gap:.2g} more accurate at these rates" if self.gap else "",
        }


def decide(
    q: Table,
    people: Table | None = None,
    *,
    response: str,
    protected: Attributes,
    rule: str = "fair",
    rate: Mapping[Any, float] | None = None,
    unseen: str = "raise",
) -> Decisions:
    """Return decisions for people, taken from the probabilities q(y | s, x) by a rule.

    Parity of probabilities does not imply parity of decisions: the most likely category thresholds the probabilities,
    and the share of people above the threshold differs between groups. Draws from the probabilities have parity on
    average. The fair rule gives each protected profile the same rates, and among all such rules it has the highest
    expected accuracy; it is deterministic except for at most (responses - 1) profiles in each group, which are drawn.

    Parameters
    ----------
    q
        A distribution over the response and the predictors, such as a projection.
    people
        Counts or probabilities of (s, x), with or without the response; those of q when None.
    response, protected
        The names of one attribute, and of one or more others.
    rule
        "likeliest" (of several, the first in category order), "draw" or "fair".
    rate
        For the fair rule: the share of each category, equal for all protected profiles; q(y) when None.
    unseen
        The treatment of people with profiles that q does not know, as in `predict`.

    Raises
    ------
    InvalidOptionError
        An unknown rule, rates that are not shares of sum 1, or incompatible attributes.
    UnknownAttributeError, UnknownCategoryError
        As `predict`; also a rate for a category that q does not have, or a missing rate.

    Notes
    -----
    notes/fair_decisions.md derives the fair rule. For two categories it is a threshold in each group (Hardt, Price and
    Srebro 2016); for several it solves the transport problem of Xian, Yin and Zhao (2023) at given rates.

    Examples
    --------
    >>> import purtensor as pt
    >>> q = pt.tabulate({"hired": ["no", "yes"] * 3, "sex": ["f", "f", "m", "m", "m", "m"],
    ...                  "degree": ["no", "no", "no", "no", "yes", "yes"]}, weights=[60, 40, 40, 10, 20, 30])
    >>> for rule in ("likeliest", "draw", "fair"):
    ...     found = pt.fairness.decide(q, response="hired", protected="sex", rule=rule)
    ...     hired = pt.marginal(found.table, ["hired", "sex"]).to_series()["yes"].to_dict()
    ...     print(rule, hired, round(found.accuracy, 3))
    likeliest {'m': 50.0} 0.65
    draw {'f': 40.0, 'm': 40.0} 0.56
    fair {'f': 40.0, 'm': 40.0} 0.6
    """
    check_choice("rule", rule, RULES)
    prediction = predict(q, q if people is None else people, response=response, unseen=unseen)
    roles = roles_of(prediction, response, protected)
    joint = ResponseTable.of(prediction, response, (*roles.protected, *roles.unprotected))
    masses, probabilities = joint.sizes, joint.rates
    count = len(roles.protected)
    group, _ = group_profiles(joint.profiles[:count], joint.domain.sizes[1 : count + 1])
    rates = marginal_rates(q, response) if rate is None else check_rates(rate, joint.domain, response)
    shares, gap = shares_by(rule, probabilities, masses, group, rates)
    table = _lay_out(prediction, joint, shares * masses[:, None])
    # notes/fair_decisions.md, equation 2
    return Decisions(rule, table, float(masses @ (shares * probabilities).sum(axis=1) / masses.sum()), gap)


def shares_by(
    rule: str, probabilities: FloatArray, masses: FloatArray, group: IntArray, rates: FloatArray
) -> tuple[FloatArray, float]:
    """Return d(y | profile) by a rule, shape (profiles, responses), and the largest gap to the best of its kind.

    Parameters
    ----------
    probabilities
        Shape (profiles, responses), rows of sum 1.
    masses, group
        Shape (profiles,): how many people have the profile, and the number of its protected profile.
    rates
        Shape (responses,): of the fair rule.
    """
    if rule == "draw":
        return probabilities, 0.0
    shares = np.zeros_like(probabilities)
    if rule == "likeliest":
        shares[np.arange(len(shares)), probabilities.argmax(axis=1)] = 1.0
        return shares, 0.0
    gaps = []
    for one in range(int(group.max()) + 1):
        rows = np.flatnonzero(group == one)
        # with the rates fixed (notes/fair_decisions.md, equation 3) every group is a problem of its own
        best = best_assignment(masses[rows], probabilities[rows], rates)
        shares[rows] = best.shares
        gaps.append(best.gap)
    # the accuracy is a mean over the groups: the largest gap bounds its gap
    return shares, max(gaps)


def marginal_rates(q: Table, response: str) -> FloatArray:
    """Return q(y) in category order, total 1, 0 for categories without mass."""
    coded = encode(q)
    (y,) = coded.columns((response,))
    rates = np.bincount(y, coded.values, coded.domain.select((response,)).size)
    return np.asarray(rates / rates.sum())


def check_rates(rate: Mapping[Any, float], domain: Domain, response: str) -> FloatArray:
    """Return rates in category order, checked.

    Raises
    ------
    InvalidOptionError
        No mapping, a rate that is not a share, or a sum that is not 1.
    UnknownCategoryError
        A category that is not known, or one without a rate.
    """
    if not isinstance(rate, Mapping):
        raise InvalidOptionError(f"rate must map each category to its share, such as {{'yes': 0.25}}; got {rate!r}")
    wrong = [value for value in rate.values() if not (is_number(value) and 0 <= value <= 1)]
    if wrong:
        raise InvalidOptionError(f"a rate must be a share between 0 and 1, got {wrong[0]!r}")
    categories = domain.select((response,)).categories[0]
    rates = np.full(len(categories), np.nan)
    for category, share in rate.items():
        rates[domain.code(response, category)] = share
    if np.isnan(rates).any():
        raise UnknownCategoryError(
            f"rate has no share for {response} {join_some(categories[np.isnan(rates)])}; give one per category"
        )
    if abs(rates.sum() - 1.0) > 1e-9:
        raise InvalidOptionError(f"the rates must sum to 1, got {rates.sum():g}")
    return np.asarray(rates / rates.sum())


def _lay_out(template: Table, joint: ResponseTable, masses: FloatArray) -> Table:
    """Return masses, shape (profiles, responses), as a table in the layout and the attribute order of another."""
    # a decision that nobody gets is no profile
    row, y = np.nonzero(masses)
    columns = dict(zip(joint.domain.attributes, (y, *(code[row] for code in joint.profiles)), strict=True))
    domain = domain_of(template)
    return like_sorted(template, domain, [columns[name] for name in domain.attributes], masses[row, y], name="decision")
