"""Which columns make parity, utility and realism contradict each other, and what to leave out or merge."""

from __future__ import annotations

import math
from dataclasses import dataclass

from purtensor._typing import Attributes, Table
from purtensor.fairness.proxies import ParityCost, cost_of_parity, proxies
from purtensor.fairness.roles import Roles, roles_of
from purtensor.feasibility.verdict import Verdict
from purtensor.tables.coded import encode
from purtensor.tables.domain import join_some
from purtensor.tables.marginal import marginal

_MOST_LEFT_OUT = 3
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Advice:
    """Why nothing is fair, utile and real at once, and what helps.

    Attributes
    ----------
    culprits
        The columns with each of which alone the conditions contradict each other, the worst first.
    violations
        The least sum of |p(y, s) - f(y) f(s)| with each of them alone.
    revealing
        Of each culprit, its categories that occur with one protected group alone.
    left_out
        The columns without which the conditions can be met; empty where leaving out a few does not help.
    kept
        The predictors that stay.
    divergence
        The nats that parity costs then; nan where nothing was found.
    """

    culprits: tuple[str, ...]
    violations: tuple[float, ...]
    revealing: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...]
    kept: tuple[str, ...]
    divergence: float

    @property
    def sentences(self) -> tuple[str, ...]:
        """The advice in words: the reason first, then what to do."""
        lines = [
            f"{name!r} reveals the protected attributes: with it alone the conditions contradict each other, and "
            f"parity is missed by at least {violation:.3g}{_describe_merging(categories)}"
            for name, violation, categories in zip(self.culprits, self.violations, self.revealing, strict=True)
        ][:_SHOWN]
        if len(self.culprits) > _SHOWN:
            lines.append(f"{len(self.culprits) - _SHOWN} more columns do so too")
        if not self.culprits:
            lines.append("no single column makes the conditions contradict each other, but several together do")
        names = " and ".join(map(repr, self.left_out))
        if self.left_out:
            lines.append(
                f"without {names} they can be met, at {self.divergence:.4g} nats: remove {names}, or merge categories"
            )
        else:
            lines.append(f"removing {_MOST_LEFT_OUT} more columns does not help: merge categories, or relax parity")
        return tuple(lines)


def advise(f: Table, *, response: str, protected: Attributes) -> Advice:
    """Return what makes parity, utility and realism impossible on the profiles of f, and what to leave out.

    Each predictor is judged alone; all that are impossible alone are left out, then, while that is not enough, the one
    without which parity is missed least.

    Raises
    ------
    UnknownAttributeError, InvalidOptionError
        As `purtensor.pur`.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.fairness.advice import advise
    >>> counts = pt.tabulate({"hired": [0, 0, 0, 0, 1, 1, 1, 1], "sex": [0, 0, 1, 1, 0, 0, 1, 1],
    ...                       "height": [0, 0, 1, 1, 0, 0, 1, 1], "degree": [0, 1, 0, 1, 0, 1, 0, 1]},
    ...                      weights=[30, 20, 15, 15, 5, 15, 10, 40])
    >>> found = advise(pt.regularize(counts, 0.5, response="hired"), response="hired", protected="sex")
    >>> found.culprits, found.left_out, round(found.divergence, 4)
    (('height',), ('height',), 0.0652)
    """
    roles = roles_of(f, response, protected)
    # judged alone, for a set is infeasible as soon as one of its predictors is
    alone = proxies(f, response=response, protected=protected, largest=1)
    impossible = alone[alone["verdict"] == str(Verdict.INFEASIBLE)]
    culprits = tuple(impossible["predictors"])
    best = _leave_out(f, roles, culprits)
    kept = roles.unprotected if best is None else best.names
    return Advice(
        culprits,
        tuple(impossible["smallest_violation"]),
        tuple(_find_revealing(f, roles, name) for name in culprits),
        tuple(dict.fromkeys(name for name in (*culprits, *roles.unprotected) if name not in kept)),
        kept,
        math.nan if best is None else best.kl,
    )


def _leave_out(f: Table, roles: Roles, culprits: tuple[str, ...]) -> ParityCost | None:
    """Return the cost of parity with the predictors that stay, all culprits left out; None where a few do not help."""
    kept = tuple(name for name in roles.unprotected if name not in culprits)
    cost = cost_of_parity(f, roles, kept) if culprits else None
    # greedy: the predictor without which parity is missed least, until the conditions can be met
    for _ in range(_MOST_LEFT_OUT):
        if not kept or (cost is not None and cost.kl < math.inf):
            break
        fewer = [tuple(name for name in kept if name != out) for out in kept]
        cost = min((cost_of_parity(f, roles, names) for names in fewer), key=lambda one: one.smallest_violation)
        kept = cost.names
    return cost if cost is not None and cost.kl < math.inf else None


def _find_revealing(f: Table, roles: Roles, name: str) -> tuple[str, ...]:
    """Return the categories of a predictor that occur with one protected group alone."""
    coded = encode(marginal(f, [*roles.protected, name]))
    groups: dict[object, set[object]] = {}
    for row in range(len(coded.values)):
        *group, category = coded.label(row)
        groups.setdefault(category, set()).add(tuple(group))
    return tuple(str(category) for category, seen in groups.items() if len(seen) == 1)


def _describe_merging(categories: tuple[str, ...]) -> str:
    if not categories:
        return ""
    verb = "occurs" if len(categories) == 1 else "occur"
    return f"; its {join_some(categories, 4)} {verb} with one group alone: merge with others"
