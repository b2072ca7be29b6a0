"""Which columns make parity, utility and realism contradict each other, and what to leave out or merge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from purtensor._typing import Attributes, Table
from purtensor.constraints.marginals import Marginal
from purtensor.fairness.proxies import proxies
from purtensor.fairness.pur import pur
from purtensor.fairness.roles import Roles, roles_of
from purtensor.feasibility.verdict import Verdict
from purtensor.projection.diagnose import diagnose
from purtensor.projection.project import project
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
    telling
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
    telling: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...]
    kept: tuple[str, ...]
    divergence: float

    @property
    def sentences(self) -> tuple[str, ...]:
        """The advice in words: the reason first, then what to do."""
        told = [
            f"{name!r} reveals the protected attributes: with it alone the conditions contradict each other, and "
            f"parity is missed by at least {violation:.3g}{_merging(categories)}"
            for name, violation, categories in zip(self.culprits, self.violations, self.telling, strict=True)
        ][:_SHOWN]
        if len(self.culprits) > _SHOWN:
            told.append(f"{len(self.culprits) - _SHOWN} more columns do so too")
        if not self.culprits:
            told.append("no single column makes the conditions contradict each other, but several together do")
        names = " and ".join(map(repr, self.left_out))
        if self.left_out:
            told.append(
                f"without {names} they can be met, at {self.divergence:.4g} nats: remove {names}, or merge categories"
            )
        else:
            told.append(f"removing {_MOST_LEFT_OUT} more columns does not help: merge categories, or relax parity")
        return tuple(told)


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
    roles = roles_of(encode(f).domain, response, protected)
    alone = proxies(f, response=response, protected=protected, largest=1)
    impossible = alone[alone["verdict"] == str(Verdict.INFEASIBLE)]
    culprits = tuple(impossible["predictors"])
    left_out, kept = _left_out(f, roles, culprits)
    divergence = math.nan
    if left_out:
        part, conditions = _without(f, roles, left_out)
        divergence = project(part, conditions, certificate=False).divergence
    return Advice(
        culprits,
        tuple(impossible["smallest_violation"]),
        tuple(_telling(f, roles, name) for name in culprits),
        left_out,
        kept,
        divergence,
    )


def _left_out(f: Table, roles: Roles, culprits: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the predictors without which the conditions can be met, and the others; none where a few do not help."""
    out = list(culprits)
    for _ in range(_MOST_LEFT_OUT + 1):
        kept = [name for name in roles.unprotected if name not in out]
        if out and _violation(f, roles, out) == 0.0:
            return tuple(out), tuple(kept)
        if not kept:
            break
        out.append(min(kept, key=lambda name: _violation(f, roles, [*out, name])))
    return (), roles.unprotected


def _violation(f: Table, roles: Roles, out: Sequence[str]) -> float:
    """Return the smallest violation of parity without these predictors; 0 where the conditions can be met."""
    found = diagnose(*_without(f, roles, out))
    if found.verdict is not Verdict.INFEASIBLE:
        return 0.0
    least = found.smallest_violation()
    return 1.0 if least is None else float(least.value)


def _without(f: Table, roles: Roles, out: Sequence[str]) -> tuple[Table, tuple[Marginal, ...]]:
    kept = [name for name in roles.unprotected if name not in out]
    part = marginal(f, [roles.response, *roles.protected, *kept])
    return part, pur(part, response=roles.response, protected=list(roles.protected))


def _telling(f: Table, roles: Roles, name: str) -> tuple[str, ...]:
    """Return the categories of a predictor that occur with one protected group alone."""
    coded = encode(marginal(f, [*roles.protected, name]))
    groups: dict[object, set[object]] = {}
    for row in range(len(coded.values)):
        *group, category = coded.label(row)
        groups.setdefault(category, set()).add(tuple(group))
    return tuple(str(category) for category, seen in groups.items() if len(seen) == 1)


def _merging(categories: Sequence[str]) -> str:
    if not categories:
        return ""
    verb = "occurs" if len(categories) == 1 else "occur"
    return f"; its {join_some(categories, 4)} {verb} with one group alone: merge with others"
