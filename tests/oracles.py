"""Slow, obvious answers to compare with: the standard library alone, exact fractions wherever they can be.

A table is a dict from profiles (tuples of labels) to masses, beside the tuple of its attributes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

DIGITS = 60


def all_profiles(categories):
    """Every profile of a domain given as one list of categories an attribute."""
    return list(product(*categories))


def masses_of(table):
    """The positive masses of a purtensor table of either layout, as fractions."""
    if table.dims == ("profile",):
        profiles = [tuple(label) for label in table.indexes["profile"]]
    else:
        profiles = all_profiles([list(table.indexes[name]) for name in table.dims])
    values = [Fraction(float(value)) for value in table.values.reshape(-1)]
    return {profile: value for profile, value in zip(profiles, values, strict=True) if value != 0}


def attributes_of(table):
    return tuple(table.indexes["profile"].names) if table.dims == ("profile",) else tuple(table.dims)


def total(masses):
    return sum(masses.values(), Fraction(0))


def normalised(masses):
    mass = Fraction(total(masses))
    return {profile: value / mass for profile, value in masses.items()}


def reordered(masses, attributes, wanted):
    """The same table with its attributes in another order."""
    at = [attributes.index(name) for name in wanted]
    return {tuple(profile[i] for i in at): value for profile, value in masses.items()}


def marginal(masses, attributes, scope):
    at = [attributes.index(name) for name in scope]
    sums = defaultdict(Fraction)
    for profile, value in masses.items():
        sums[tuple(profile[i] for i in at)] += value
    return dict(sums)


def scaled_to(masses, attributes, scope, target):
    """One half-step of iterative proportional fitting: the table scaled to one marginal."""
    now = marginal(masses, attributes, scope)
    at = [attributes.index(name) for name in scope]
    return {
        profile: value * target.get(tuple(profile[i] for i in at), 0) / now[tuple(profile[i] for i in at)]
        for profile, value in masses.items()
    }


def ipf_half_steps(masses, attributes, constraints, sweeps):
    """Every table on the way, the start first; constraints are pairs of scope and target."""
    steps = [masses]
    for _ in range(sweeps):
        for scope, target in constraints:
            steps.append(scaled_to(steps[-1], attributes, scope, target))
    return steps


def kl(p, q):
    """D(p || q) in nats of tables of total 1, in 60 digits; infinite where p has mass and q none."""
    if any(value > 0 and not q.get(profile) for profile, value in p.items()):
        return math.inf
    with localcontext() as context:
        context.prec = DIGITS
        terms = (as_decimal(value) * log_of(value / q[profile]) for profile, value in p.items() if value > 0)
        return float(sum(terms, Decimal(0)))


def entropy(p):
    with localcontext() as context:
        context.prec = DIGITS
        return float(-sum((as_decimal(value) * log_of(value) for value in p.values() if value > 0), Decimal(0)))


def total_variation(p, q):
    return sum(abs(p.get(profile, 0) - q.get(profile, 0)) for profile in {*p, *q}) / 2


def as_decimal(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


def log_of(value):
    """The natural logarithm of a fraction; near 1 by its series, so that nothing cancels."""
    excess = value - 1
    if abs(excess) > Fraction(1, 10**6):
        return as_decimal(value).ln()
    terms = (as_decimal(excess**k) * (-1) ** (k + 1) / k for k in range(1, 12))
    return sum(terms, Decimal(0))


def coefficients(profiles, attributes, scopes):
    """The 0-1 matrix of the constraints over these profiles, a list of rows."""
    matrix = []
    for scope in scopes:
        at = [attributes.index(name) for name in scope]
        of_profile = [tuple(profile[i] for i in at) for profile in profiles]
        matrix += [[int(own == row) for own in of_profile] for row in dict.fromkeys(of_profile)]
    return matrix


def rank(matrix):
    """The exact rank, by Gauss elimination in fractions."""
    rows = [[Fraction(entry) for entry in row] for row in matrix]
    found = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column] != 0), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] / rows[found][column]
            if factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def reweighed(masses, attributes, response, protected):
    """The reweighing of Kamiran and Calders (2012): each profile times f(y) f(s) / f(y, s)."""
    scope = (response, *protected)
    of_y, of_s = marginal(masses, attributes, (response,)), marginal(masses, attributes, protected)
    both, mass = marginal(masses, attributes, scope), total(masses)
    answer = {}
    for profile, value in masses.items():
        y, *s = (profile[attributes.index(name)] for name in scope)
        answer[profile] = value * of_y[(y,)] * of_s[tuple(s)] / mass / both[(y, *s)]
    return answer


def log_multiplicity(counts, q):
    """log of the multinomial probability of integer counts under q, by lgamma."""
    size = sum(counts.values())
    terms = [math.lgamma(size + 1)]
    for profile, count in counts.items():
        if count:
            terms += [-math.lgamma(count + 1), count * math.log(q[profile])]
    return math.fsum(terms)


def predicted(q, test, attributes, response):
    """q(y | s, x) test(s, x), and the predictor profiles of the test that q does not know."""
    predictors = tuple(name for name in attributes if name != response)
    of_q = marginal(q, attributes, predictors)
    at = [attributes.index(name) for name in predictors]
    answer = {}
    for profile, value in q.items():
        own = tuple(profile[i] for i in at)
        if own in test:
            answer[profile] = value / of_q[own] * test[own]
    return answer, {own for own in test if own not in of_q}


def conditionals(p, attributes, response, protected):
    """p(y | s) for every response and protected profile with mass, keyed (y, s...)."""
    both = marginal(p, attributes, (response, *protected))
    of_y, of_s = marginal(p, attributes, (response,)), marginal(p, attributes, protected)
    return {(y, *s): both.get((y, *s), Fraction(0)) / of_s[s] for (y,) in of_y for s in of_s}


def ipf_potentials(masses, attributes, constraints, sweeps):
    """Potentials after so many sweeps, one dict a constraint, and the table that they say, all in floats.

    The potentials are the state: the table is computed from the reference afresh before each half-step.
    """
    reference = [float(value) for value in masses.values()]
    places = [[attributes.index(name) for name in scope] for scope, _ in constraints]
    rows = [[tuple(profile[i] for i in at) for at in places] for profile in masses]
    potentials = [dict.fromkeys(target, 0.0) for _, target in constraints]

    def table():
        sums = (sum(t[row] for t, row in zip(potentials, own)) for own in rows)
        return [value * math.exp(exponent) for value, exponent in zip(reference, sums)]

    for _ in range(sweeps):
        for k, ((_, target), t) in enumerate(zip(constraints, potentials, strict=True)):
            now = defaultdict(float)
            for own, value in zip(rows, table()):
                now[own[k]] += value
            for row in t:
                t[row] += math.log(float(target[row]) / now[row])
    return potentials, dict(zip(masses, table()))


def independent_rows(matrix):
    """The positions of rows of which no row is a combination of the earlier ones."""
    reduced, kept = [], []
    for i, row in enumerate(matrix):
        left = [Fraction(entry) for entry in row]
        for pivot, other in reduced:
            if left[pivot]:
                factor = left[pivot] / other[pivot]
                left = [a - factor * b for a, b in zip(left, other, strict=True)]
        pivot = next((j for j, entry in enumerate(left) if entry), None)
        if pivot is not None:
            reduced.append((pivot, left))
            kept.append(i)
    return kept


def solved(matrix, right):
    """The solution of a positive definite system of decimals, by Gauss elimination without exchanges."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i, pivot in enumerate(rows):
        for other in rows[i + 1 :]:
            if factor := other[i] / pivot[i]:
                other[i:] = [a - factor * b for a, b in zip(other[i:], pivot[i:], strict=True)]
    answer = [Decimal(0)] * len(rows)
    for i in reversed(range(len(rows))):
        answer[i] = (rows[i][-1] - sum(rows[i][j] * answer[j] for j in range(i + 1, len(rows)))) / rows[i][i]
    return answer


