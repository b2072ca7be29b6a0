"""Problems whose exact answer is known, drawn from families that are hard on bounds: see `FAMILIES`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import numpy as np

import purtensor as pt
from purtensor.constraints.rank.independence import independent_rows
from purtensor.solving.problem import build_problem
from purtensor.tables.coded import domain_of
from tests import oracles
from tests.laws.test_ill_conditioned import bridge, doubling_chain
from tests.strategies import random_domain, random_scopes, table_from


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
        """The exact projection: to 40 digits where it is not the only table that meets the targets."""
        if self.unique:
            return self.feasible
        matrix, targets = rows_of(self)
        digits, _ = oracles.projection(list(map(Fraction, self.reference.values())), matrix, targets, digits=40)
        return {key: Fraction(mass) for key, mass in zip(self.reference, digits, strict=True)}


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


class Posed(NamedTuple):
    """A problem in tables, and its exact answer, in the units of the targets."""

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
        answer = oracles.masses_of(case.exact)
        reference = case.reference
        if random.random() < 0.5:
            reference = reference * np.exp(np.random.default_rng(seed).normal(size=reference.shape))
        return Posed("chain" if chain else "bridge", reference, case.constraints, answer)
    problem = drawn(seed)
    return Posed(problem.family, problem.table(problem.reference), problem.constraints, problem.answer())


def unique_problem(random, family, attributes, categories, scopes, profiles, masses):
    """A problem that one table alone meets, on as many of these profiles as have independent columns."""
    kept = independent_profiles(random, attributes, scopes, profiles)
    own = masses(kept)
    return Problem(family, attributes, categories, reference_of(random, own), own, scopes, unique=True)


def exact_one(draw: Callable[[Random], Problem]) -> Callable[[int], Posed]:
    """Draw until all targets are float64 numbers, so that nothing is rounded before it is solved."""

    def posed_by(seed: int) -> Posed:
        random = Random(seed)
        while True:
            problem = draw(random)
            if all_targets_are_floats(problem):
                reference = problem.table(problem.reference)
                return Posed(problem.family, reference, problem.constraints, problem.answer())

    return posed_by


def nearly_dependent(random):
    """An attribute, and a copy of it that differs in one rare category: half of the rows all but follow from others."""
    names = ("a", "copy", "b")
    size, others = random.randint(2, 4), random.randint(2, 4)
    labels = tuple(f"c{k}" for k in range(size))
    categories = (labels, labels, tuple(range(others)))
    same = [(label, label, b) for label in labels for b in range(others)]
    rare = [(labels[0], labels[1], b) for b in random.sample(range(others), random.randint(1, others))]
    power = random.randint(20, 50)

    def masses(kept):
        return {p: Fraction(1, 2**power) if p in rare else Fraction(random.randint(1, 7), 4) for p in kept}

    scopes = (("a", "b"), ("copy", "b"), *random.sample([("a", "copy"), ("a",), ("copy",)], random.randint(0, 2)))
    family = "nearly dependent"
    return unique_problem(
        random, family, names, categories, scopes, random.sample(same + rare, len(same + rare)), masses
    )


def by_one_ulp(random):
    """Targets that are feasible by an ulp or two: some profiles have 2^-52 beside others of about 1."""
    attributes, categories = random_domain(random, random.choice((2, 3, 3)))
    scopes = random_scopes(random, attributes)
    profiles = oracles.all_profiles(categories)

    def masses(kept):
        tiny = random.random() * 0.5
        return {p: Fraction(random.choice((1, 2)), 2**52) if random.random() < tiny else Fraction(1, 8) for p in kept}

    return unique_problem(random, "one ulp", attributes, categories, scopes, profiles, masses)


def pur(random):
    """Counts on PUR's three marginals, which many tables meet."""
    sizes = random.randint(2, 3), random.randint(2, 3), random.randint(2, 4)
    categories = tuple(tuple(range(size)) for size in sizes)
    profiles = oracles.all_profiles(categories)
    profiles = random.sample(profiles, random.randint(min(6, len(profiles)), min(18, len(profiles))))
    masses = {p: Fraction(random.choice((1, 2, 5, 40, 900))) for p in profiles}
    reference = {p: float(random.randint(1, 99)) for p in profiles}
    scopes = (("y", "s"), ("y", "x"), ("s", "x"))
    return Problem("PUR", ("y", "s", "x"), categories, reference, masses, scopes, unique=False)


def contradicting(seed: int) -> Posed:
    """Targets that contradict each other in their last digits: the answer is that of the independent rows."""
    random = Random(seed)
    while True:
        problem = drawn(random.randrange(10**9))
        if not problem.unique:
            continue
        constraints = []
        for constraint in problem.constraints:
            target = constraint.target.copy(deep=True)
            moved = np.where([random.random() < 0.5 for _ in range(target.size)], 2.0**-52, 0.0)
            constraints.append(pt.Marginal(target.copy(data=target.values * (1.0 + moved.reshape(target.shape)))))
        reference = problem.table(problem.reference)
        answer = met_by_independent_rows(reference, constraints)
        if answer is not None:
            return Posed("contradicting", reference, tuple(constraints), answer)


def met_by_independent_rows(reference, constraints):
    """The only table that meets the targets of independent rows; None where it has a negative mass."""
    labelled = build_problem(reference, constraints)
    problem, system = labelled.arrays, labelled.arrays.system
    kept = independent_rows(system, None if problem.slabs is None else problem.slabs.key).mask(system.rows)
    rows = np.flatnonzero(kept)
    if len(rows) != system.profiles or len(labelled.profiles) != reference.size:
        return None
    matrix = [[0] * len(rows) for _ in rows]
    place = {row: n for n, row in enumerate(rows.tolist())}
    for k, index in enumerate(system.index):
        for profile, row in enumerate(index.tolist()):
            at = place.get(row + int(system.offsets[k]))
            if at is not None:
                matrix[at][profile] = 1
    labels = list(oracles.masses_of(reference))
    # the arrays were scaled by a power of two
    targets = np.ldexp(problem.targets[rows], labelled.target_exponent).tolist()
    return only_table([labels[i] for i in labelled.profiles.tolist()], matrix, targets)


def met_by_named_rows(problem, named):
    """The only table that meets the targets of the rows that a result names.

    None where it has a negative mass, and of a result on a face, which names rows of the other profiles alone.
    """
    profiles, matrix, targets = list(oracles.masses_of(problem.reference)), [], []
    for constraint, rows in zip(problem.constraints, named, strict=True):
        at = [domain_of(problem.reference).position(name) for name in domain_of(rows).attributes]
        wanted = oracles.masses_of(constraint.target)
        for row in oracles.masses_of(rows.astype(float)):
            matrix.append([int(tuple(profile[i] for i in at) == row) for profile in profiles])
            targets.append(wanted[row])
    return only_table(profiles, matrix, targets) if len(matrix) == len(profiles) else None


def only_table(labels, matrix, targets):
    """The table that a regular system has; None where it has a negative mass."""
    masses = oracles.solved_by_any_pivots(matrix, [Fraction(target) for target in targets])
    return dict(zip(labels, masses, strict=True)) if min(masses) > 0 else None


FAMILIES: dict[str, Callable[[int], Posed]] = {
    "mixed": posed,
    "nearly dependent": exact_one(nearly_dependent),
    "one ulp": exact_one(by_one_ulp),
    "PUR": exact_one(pur),
    "contradicting": contradicting,
}
"""Ways to draw a problem from a seed; `mixed` are chains that double errors, bridges and random tables."""
