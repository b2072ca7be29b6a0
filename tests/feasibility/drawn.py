"""Small problems whose verdict is known: by construction, or to be asked of the oracle. The standard library decides.

Every problem is stated twice: as purtensor's tables, and as the exact numbers that these were made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import purtensor as pt
from tests import oracles
from tests.strategies import random_domain, random_scopes, random_support, table_from

KINDS = ("interior", "boundary", "infeasible", "pur")
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
    decade: int | None = None

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
    """A problem of the kind: "interior", "boundary", "infeasible", "counts" (any targets) or "pur"."""
    return draw_pur(random) if kind == "pur" else draw_built(random, kind)


def draw_built(random, kind):
    while True:
        attributes, categories = random_domain(random, random.randint(1, 4))
        profiles = random_support(random, categories, random.choice(("sparse", "full", "disconnected")))[:24]
        scopes = random_scopes(random, attributes)
        built = _built_masses(random, kind, attributes, profiles, scopes)
        if built is not None:
            break
    masses, zeros, decade = built
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
        decade=decade,
    )


def _built_masses(random, kind, attributes, profiles, scopes):
    """Masses whose marginals are the targets; in an infeasible problem some are negative and cross a cut."""
    if kind == "interior":
        return {profile: random.randint(1, 99) for profile in profiles}, frozenset(), None
    costs = _cut(random, attributes, profiles, scopes)
    face = [profile for profile in profiles if costs[profile] == 0]
    beyond = [profile for profile in profiles if costs[profile] > 0]
    if not beyond:
        return None
    masses = {profile: random.randint(1, 99) for profile in face}
    if kind == "boundary":
        return masses, beyond, None
    decade = random.randint(1, 9)
    total = sum(masses.values())
    scale = max(1, 10**decade // total)
    masses = {profile: value * scale + random.randint(0, 9) for profile, value in masses.items()}
    for profile in random.sample(beyond, random.randint(1, min(2, len(beyond)))):
        masses[profile] = -random.randint(1, 2)
    if any(value < 0 for scope in scopes for value in oracles.marginal(masses, attributes, scope).values()):
        return None
    return masses, frozenset(), decade


def _cut(random, attributes, profiles, scopes):
    """C^T t of a random small t, shifted so that its least value is 0."""
    costs = dict.fromkeys(profiles, 0)
    for scope in scopes:
        at = [attributes.index(name) for name in scope]
        weights = {}
        for profile in profiles:
            row = tuple(profile[i] for i in at)
            costs[profile] += weights.setdefault(row, random.choice((0, 0, 0, 1, -1, 1, -1, 2)))
    least = min(costs.values())
    return {profile: cost - least for profile, cost in costs.items()}


def draw_pur(random):
    """Counts with few categories, regularised weakly or not at all, and their PUR."""
    sizes = [random.randint(2, 4), random.randint(2, 4), random.randint(1, 4)]
    attributes = ("y", "s", "x")
    categories = tuple(tuple(range(size)) for size in sizes)
    predictors = [(s, x) for s in categories[1] for x in categories[2] if random.random() < 0.7]
    counts = {(y, s, x): random.randint(0, 4) ** random.choice((1, 1, 3)) for y in categories[0] for s, x in predictors}
    counts = {profile: value for profile, value in counts.items() if value}
    if len(counts) < 2:
        return draw_pur(random)
    strength = random.choice(STRENGTHS)
    conditions = random.choice(("PUR", "PUR", "PU", "RUP"))
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
