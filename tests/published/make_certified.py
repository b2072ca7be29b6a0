"""Write certified.json: small problems with 25 correct digits, or with an exact proof that there is no solution.

Run from the root of the project, with python-flint installed: python -m tests.published.make_certified. Zeros and
verdicts are from the exact simplex method of tests/feasibility/oracle.py, masses from Newton's method in 90 digits
(tests/oracles.py). Ball arithmetic then encloses the misses of the masses that the potentials say; a table of the
family that misses no target by more than 1e-55 of the total has at least the digits that are written.
"""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from random import Random

from flint import arb, ctx, fmpq

from tests import oracles
from tests.feasibility.oracle import decide
from tests.strategies import random_scopes

WRITTEN = 25
PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))


def counts(sizes, values):
    """A table over attributes a, b, c, ... with categories 0, 1, 2, ... in the usual order; zeros are left out."""
    names = "abcdef"[: len(sizes)]
    profiles = oracles.all_profiles([range(size) for size in sizes])
    return tuple(names), {profile: value for profile, value in zip(profiles, values, strict=True) if value}


def drawn(seed, sizes, most, *, zeros=0.0):
    random = Random(seed)
    cells = [0 if random.random() < zeros else random.randint(1, most) for _ in oracles.all_profiles(map(range, sizes))]
    return counts(sizes, cells)[1]


def ones(sizes):
    return dict.fromkeys(oracles.all_profiles([range(size) for size in sizes]), 1)


def fitted(name, difficulty, sizes, scopes, reference, targets):
    return {
        "name": name,
        "difficulty": difficulty,
        "attributes": list("abcdef"[: len(sizes)]),
        "sizes": sizes,
        "scopes": scopes,
        "reference": reference,
        "targets_of": targets,
    }


