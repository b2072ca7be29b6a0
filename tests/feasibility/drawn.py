"""Small problems whose verdict is known: by construction, or to be asked of the oracle. The standard library decides.

Every problem is stated twice: as purtensor's tables, and as the exact numbers that these were made of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import purtensor as pt
from tests import oracles
from tests.strategies import random_domain, random_scopes, random_support, table_from

KINDS = ("interior", "boundary", "infeasible", "pur", "edge")
STRENGTHS = (0.0, 0.0, 1e-9, 1e-4, 1e-4, 1e-2, 1.0)


@dataclass(frozen=True)
class Drawn:
    """A problem with exact targets (one dict a scope) and, where construction tells it, the verdict and the zeros."""

    kind: str
    attributes: tuple[str, ...]
    reference: Any
    constraints: tuple[Any, ...]
    profiles: tuple[tuple[Any, ...], ...]
    scopes: tuple[tuple[str, ...], ...]
    targets: tuple[dict[tuple[Any, ...], Fraction], ...]
    verdict: str | None = None
    zeros: frozenset[tuple[Any, ...]] | None = None
    margin: Fraction | None = None
    """Of an infeasible problem: the mass on the wrong side of a cut, as a share of all."""

    @property
    def decade(self):
        """The power of ten of the margin: 3 where it lies in [1e-3, 1e-2)."""
        return None if self.margin is None else next(d for d in range(30) if self.margin * 10**d >= 1)

    def rows(self):
        """The coefficient matrix over the profiles, and the exact targets, row by row."""
        matrix, values = [], []
        for scope, target in zip(self.scopes, self.targets):
            at = [self.attributes.index(name) for name in scope]
            own = [tuple(profile[i] for i in at) for profile in self.profiles]
            for row in dict.fromkeys([*own, *target]):
                matrix.append([int(label == row) for label in own])
                values.append(Fraction(target.get(row, 0)))
        return matrix, values


def draw(random, kind):
    """A problem of one of the KINDS: three by construction; PUR of counts, and PUR that can be met just so."""
    return {"pur": draw_pur, "edge": draw_edge}.get(kind, lambda random: draw_built(random, kind))(random)


def draw_built(random, kind):
    decade = random.randint(1, 9)
    while True:
        attributes, categories = random_domain(random, random.randint(1, 4))
        profiles = random_support(random, categories, random.choice(("sparse", "full", "disconnected")))[:24]
        scopes = random_scopes(random, attributes)
        costs = _cut(random, attributes, profiles, scopes)
        profiles = list(costs)
        built = _built_masses(random, kind, attributes, costs, scopes, decade)
        if built is not None:
            break
    masses, zeros, margin = built
    masses = {profile: Fraction(value) for profile, value in masses.items() if value}
    total = sum(masses.values())
    divisor = random.choice((1, 1, total)) if total < 2**50 else total
    exact = [oracles.marginal(masses, attributes, scope) for scope in scopes]
    exact = [{row: value / divisor for row, value in target.items() if value} for target in exact]
    layout = random.choice(("sparse", "dense"))
    of = [tuple(categories[attributes.index(name)] for name in scope) for scope in scopes]
    reference = {profile: 10.0 ** random.uniform(-random.choice((0, 0, 3, 12)), 0) for profile in profiles}
    return Drawn(
        kind=kind,
        attributes=attributes,
        reference=table_from(attributes, categories, reference, layout),
        constraints=tuple(pt.Marginal(table_from(s, c, t, layout)) for s, c, t in zip(scopes, of, exact)),
        profiles=tuple(profiles),
        scopes=scopes,
        targets=tuple(exact),
        verdict=kind,
        zeros=frozenset(zeros),
        margin=margin,
    )


def _built_masses(random, kind, attributes, costs, scopes, decade):
    """Masses whose marginals are the targets; in an infeasible problem some are negative and cross a cut."""
    amount = random.choice((_few, _few, _wide, _real))
    if not costs:
        return None
    if kind == "interior":
        return {profile: amount(random) for profile in costs}, frozenset(), None
    face = [profile for profile in costs if costs[profile] == 0]
    beyond = [profile for profile in costs if costs[profile] > 0]
    if not face or not beyond:
        return None
    masses = {profile: amount(random) for profile in face}
    if kind == "boundary":
        return masses, beyond, None
    total = sum(masses.values())
    scale = 10**decade // int(total) + 1 if total > 1 else 1
    masses = {profile: value * scale for profile, value in masses.items()}
    wrong = total * scale * Fraction(random.randint(10, 40), 10 ** (decade + 1))
    wrong = Fraction(float(wrong)) if amount is _real else max(1, int(wrong))
    some = random.sample(beyond, random.randint(1, min(2, len(beyond))))
    masses |= dict.fromkeys(some, -wrong)
    if any(value < 0 for scope in scopes for value in oracles.marginal(masses, attributes, scope).values()):
        return None
    return masses, frozenset(), Fraction(wrong * len(some)) / sum(masses.values())


def _few(random):
    return random.randint(1, 99)


def _wide(random):
    return random.randint(1, 9) * 10 ** random.randint(0, 9)


def _real(random):
    """Targets that are no multiples of anything: floats, known to rounding."""
    return Fraction(random.uniform(0.01, 1))


def _cut(random, attributes, profiles, scopes):
    """C^T t of a random small t where it is not negative: shifted, or on the profiles where it is so already.

    Shifted, the face mostly leaves whole rows without mass; else the zeros hide, no target of 0 tells them.
    """
    costs = dict.fromkeys(profiles, 0)
    for scope in scopes:
        at = [attributes.index(name) for name in scope]
        weights = {}
        for profile in profiles:
            row = tuple(profile[i] for i in at)
            costs[profile] += weights.setdefault(row, random.choice((0, 0, 0, 1, -1, 1, -1, 2)))
    if random.random() < 0.25:
        least = min(costs.values())
        return {profile: cost - least for profile, cost in costs.items()}
    return {profile: cost for profile, cost in costs.items() if cost >= 0}


def draw_pur(random):
    """Counts with few categories, regularised weakly or not at all, and their PUR."""
    sizes = [random.randint(2, 4), random.randint(2, 4), random.randint(1, 4)]
    categories = tuple(tuple(range(size)) for size in sizes)
    predictors = [(s, x) for s in categories[1] for x in categories[2] if random.random() < 0.7]
    counts = {(y, s, x): random.randint(0, 4) ** random.choice((1, 1, 3)) for y in categories[0] for s, x in predictors}
    counts = {profile: value for profile, value in counts.items() if value}
    if len(counts) < 2:
        return draw_pur(random)
    return _pur_of(random, counts, categories, random.choice(STRENGTHS), random.choice(("PUR", "PUR", "PU", "RUP")))


def draw_edge(random):
    """PUR of two responses and two protected profiles that can be met just so: one of Frechet's bounds is an equality.

    Realism holds the mass of each (s, x), utility that of each (y, x), so at each x the pair (1, 1) has between
    max(0, f(1, x) + f(s=1, x) - f(x)) and min(f(1, x), f(s=1, x)); parity wants f(1) f(s=1) of all of them.
    """
    while True:
        count = random.randint(1, 4)
        kind = [random.randint(0, 1) for _ in range(count)]
        counts = {
            (y, s, x): 1 + random.choice((0, 2, 3, 4, 8, 9)) * (s == y == kind[x])
            for y in (0, 1)
            for s in (0, 1)
            for x in range(count)
        }
        of_y, of_s = (oracles.marginal(counts, ("y", "s", "x"), (name, "x")) for name in "ys")
        of_x = oracles.marginal(counts, ("y", "s", "x"), ("x",))
        wanted = sum(of_y[1, x] for x in range(count)) * sum(of_s[1, x] for x in range(count)) / sum(of_x.values())
        least = sum(max(0, of_y[1, x] + of_s[1, x] - of_x[x,]) for x in range(count))
        most = sum(min(of_y[1, x], of_s[1, x]) for x in range(count))
        if wanted in (least, most):
            problem = _pur_of(random, counts, ((0, 1), (0, 1), tuple(range(count))), 0.0, random.choice(("PUR", "RUP")))
            return replace(problem, kind="edge", verdict="boundary")


def _pur_of(random, counts, categories, strength, conditions):
    attributes = ("y", "s", "x")
    table = table_from(attributes, categories, counts, random.choice(("sparse", "dense")))
    f = pt.regularize(table, strength, response="y") if strength else random.choice((table, pt.empirical(table)))
    observed = dict.fromkeys((s, x) for _, s, x in counts)
    used = dict.fromkeys(profile[0] for profile in counts) if strength else ()
    exact = {(y, s, x): Fraction(0) for y in sorted(used) for s, x in observed}
    exact |= {profile: Fraction(value) for profile, value in counts.items()}
    share = Fraction(repr(strength))
    exact = {profile: value + share for profile, value in exact.items()}
    targets = {"P": _parity(exact), "U": oracles.marginal(exact, attributes, ("y", "x"))}
    targets["R"] = oracles.marginal(exact, attributes, ("s", "x"))
    scopes = {"P": ("y", "s"), "U": ("y", "x"), "R": ("s", "x")}
    return Drawn(
        kind="pur",
        attributes=attributes,
        reference=f,
        constraints=pt.pur(f, response="y", protected="s", conditions=conditions),
        profiles=tuple(exact),
        scopes=tuple(scopes[letter] for letter in conditions),
        targets=tuple(targets[letter] for letter in conditions),
    )


def _parity(exact):
    of_y = oracles.marginal(exact, ("y", "s", "x"), ("y",))
    of_s = oracles.marginal(exact, ("y", "s", "x"), ("s",))
    total = sum(exact.values())
    return {(*y, *s): fy * fs / total for y, fy in of_y.items() for s, fs in of_s.items()}


def drawn(seed, kind):
    """The problem of a seed."""
    return draw(Random(seed), kind)
