"""How often each group gets each decision, and how often the decisions are right."""

from __future__ import annotations

import pandas as pd

from purtensor._typing import Attributes, Table
from purtensor.errors import UnknownAttributeError
from purtensor.fairness.predict import predict
from purtensor.tables.coded import domain_of
from purtensor.tables.marginal import marginal

FOUR_FIFTHS = 0.8
"""The rule of thumb of United States employment law: a ratio of rates below it is taken as adverse impact."""


def rates_by_group(table: Table, *, response: str, protected: Attributes) -> pd.DataFrame:
    """Return p(y | s): a row a protected profile, named as text, a column a response.

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
    """Return the share of the data's people whose response is the one decided: the mean, where it is drawn.

    Parameters
    ----------
    rule
        A table whose conditional d(y | s, x) is the rule; people of unknown (s, x) get its marginal rates.
    data
        Counts or probabilities over the same attributes.

    Raises
    ------
    UnknownAttributeError
        The data have no such response, or others than the rule.

    Examples
    --------
    >>> import purtensor as pt
    >>> data = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[3, 1, 2, 2])
    >>> accuracy(data, data, response="hired")  # draws: (9 + 1) / 4 and (4 + 4) / 4 of 8
    0.5625
    """
    if response not in (attributes := domain_of(data).attributes):
        raise UnknownAttributeError.among(response, attributes, "the data")
    decided = predict(rule, data, response=response, unseen="marginal")
    names = list(domain_of(decided).attributes)
    observed = marginal(data, names).to_series()
    people = observed.groupby([name for name in names if name != response]).transform("sum")
    right = marginal(decided, names).to_series().reindex(observed.index, fill_value=0.0)
    return float((right * (observed / people).fillna(0.0)).sum() / observed.sum())
