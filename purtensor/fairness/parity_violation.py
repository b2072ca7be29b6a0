"""How far a distribution is from parity, as one number, and what is nearest where parity cannot be had."""

from __future__ import annotations

import numpy as np

from purtensor._typing import Attributes, Table
from purtensor.constraints.marginals import Marginal
from purtensor.fairness.response_table import ResponseTable
from purtensor.fairness.roles import roles_of
from purtensor.projection.interruption import interrupting
from purtensor.projection.relax import relax
from purtensor.projection.relaxation import Relaxation
from purtensor.tables.exact_sum import exact_sum
from purtensor.tables.store.table import StoredTable

_STRENGTH_WITHOUT_END = 1e5
"""Nats a unit of violation: a price so high that no avoidable violation is left."""


def parity_violation(p: Table | StoredTable, *, response: str, protected: Attributes) -> float:
    """Return the sum of |p(y, s) - p(y) p(s)| over all y and s, of the table divided by its total: 0 means parity.

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute.
    InvalidOptionError
        Not one response, no protected attribute, or one that is both.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.fairness.parity_violation import parity_violation
    >>> p = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[3, 1, 2, 2])
    >>> parity_violation(p, response="hired", protected="sex")
    0.25
    """
    roles = roles_of(p, response, protected)
    masses = ResponseTable.of(p, roles.response, roles.protected).masses
    joint = masses / exact_sum(masses.reshape(-1))
    return exact_sum(np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).reshape(-1))


def least_violating(f: Table, conditions: tuple[Marginal, ...]) -> Relaxation:
    """Return the distribution nearest to f among those that miss the first condition, parity, by the least in L1."""
    with interrupting():
        return relax(f, conditions, soft=0, penalty="l1", strength=_STRENGTH_WITHOUT_END)
