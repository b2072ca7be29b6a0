"""Draws problems whose exact answer is known, and holds every bound against it: counts by family.

Run as `python -m tests.laws.fuzz_bounds --seconds 600 --seed 1`; `tests/laws/test_fuzz_bounds.py` takes a few in daily
runs and many under the thorough profile.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import numpy as np

import purtensor as pt
from tests import oracles
from tests.laws.test_ill_conditioned import bridge, doubling_chain
from tests.solving.drawn import SOLVERS
from tests.strategies import random_domain, random_scopes, table_from

TOLERANCES = (1e-13, 1e-10, 1e-10, 1e-7, 1e-4, 1e-2, 1e-1)
ROUNDING = Fraction(2, 10**16)
"""Distances of tables of total 1 are told as float64 numbers: bounds below this are not held against them."""


@dataclass(frozen=True)
class Problem:
    """A reference, scopes, and masses whose exact marginals are the targets; `unique` if nothing else meets them."""

    family: str
    attributes: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]
    reference: dict[tuple[Any, ...], float]
    feasible: dict[tuple[Any, ...], Fraction]
    scopes: tuple[tuple[str, ...], ...]
    unique: bool

    def table(self, masses, scope=None):
        names = scope or self.attributes
        categories = tuple(self.categories[self.attributes.index(name)] for name in names)
        return table_from(names, categories, masses)

    @property
    def constraints(self):
        marginals = ((scope, oracles.marginal(self.feasible, self.attributes, scope)) for scope in self.scopes)
        return tuple(pt.Marginal(self.table(target, scope)) for scope, target in marginals)

    def answer(self) -> dict[tuple[Any, ...], Fraction] | None:
        """The exact projection, of total 1: to 40 digits where it is not the only table that meets the targets."""
        if self.unique:
            return oracles.normalised(self.feasible)
        matrix, targets = rows_of(self)
        digits, _ = oracles.projection(list(map(Fraction, self.reference.values())), matrix, targets, digits=40)
        return oracles.normalised({key: Fraction(mass) for key, mass in zip(self.reference, digits, strict=True)})


def rows_of(problem):
    matrix, targets = [], []
    for scope in problem.scopes:
        at = [problem.attributes.index(name) for name in scope]
        labels = [tuple(profile[i] for i in at) for profile in problem.reference]
        for row, value in oracles.marginal(problem.feasible, problem.attributes, scope).items():
            matrix.append([int(own == row) for own in labels])
            targets.append(value)
    return matrix, targets


def all_targets_are_floats(problem):
    """Return whether all targets and masses are float64 numbers: then nothing is rounded before it is solved."""
    values = [*problem.feasible.values(), *rows_of(problem)[1]]
    return all(Fraction(float(value)) == value for value in values)


def independent_profiles(random, attributes, scopes, profiles):
    """Profiles of independent columns: targets on them are met by one table alone."""
    reduced, kept = [], []
    for profile in random.sample(profiles, len(profiles)):
        column = {}
        for scope in scopes:
            column[scope, tuple(profile[attributes.index(name)] for name in scope)] = Fraction(1)
        for pivot, other in reduced:
            if factor := column.get(pivot):
                for row, value in other.items():
                    column[row] = column.get(row, 0) - factor * value
                column = {row: value for row, value in column.items() if value}
        if column:
            pivot = next(iter(column))
            reduced.append((pivot, {row: value / column[pivot] for row, value in column.items()}))
            kept.append(profile)
    return kept


def masses_of(random, profiles):
    """Exact masses: whole numbers, or numbers over many powers of two whose sums are floats all the same."""
    style = random.choice(("whole", "small", "powers", "powers", "bridge"))
    if style == "whole":
        return {profile: Fraction(random.randint(512, 1024)) for profile in profiles}
    if style == "small":
        return {profile: Fraction(random.choice((1, 1, 2, 3, 1000))) for profile in profiles}
    reach = random.choice((20, 35, 45, 50)) if style == "powers" else 50
    light = random.random() * 0.5
    return {
        profile: Fraction(1, 2 ** random.randint(reach // 2, reach))
        if random.random() < light
        else Fraction(random.randint(1, 7), 4)
        for profile in profiles
    }


def reference_of(random, masses):
    style = random.choice(("near", "far", "far", "decades", "tiny", "same"))
    if style == "same":
        return {profile: float(mass) for profile, mass in masses.items()}
    if style == "decades":
        return {profile: float(mass) * 10.0 ** -random.uniform(0, 24) for profile, mass in masses.items()}
    if style == "tiny":
        shares = {profile: 10.0 ** -random.choice((0, 0, 150, 300)) for profile in masses}
        return {profile: max(5e-324, float(mass) * shares[profile]) for profile, mass in masses.items()}
    size = 1e-7 if style == "near" else random.choice((0.1, 1.0, 4.0))
    return {profile: float(mass) * math.exp(size * random.gauss(0, 1)) for profile, mass in masses.items()}


def drawn(seed: int) -> Problem:
    """The problem of a seed."""
    random = Random(seed)
    while True:
        unique = random.random() < 0.9
        attributes, categories = random_domain(random, random.choice((2, 3, 3, 4)))
        scopes = random_scopes(random, attributes)
        profiles = oracles.all_profiles(categories)
        if unique:
            profiles = independent_profiles(random, attributes, scopes, profiles)
        else:
            profiles = random.sample(profiles, min(len(profiles), random.randint(4, 14)))
        # 40 digits of an answer take long where masses vary much
        masses = masses_of(random, profiles) if unique else {p: Fraction(random.randint(1, 999)) for p in profiles}
        reference = reference_of(random, masses) if unique else {p: float(random.randint(1, 99)) for p in profiles}
        family = f"{'unique' if unique else 'general'}, {len(scopes)} constraints"
        problem = Problem(family, attributes, categories, reference, masses, scopes, unique)
        if all_targets_are_floats(problem):
            return problem


@dataclass
class Counts:
    """What was tried and found, by family and kind of bound; `worst` is the largest truth / bound of the false."""

    tried: Counter[str] = field(default_factory=Counter)
    unproved: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    worst: float = 0.0
    seeds: list[int] = field(default_factory=list)

    def hold(self, kind: str, seed: int, truth: float, bound: float, rounding: float) -> None:
        """Hold a bound against the truth."""
        self.tried[kind] += 1
        self.unproved[kind] += not bound < (1.0 if "tv" in kind else math.inf)
        if truth > bound * (1 + 1e-9) + rounding:
            self.false[kind] += 1
            self.worst = max(self.worst, truth / bound if bound else math.inf)
            self.seeds.append(seed)

    def __str__(self) -> str:
        lines = [
            f"{kind}: {self.false[kind]} false of {n}, {self.unproved[kind]} prove nothing"
            for kind, n in sorted(self.tried.items())
        ]
        return "\n".join([*lines, f"worst factor {self.worst:.3g}, seeds {self.seeds[:20]}"])


class Posed(NamedTuple):
    """A problem in tables, and its exact answer."""

    family: str
    reference: Any
    constraints: Sequence[pt.Marginal]
    answer: dict[tuple[Any, ...], Fraction]


def posed(seed: int) -> Posed:
    """The problem of a seed: a chain that doubles errors, parts that next to nothing ties together, or a random one."""
    random = Random(seed)
    kind = random.random()
    if kind < 0.15:
        chain = kind < 0.08
        case = doubling_chain(random.randint(2, 28), seed) if chain else bridge(random.randint(10, 49), seed)
        answer = oracles.normalised({k: Fraction(v) for k, v in oracles.masses_of(case.exact).items()})
        reference = case.reference
        if random.random() < 0.5:
            reference = reference * np.exp(np.random.default_rng(seed).normal(size=reference.shape))
        return Posed("chain" if chain else "bridge", reference, case.constraints, answer)
    problem = drawn(seed)
    return Posed(problem.family, problem.table(problem.reference), problem.constraints, problem.answer())


def attack(seed: int, counts: Counts, project: Callable[..., Any] = pt.project) -> None:
    """Solve the problem of a seed, somehow, and hold what is proved against its exact answer."""
    family, reference, constraints, answer = posed(seed)
    random = Random(seed + 1)
    name = random.choice(list(SOLVERS))
    result = project(
        reference,
        constraints,
        solver=SOLVERS[name],
        on_failure="return",
        tolerance=random.choice(TOLERANCES),
        max_iterations=random.choice((0, 1, 3, 10, 100, 1000)),
    )
    if result.table is None:
        return
    table = oracles.normalised(oracles.masses_of(result.table))
    distance = float(oracles.total_variation(answer, table))
    divergence = oracles.kl(answer, table)
    kinds = [(family, result), ("verify", pt.verify(result))]
    if random.random() < 0.1 and len(table) < 50:
        kinds.append(("verify, exact", pt.verify(result, exact=True)))
    for kind, proof in kinds:
        counts.hold(f"{kind}: tv_bound", seed, distance, proof.tv_bound, float(ROUNDING))
        counts.hold(f"{kind}: bound", seed, divergence, proof.bound, 1e-30)


def main() -> None:
    """Draw for so many seconds, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, end, seed = Counts(), time.monotonic() + asked.seconds, asked.seed * 10**7
    while time.monotonic() < end:
        attack(seed, counts)
        seed += 1
    print(f"{seed - asked.seed * 10**7} problems\n{counts}")  # noqa: T201


if __name__ == "__main__":
    main()
