"""Which predictors stand in for the protected attributes: what parity costs with each of them, alone and together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from purtensor._options import is_count
from purtensor._typing import Attributes, Table
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InvalidOptionError
from purtensor.fairness.pur import pur
from purtensor.fairness.roles import Roles, roles_of
from purtensor.feasibility.verdict import Verdict
from purtensor.projection.deliver import interrupting, what_is_missing
from purtensor.projection.diagnose import diagnose
from purtensor.projection.project import project
from purtensor.projection.relax import relax
from purtensor.projection.relaxation import Relaxation
from purtensor.tables.marginal import marginal

_STRENGTH_WITHOUT_END = 1e5
"""Nats per unit of violation: a price so high that no avoidable violation is left."""

# those of 25 predictors
_MOST_PAIRS = 300
_DIGITS = 9


def proxies(f: Table, *, response: str, protected: Attributes, largest: int | None = None) -> pd.DataFrame:
    """Rank single predictors, pairs and larger sets by the cost of parity with them, the most expensive first.

    A predictor from which the protected attributes can be inferred (a proxy) makes parity expensive, or infeasible
    together with utility and realism. The cost is that of the PUR projection of f over the response, the protected
    attributes and the predictors of the set; the other predictors are summed out. Adding predictors never decreases
    the cost. After Ctrl-C the completed sets are returned.

    Parameters
    ----------
    f
        The data, in counts or probabilities; usually regularized, so that unobserved profiles are possible.
    response
        The name of one attribute.
    protected
        The names of one or more others; all the rest are predictors.
    largest
        The largest size of a set; no limit when None. Sets of three and more are built greedily: starting from the
        most expensive pair, the predictor that increases the cost most is added in each step.

    Returns
    -------
    pandas.DataFrame
        One row per set, the worst first: `predictors`, joined by " + "; `size`; `verdict`, whether the conditions can
        be met ("interior", "boundary", "infeasible", or "open" if undecided); `smallest_violation`, the least sum of
        |p(y, s) - f(y) f(s)|, for total mass 1, among all that keep utility and realism; `kl`, the
        divergence of the projection in nats, inf if infeasible. After Ctrl-C `attrs["interrupted"]` says so.

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute.
    InvalidOptionError
        Not one response, no protected attribute, one that is both, no predictor, or more than 25 for all pairs.
    KeyboardInterrupt
        After Ctrl-C, if no set was completed.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"hired": [0, 0, 0, 0, 1, 1, 1, 1], "sex": [0, 0, 1, 1, 0, 0, 1, 1],
    ...                       "height": [0, 0, 1, 1, 0, 0, 1, 1], "degree": [0, 1, 0, 1, 0, 1, 0, 1]},
    ...                      weights=[30, 20, 15, 15, 5, 15, 10, 40])
    >>> found = pt.proxies(pt.regularize(counts, 0.5, response="hired"), response="hired", protected="sex")
    >>> found[["predictors", "verdict"]].values.tolist()
    [['height', 'infeasible'], ['height + degree', 'infeasible'], ['degree', 'interior']]
    """
    roles = roles_of(f, response, protected)
    most = len(roles.unprotected) if largest is None else largest
    _check(roles.unprotected, most)
    found: list[ParityCost] = []
    cut: dict[str, str] = {}
    try:
        found.extend(_costs_of_sets(f, roles, most))
    except KeyboardInterrupt:
        if not found:
            raise
        cut = what_is_missing([f"sets after {' + '.join(found[-1].names)}"])
    found.sort(key=lambda cost: cost.rank)
    rows = [(" + ".join(c.names), len(c.names), str(c.verdict), c.smallest_violation, c.kl) for c in found]
    frame = pd.DataFrame(rows, columns=["predictors", "size", "verdict", "smallest_violation", "kl"])
    frame.attrs.update(cut)
    return frame


def _costs_of_sets(f: Table, roles: Roles, most: int) -> Iterator[ParityCost]:
    """Yield each predictor, each pair, and ever larger sets up to `most`, each the worst that one more makes."""
    for name in roles.unprotected:
        yield cost_of_parity(f, roles, (name,))
    pairs = []
    # pairs are complete, larger sets greedy: adding a predictor never decreases the cost
    for pair in itertools.combinations(roles.unprotected, 2) if most > 1 else ():
        pairs.append(cost_of_parity(f, roles, pair))
        yield pairs[-1]
    worst = min(pairs, key=lambda cost: cost.rank, default=None)
    while worst is not None and len(worst.names) < min(most, len(roles.unprotected)):
        worst = min(
            (
                cost_of_parity(f, roles, tuple(name for name in roles.unprotected if name in (added, *worst.names)))
                for added in roles.unprotected
                if added not in worst.names
            ),
            key=lambda cost: cost.rank,
        )
        yield worst


def _check(predictors: tuple[str, ...], most: int) -> None:
    if not predictors:
        raise InvalidOptionError("there is no predictor: every attribute is the response or protected")
    if not (is_count(most) and most >= 1):
        raise InvalidOptionError(f"largest must be a number of predictors, 1 or more, got {most!r}")
    pairs = math.comb(len(predictors), 2)
    if most > 1 and pairs > _MOST_PAIRS:
        raise InvalidOptionError(
            f"{len(predictors)} predictors make {pairs} pairs, more than {_MOST_PAIRS}: use largest=1, then the "
            "marginal over the relevant predictors"
        )


@dataclass(frozen=True, slots=True)
class ParityCost:
    """The cost of parity with one set of predictors.

    Attributes
    ----------
    names
        The predictors.
    verdict
        Whether parity, utility and realism can be met together.
    smallest_violation
        The least sum of |p(y, s) - f(y) f(s)| that keeps utility and realism, total mass 1.
    kl
        The divergence of the projection in nats; inf where no distribution meets the conditions.
    """

    names: tuple[str, ...]
    verdict: Verdict
    smallest_violation: float
    kl: float

    @property
    def rank(self) -> tuple[float, float, int]:
        """What sorts the worst first; among equals, to rounding, the smaller set."""
        # rounded, so that the solver's last digits do not decide between equals
        return -round(self.smallest_violation, _DIGITS), -round(self.kl, _DIGITS), len(self.names)


def cost_of_parity(f: Table, roles: Roles, names: tuple[str, ...]) -> ParityCost:
    """Return the cost of parity with these predictors, the others summed out."""
    # the conditions are those of the smaller table: utility and realism concern its predictors alone
    part = marginal(f, [roles.response, *roles.protected, *names])
    conditions = pur(part, response=roles.response, protected=roles.protected)
    diagnosis = diagnose(part, conditions)
    if diagnosis.verdict is not Verdict.INFEASIBLE:
        with interrupting():
            return ParityCost(names, diagnosis.verdict, 0.0, project(part, conditions, certificate=False).divergence)
    # with two responses the smallest violation is known exactly, by a maximum flow
    is_binary = int(np.count_nonzero(marginal(part, roles.response).values)) == 2
    cut = diagnosis.smallest_violation() if is_binary else None
    violation = least_violating(part, conditions).misses_l1[0] if cut is None else cut.value
    return ParityCost(names, diagnosis.verdict, violation, math.inf)


def least_violating(f: Table, conditions: tuple[Marginal, ...]) -> Relaxation:
    """Return the distribution nearest to f among those that miss the first condition, parity, by the least in L1."""
    with interrupting():
        return relax(f, conditions, soft=0, penalty="l1", strength=_STRENGTH_WITHOUT_END)
