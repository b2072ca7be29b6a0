"""A reference that does not over-fit: how the response depends on its predictors, simplified as far as it predicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import is_count, is_number, items_of
from purtensor._printing import Shown
from purtensor._typing import Attributes, Table
from purtensor.constraints.marginals import marginals_of
from purtensor.errors import InfeasibleError, InvalidOptionError
from purtensor.fairness.predict import predict
from purtensor.fairness.pur import pur
from purtensor.fairness.rates import log_loss
from purtensor.fairness.roles import Roles, roles_of
from purtensor.projection.project import project
from purtensor.sampling.checks import whole_counts
from purtensor.sampling.draw import sample_without_replacement
from purtensor.tables.coded import domain_of, encode
from purtensor.tables.regularize import empirical, regularize, uniform

_TOLERANCE = 1e-8
"""Of the fits that are compared: the noise of the folds is far larger."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Smoothed(Shown):
    """A smoothed distribution and its selection; see `purtensor.fairness.smooth`.

    Attributes
    ----------
    table
        f(s, x) of the counts times the smoothed g(y | s, x): the f to project, and the one to take conditions from.
    order
        The number of predictors on which the response may depend jointly; None means all, as in the counts.
    strength
        The pseudo-count of each response and observed predictor profile.
    losses
        One row per candidate: `order`, `strength`, and over the folds the mean `log_loss` in nats of people that were
        left out, with its `standard_error`; infinite if the conditions of a fold exclude each other.
    """

    table: Table
    order: int | None
    strength: float
    losses: pd.DataFrame

    def summary(self) -> dict[str, str]:
        """Return the selection as named texts."""
        predictors = {None: "all predictors jointly", 1: "each predictor separately"}.get(
            self.order, f"at most {self.order} predictors jointly"
        )
        return {"the response depends on": predictors, "pseudo-count": f"{self.strength:.6g}"}

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the losses of the candidates."""
        return {"candidates": self.losses}


def smooth(
    counts: Table,
    *,
    response: str,
    protected: Attributes,
    conditions: str = "PUR",
    orders: Iterable[int | None] = (1, 2, None),
    strengths: Iterable[float] = (1e-4, 1e-2, 0.1, 0.3, 1.0),
    folds: int = 5,
    seed: int = 0,
) -> Smoothed:
    """Return a smoothed distribution whose projection predicts well for new people.

    With many predictor profiles there are few people in each, and the natural classifier over-fits. Candidates are
    log-linear models in which the response depends on predictors one by one (order 1), in pairs (order 2), and so on,
    or on all of them jointly (None), made from counts with pseudo-counts. Each candidate is fitted and projected on
    all folds but one and predicts the remaining fold; the candidate with the least log-loss is selected. The
    distribution of predictors f(s, x) is that of the counts, so that the predictions of the projection have exact
    parity for these people; only f(y | s, x) is smoothed, and with it the target f(y, x) of utility.

    Parameters
    ----------
    counts
        Counts of individuals.
    response, protected
        The names of one attribute, and of one or more others.
    conditions
        Letters of P, U and R: the conditions onto which the distribution will be projected, as in `pur`.
    orders, strengths
        The candidates: all pairs of an order and a strength.
    folds
        The number of folds of the cross-validation, at least 2.
    seed
        The seed of the random folds.

    Raises
    ------
    UnknownAttributeError
        The counts have no such attribute.
    InvalidOptionError
        Invalid orders, strengths, folds or seed, more folds than individuals, or attributes that do not fit.
    InvalidTableError
        The counts are not whole numbers.
    InfeasibleError
        The conditions exclude each other for every candidate.

    Examples
    --------
    >>> import purtensor as pt
    >>> edges, names = (25, 35, 45, 55, 65), ["income", "gender", "race", "age_group", "workclass9", "education16"]
    >>> counts = pt.datasets.adult(split="train", age_edges=edges, attributes=names)
    >>> roles = {"response": "income", "protected": ["gender", "race"]}
    >>> found = pt.fairness.smooth(counts, **roles, orders=(1, None), strengths=(1e-4, 0.1))
    >>> found.order, found.strength
    (1, 0.1)
    >>> fair = pt.project(found.table, pt.pur(found.table, **roles))
    """
    roles = roles_of(domain_of(counts), response, protected)
    candidates = _candidates(orders, strengths, len(roles.protected) + len(roles.unprotected))
    if not (is_count(folds) and folds >= 2):
        raise InvalidOptionError(f"folds must be an integer of at least 2, got {folds!r}")
    if not is_count(seed):
        raise InvalidOptionError(f"seed must be a non-negative integer, got {seed!r}")
    parts = _split_folds(counts, folds, seed)
    rows = []
    # the same folds for every candidate, so that their differences have less noise than their losses
    for order, strength in candidates:
        losses = [_loss(counts - part, part, roles, conditions, order, strength) for part in parts]
        # as if folds were independent; they share their learning sets, so that this is a rough guide
        error = float(np.std(losses, ddof=1) / np.sqrt(folds)) if np.isfinite(losses).all() else np.inf
        rows.append((order, strength, float(np.mean(losses)), error))
    scores = pd.DataFrame(rows, columns=["order", "strength", "log_loss", "standard_error"]).astype({"order": "Int64"})
    if not np.isfinite(scores["log_loss"]).any():
        raise InfeasibleError(
            f"the conditions {conditions} exclude each other for every candidate; use fewer conditions or a larger "
            "strength"
        )
    order, strength = candidates[int(scores["log_loss"].argmin())]
    return Smoothed(smooth_counts(counts, roles, order, strength), order, strength, scores)


def smooth_counts(counts: Table, roles: Roles, order: int | None, strength: float) -> Table:
    """Return f(s, x) of counts times g(y | s, x), the log-linear model of an order of the regularised counts."""
    # only observed predictor profiles get pseudo-counts, each for every response
    g = regularize(counts, strength, response=roles.response)
    predictors = (*roles.protected, *roles.unprotected)
    if order is not None and order < len(predictors):
        scopes = [predictors, *((roles.response, *some) for some in combinations(predictors, order))]
        # from the uniform start this is the log-linear model; with the joint of predictors only y is modelled
        g = project(uniform(g), marginals_of(g, scopes), tolerance=_TOLERANCE, certificate=False).table
    return predict(g, empirical(counts), response=roles.response)


def _loss(learned: Table, left_out: Table, roles: Roles, conditions: str, order: int | None, strength: float) -> float:
    """Return the log-loss, on people who were left out, of what was learned from the others; inf where infeasible."""
    f = smooth_counts(learned, roles, order, strength)
    constraints = pur(f, response=roles.response, protected=roles.protected, conditions=conditions)
    try:
        q = project(f, constraints, tolerance=_TOLERANCE, certificate=False).table
    except InfeasibleError:
        # never chosen, but listed among the candidates
        return float("inf")
    return log_loss(q, left_out, response=roles.response)


def _split_folds(counts: Table, folds: int, seed: int) -> list[Table]:
    """Return the individuals divided at random into parts of nearly the same size."""
    total = int(whole_counts(encode(counts)).sum())
    if total < folds:
        raise InvalidOptionError(f"{total} individuals cannot be divided into {folds} folds")
    rng = np.random.default_rng(seed)
    parts, left = [], counts
    for number in range(folds, 1, -1):
        # an equal share of those who are left: sizes differ by one at most
        part = sample_without_replacement(left, int(left.sum()) // number, seed=rng)
        parts.append(part)
        left = left - part
    return [*parts, left]


def _candidates(orders: Any, strengths: Any, predictors: int) -> list[tuple[int | None, float]]:
    tried, wanted = items_of(orders) or [], items_of(strengths) or []
    for order in tried:
        if order is not None and not (is_count(order) and 1 <= order <= predictors):
            raise InvalidOptionError(
                f"an order must be a number of predictors, 1 to {predictors}, or None, got {order!r}"
            )
    for strength in wanted:
        if not (is_number(strength) and 0 < strength < float("inf")):
            raise InvalidOptionError(f"a strength must be a positive number, got {strength!r}")
    if not tried or not wanted:
        raise InvalidOptionError("orders and strengths must each have at least one entry, got none")
    return [(order, float(strength)) for order in tried for strength in wanted]
