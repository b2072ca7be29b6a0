"""How often each group gets each decision, and how often the decisions are right."""

from __future__ import annotations

import numpy as np
import pandas as pd

from purtensor._typing import Attributes, FloatArray, Table
from purtensor.errors import UnknownAttributeError
from purtensor.fairness.predict import predict
from purtensor.tables.coded import domain_of
from purtensor.tables.marginal import marginal

FOUR_FIFTHS = 0.8
"""The rule of thumb of United States employment law: a ratio of rates below it is taken as adverse impact."""


def rates_by_group(table: Table, *, response: str, protected: Attributes) -> pd.DataFrame:
    """Return p(y | s): a row per protected profile, named as text, a column per response.

    Parameters
    ----------
    table
        Counts or probabilities over the response, the protected attributes, and any others.
    response, protected
        The names of one attribute, and of one or more others.

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute.

    Examples
    --------
    >>> import purtensor as pt
    >>> p = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[3, 1, 2, 2])
    >>> rates_by_group(p, response="hired", protected="sex").to_dict("index")
    {'f': {'no': 0.75, 'yes': 0.25}, 'm': {'no': 0.5, 'yes': 0.5}}
    """
    names = [protected] if isinstance(protected, str) else list(protected)
    joint = marginal(table, [response, *names]).to_series().unstack(response, fill_value=0)
    groups = [", ".join(map(str, label if isinstance(label, tuple) else (label,))) for label in joint.index.tolist()]
    rates = joint.div(joint.sum(axis=1), axis=0)
    return rates.set_axis(pd.Index(groups, name=", ".join(names)))


def smallest_ratios(rates: pd.DataFrame) -> pd.Series:
    """Return for each response the smallest rate of a group over the largest: 1 is parity, 0 if a group never gets it.

    Examples
    --------
    >>> smallest_ratios(pd.DataFrame({"no": [0.75, 0.5], "yes": [0.25, 0.5]})).round(3).to_dict()
    {'no': 0.667, 'yes': 0.5}
    """
    return rates.min() / rates.max()


def accuracy(rule: Table, data: Table, *, response: str) -> float:
    """Return the expected share of people in the data whose response equals the decision.

    Parameters
    ----------
    rule
        A table whose conditional d(y | s, x) is the rule; for unknown (s, x) its marginal rates are used.
    data
        Counts or probabilities over the same attributes.

    Raises
    ------
    UnknownAttributeError
        The data do not have the attributes of the rule.

    Examples
    --------
    >>> import purtensor as pt
    >>> data = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[3, 1, 2, 2])
    >>> accuracy(data, data, response="hired")  # draws: (9 + 1) / 4 and (4 + 4) / 4 of 8
    0.5625
    """
    chances, counted = _chances(rule, data, response)
    return float(chances @ counted / counted.sum())


def log_loss(q: Table, data: Table, *, response: str) -> float:
    """Return the mean of -log q(y | s, x) over the people in the data, in nats.

    Parameters and errors as in `accuracy`, with q in place of the rule. It is infinite if q gives the observed
    response of a person the probability 0.

    Examples
    --------
    >>> import purtensor as pt
    >>> q = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[3, 1, 2, 2])
    >>> round(log_loss(q, q, response="hired"), 4)  # (3 log 4/3 + log 4 + 4 log 2) / 8
    0.6277
    """
    chances, counted = _chances(q, data, response)
    # a probability of 0 is an infinite loss, not a fault
    with np.errstate(divide="ignore"):
        return float(-(counted @ np.log(chances)) / counted.sum())


def _chances(rule: Table, data: Table, response: str) -> tuple[FloatArray, FloatArray]:
    """Return q(y | s, x) of each profile that the data have people in, and how many these are."""
    if response not in (attributes := domain_of(data).attributes):
        raise UnknownAttributeError.among(response, attributes, "the data")
    # people whose profile the rule does not know get its overall rates
    rule_on_data = predict(rule, data, response=response, unseen="marginal")
    names = list(domain_of(rule_on_data).attributes)
    counted = marginal(data, names).to_series()
    # the prediction has as many people per profile as the data: dividing by them leaves the conditional
    people = counted.groupby([name for name in names if name != response], observed=True).transform("sum")
    chosen = (counted > 0).to_numpy()
    right = marginal(rule_on_data, names).to_series().reindex(counted.index[chosen], fill_value=0.0)
    return np.asarray(right / people[chosen]), np.asarray(counted[chosen])