def stated():
    """The problems: a reference and the table whose marginals are the targets, all of whole numbers."""
    cube, two = [2, 2, 2], (("a",), ("b",))
    gate = {(0, 0, 0): 1, (0, 1, 0): 1, (1, 0, 0): 1, (1, 1, 1): 1}
    yield fitted("independence", "lower", [2, 2], two, ones([2, 2]), {(0, 0): 3, (0, 1): 1, (1, 0): 2, (1, 1): 4})
    yield fitted("biproportional", "lower", [2, 3], two, drawn(1, [2, 3], 9), drawn(2, [2, 3], 9))
    for seed in range(6):
        yield fitted(f"no three-way effect {seed}", "lower", cube, PAIRS, ones(cube), drawn(seed, cube, 30))
    for seed, sizes in enumerate(([3, 3, 3], [2, 3, 4], [4, 4], [5, 6], [2, 2, 2, 2])):
        scopes = random_scopes(Random(seed + 5), tuple("abcdef"[: len(sizes)]))
        yield fitted(f"any scopes {seed}", "lower", sizes, scopes, drawn(seed, sizes, 50), drawn(seed + 9, sizes, 50))
    parity = (("a", "b"), ("a", "c"), ("b", "c"))
    for seed in range(3):
        both = drawn(seed, [2, 2, 4], 40)
        yield fitted(f"conditions of PUR {seed}", "lower", [2, 2, 4], parity, drawn(seed + 3, [2, 2, 4], 40), both)
    for seed in range(4):
        sparse = drawn(seed, [3, 3, 3], 60, zeros=0.3)
        other = {profile: Random(seed).randint(1, 60) + i % 7 for i, profile in enumerate(sparse)}
        yield fitted(f"sparse {seed}", "average", [3, 3, 3], PAIRS, sparse, other)
    for power in (3, 6, 9):
        steep = {p: v * 10 ** (power * (i % 3) // 2) for i, (p, v) in enumerate(drawn(power, [3, 4], 9).items())}
        difficulty = "upper" if power == 9 else "average"
        yield fitted(f"steep reference {power}", difficulty, [3, 4], two, steep, drawn(power + 1, [3, 4], 9))
    near = {**dict.fromkeys(gate, 10**6), (0, 0, 1): 1, (0, 1, 1): 2, (1, 0, 1): 3, (1, 1, 0): 4}
    yield fitted("near the AND gate", "upper", cube, PAIRS, ones(cube), near)
    yield fitted("rare cells", "upper", [3, 3], two, ones([3, 3]), {(0, 0): 10**12, (1, 1): 1, (2, 2): 1, (0, 1): 1})
    yield fitted("AND gate", "boundary", cube, PAIRS, ones(cube), gate)
    yield fitted("staircase", "boundary", [2, 2], two, {(0, 0): 1, (0, 1): 1, (1, 0): 1}, {(0, 1): 1, (1, 0): 1})
    corners = {profile: 1 for profile in ones(cube) if profile not in ((0, 0, 0), (1, 1, 1))}
    yield fitted("two corners empty", "boundary", cube, PAIRS, ones(cube), corners)
    three = {(0, 0): 1, (0, 1): 1, (0, 2): 1, (1, 2): 1, (2, 2): 1}
    yield fitted("cut", "infeasible", [3, 3], two, three, {(0, 0): 1, (1, 1): 1, (2, 2): 1})
    proxy = {(0, 0, 0): 3, (1, 0, 0): 2, (0, 1, 1): 1, (1, 1, 1): 4}
    wanted = {(0, 0, 0): 3, (1, 0, 1): 2, (0, 1, 0): 1, (1, 1, 1): 4}
    yield fitted("proxy", "infeasible", cube, PAIRS, proxy, wanted)


def rows_of(problem):
    """The rows of every scope as labels, the coefficients over the reference's profiles, and the targets."""
    labels, matrix, targets = [], [], []
    for k, scope in enumerate(problem["scopes"]):
        at = [problem["attributes"].index(name) for name in scope]
        target = oracles.marginal(problem["targets_of"], problem["attributes"], scope)
        own = [tuple(profile[i] for i in at) for profile in problem["reference"]]
        for row in dict.fromkeys([*own, *target]):
            labels.append([k, list(row)])
            matrix.append([int(label == row) for label in own])
            targets.append(Fraction(target.get(row, 0)))
    return labels, matrix, targets


def written(number):
    with localcontext() as context:
        context.prec = WRITTEN
        return str(+number)


def check_in_balls(reference, matrix, targets, potentials):
    """Enclose the misses of reference * exp(C^T t) and see that they are below 1e-55 of the total."""
    ctx.dps = 80
    exponents = [
        sum((arb(str(t)) for t, row in zip(potentials, matrix) if row[j]), arb(0)) for j in range(len(reference))
    ]
    masses = [arb(fmpq(int(mass))) * exponent.exp() for mass, exponent in zip(reference, exponents, strict=True)]
    for row, target in zip(matrix, targets, strict=True):
        miss = sum((mass for mass, entry in zip(masses, row) if entry), arb(0)) - arb(fmpq(int(target)))
        assert abs(miss) < arb(str(int(sum(targets)))) * arb("1e-55")


def conditioning(masses, matrix, targets):
    """For each cell how much its relative error can be of the relative errors of the targets."""
    kept = oracles.independent_rows(matrix)
    rows = [[j for j, entry in enumerate(matrix[i]) if entry] for i in kept]
    hessian = [[sum((masses[j] for j in own if j in other), Decimal(0)) for other in rows] for own in rows]
    units = [oracles.solved(hessian, [Decimal(int(i == k)) for i in range(len(kept))]) for k in range(len(kept))]
    sums = [Decimal(0)] * len(masses)
    for unit, i in zip(units, kept, strict=True):
        for j in range(len(masses)):
            moved = sum((value for value, own in zip(unit, rows, strict=True) if j in own), Decimal(0))
            sums[j] += abs(moved) * oracles.as_decimal(targets[i])
    return sums


def solved(problem):
    labels, matrix, targets = rows_of(problem)
    answer = decide(matrix, targets)
    profiles = list(problem["reference"])
    left = [j for j in range(len(profiles)) if j not in answer.zeros]
    facts = {
        "verdict": answer.verdict,
        "rank": oracles.rank([[row[j] for j in left] for row in matrix]),
        "implied_zeros": [list(profiles[j]) for j in sorted(answer.zeros)],
    }
    if answer.ray is not None:
        return facts | {"ray": [[*label, str(value)] for label, value in zip(labels, answer.ray, strict=True)]}
    rows = [[row[j] for j in left] for row in matrix]
    kept = [i for i, row in enumerate(rows) if any(row)]
    reference = [problem["reference"][profiles[j]] for j in left]
    system = [rows[i] for i in kept], [targets[i] for i in kept]
    masses, potentials = oracles.projection(reference, *system, digits=60)
    check_in_balls(reference, *system, potentials)
    q = oracles.normalised({j: Fraction(mass) for j, mass in zip(left, masses, strict=True)})
    q0 = oracles.normalised({j: Fraction(mass) for j, mass in enumerate(problem["reference"].values())})
    with localcontext() as context:
        context.prec = 80
        terms = [oracles.as_decimal(q[j]) * oracles.log_of(q[j] / q0[j]) for j in left]
        kl = sum(terms, Decimal(0))
        conditions = conditioning(masses, *system)
    return facts | {
        "kl": written(kl),
        "cells": [[*profiles[j], written(mass), float(c)] for j, mass, c in zip(left, masses, conditions, strict=True)],
        "potentials": [[*labels[i], written(t)] for i, t in zip(kept, potentials, strict=True)],
    }


def main():
    problems = []
    for problem in stated():
        facts = solved(problem)
        problem["reference"] = [[*profile, value] for profile, value in problem["reference"].items()]
        problem["targets_of"] = [[*profile, value] for profile, value in problem["targets_of"].items()]
        problems.append(problem | facts)
    lines = ",\n".join(json.dumps(problem) for problem in problems)
    (Path(__file__).parent / "certified.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
