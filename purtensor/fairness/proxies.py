"""Which predictors stand in for the protected attributes: what parity costs with each of them, alone and together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from purtensor._options import is_count
from purtensor._typing import Attributes, Table
from purtensor.errors import InvalidOptionError
from purtensor.fairness.parity_violation import least_violating
from purtensor.fairness.pur import pur
from purtensor.fairness.roles import Roles, roles_of
from purtensor.feasibility.verdict import Verdict
from purtensor.projection.diagnose import diagnose
from purtensor.projection.interruption import interrupting, what_is_missing
from purtensor.projection.project import project
from purtensor.tables.coded import encode
from purtensor.tables.marginal import marginal

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
    roles = roles_of(encode(f).domain, response, protected)
    predictors = roles.unprotected
    most = len(predictors) if largest is None else largest
    _check(predictors, most)
    rows: list[_Costs] = []
    cut: dict[str, str] = {}
    try:
        for costs in _sets(f, roles, most):
            costs.verdict  # noqa: B018 - worked out here, where Ctrl-C leaves what was done
            rows.append(costs)
    except KeyboardInterrupt:
        if not rows:
            raise
        cut = what_is_missing([f"sets after {rows[-1].predictors}"])
    rows.sort(key=lambda costs: costs.rank)
    columns = ("predictors", "size", "verdict", "smallest_violation", "kl")
    found = pd.DataFrame([[getattr(costs, name) for name in columns] for costs in rows], columns=list(columns))
    found.attrs.update(cut)
    return found


def _sets(f: Table, roles: Roles, most: int) -> Iterator[_Costs]:
    """Yield each predictor, each pair, and ever larger sets up to `most` predictors."""
    yield from (_Costs(f, roles, (one,)) for one in roles.unprotected)
    if most > 1:
        pairs = [_Costs(f, roles, pair) for pair in itertools.combinations(roles.unprotected, 2)]
        yield from pairs
        if pairs:
            yield from _grown(f, roles, pairs, most)


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


@dataclass(frozen=True, eq=False)
class _Costs:
    """What parity costs with one set of predictors; worked out on request."""

    f: Table
    roles: Roles
    names: tuple[str, ...]

    @property
    def predictors(self) -> str:
        return " + ".join(self.names)

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def verdict(self) -> str:
        return self._found[0]

    @property
    def smallest_violation(self) -> float:
        return self._found[1]

    @property
    def kl(self) -> float:
        return self._found[2]

    @property
    def rank(self) -> tuple[float, float, int]:
        """What sorts the worst first; among equals, to rounding, the smaller set."""
        return -round(self.smallest_violation, _DIGITS), -round(self.kl, _DIGITS), self.size

    @cached_property
    def _found(self) -> tuple[str, float, float]:
        part = marginal(self.f, [self.roles.response, *self.roles.protected, *self.names])
        conditions = pur(part, response=self.roles.response, protected=list(self.roles.protected))
        diagnosis = diagnose(part, conditions)
        verdict = str(diagnosis.verdict)
        if diagnosis.verdict is not Verdict.INFEASIBLE:
            with interrupting():
                return verdict, 0.0, project(part, conditions, certificate=False).divergence
        cut = diagnosis.smallest_violation() if _is_binary(part, self.roles.response) else None
        return verdict, least_violating(part, conditions).misses_l1[0] if cut is None else cut.value, math.inf


def _is_binary(f: Table, response: str) -> bool:
    """Return whether there are two responses: then the smallest violation is had exactly, by a maximum flow."""
    return int(np.count_nonzero(marginal(f, response).values)) == 2


def _grown(f: Table, roles: Roles, pairs: Iterable[_Costs], most: int) -> Iterator[_Costs]:
    """Yield ever larger sets up to `most` predictors, each the worst that one more makes of the last."""
    worst = min(pairs, key=lambda costs: costs.rank)
    while worst.size < min(most, len(roles.unprotected)):
        more = [
            _Costs(f, roles, tuple(name for name in roles.unprotected if name == added or name in worst.names))
            for added in roles.unprotected
            if added not in worst.names
        ]
        worst = min(more, key=lambda costs: costs.rank)
        yield worst