def solved_by_any_pivots(matrix, right):
    """The x with matrix x = right, exact, the rows taken in whatever order has pivots; it must be regular."""
    rows, count = [[*map(Fraction, row), value] for row, value in zip(matrix, right, strict=True)], len(right)
    for i in range(count):
        at = next(n for n in range(i, count) if rows[n][i])
        rows[i], rows[at] = rows[at], rows[i]
        for n in range(count):
            if n != i and rows[n][i]:
                factor = rows[n][i] / rows[i][i]
                rows[n] = [own - factor * other for own, other in zip(rows[n], rows[i], strict=True)]
    return [rows[i][count] / rows[i][i] for i in range(count)]


def projection(reference, matrix, targets, digits=DIGITS):
    """The projection of positive masses onto C p = b with a positive solution, and potentials of it: decimals.

    A few sweeps of iterative proportional fitting bring the masses to their size; then Newton's method on the dual over
    independent rows, damped by halving until the dual grows.
    """
    with localcontext() as context:
        context.prec = digits + 30
        rows = [[j for j, entry in enumerate(row) if entry] for row in matrix]
        wanted = [as_decimal(Fraction(value)) for value in targets]
        start = [as_decimal(Fraction(mass)) for mass in reference]
        potentials = [Decimal(0)] * len(rows)
        for i in 3 * list(range(len(rows))):
            if rows[i]:
                potentials[i] += (wanted[i] / sum(_masses(start, rows, potentials)[j] for j in rows[i])).ln()
        kept = independent_rows(matrix)
        sets = [set(rows[i]) for i in kept]
        scale = max(wanted)
        while True:
            p = _masses(start, rows, potentials)
            missing = [wanted[i] - sum(p[j] for j in rows[i]) for i in kept]
            if all(abs(value) <= scale * Decimal(10) ** -digits for value in missing):
                return p, potentials
            hessian = [[sum((p[j] for j in rows[i] if j in other), Decimal(0)) for other in sets] for i in kept]
            step = dict(zip(kept, solved(hessian, missing), strict=True))
            potentials = _longer(start, rows, wanted, potentials, step)


def _masses(start, rows, potentials):
    sums = [Decimal(0)] * len(start)
    for own, value in zip(rows, potentials, strict=True):
        for j in own:
            sums[j] += value
    return [mass * exponent.exp() for mass, exponent in zip(start, sums, strict=True)]


def _longer(start, rows, wanted, potentials, step):
    """Potentials moved along a step, halved until the dual is no smaller than before, to rounding."""

    def dual(t):
        return sum(b * value for b, value in zip(wanted, t, strict=True)) - sum(_masses(start, rows, t))

    length = min(Decimal(1), 50 / max(map(abs, step.values())))
    before = dual(potentials)
    while True:
        moved = [t + length * step.get(i, 0) for i, t in enumerate(potentials)]
        if dual(moved) >= before - abs(before) * Decimal(10) ** -20:
            return moved
        length /= 2
