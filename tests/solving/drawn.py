"""Problems as arrays for the tests of the solving layer, and their answers by a slow, obvious method."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np

import purtensor as pt
from purtensor.solving.iterate import Budget, Iterate, iterate_at, starting_potentials
from purtensor.solving.problem import build_problem
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping
from purtensor.tables.coded import encode
from tests.constraints.exact import dense_matrix
from tests.strategies import random_case

KINDS = ("sparse", "full", "disconnected")

SOLVERS = {
    "IPF": pt.IPF(),
    "under-relaxed": pt.IPF(relaxation=0.7),
    "over-relaxed": pt.IPF(relaxation=1.5),
    "Anderson": pt.IPF(acceleration=5),
    "both": pt.IPF(relaxation=1.3, acceleration="anderson"),
    "GIS": pt.GIS(),
    "LBFGS": pt.LBFGS(),
    "Newton": pt.Newton(),
    "Newton at once": pt.Newton(warm_up=0),
}

PROBLEMS = {
    "PUR": "a",
    "PUR without regularisation": (
        "pur",
        {"responses": 3, "protected": 4, "unprotected": 20, "records": 5000, "strength": 0.0},
    ),
    "no freedom left": "haberman",
    "binary, all pairs": ("binary", {"attributes": 6}),
    "cube": ("cube", {"categories": 5}),
    "records": ("records", {"profiles": 400, "attributes": 6, "categories": 5}),
    "one large category": ("pur", {"responses": 2, "protected": 2, "unprotected": 3, "records": 10**6}),
}


@cache
def labelled_problem(name):
    """A problem of PROBLEMS: reference, constraints."""
    how = PROBLEMS[name]
    named = pt.problems.load(how) if isinstance(how, str) else pt.problems.generate(how[0], seed=1, **how[1])
    return named.reference, named.constraints


def labelled_from(source):
    """The labelled problem of anything with a reference and constraints, or of a name."""
    named = pt.problems.load(source) if isinstance(source, str) else source
    return build_problem(named.reference, named.constraints)


def arrays_of(source):
    return labelled_from(source).arrays


def labels_of(labelled):
    """The profiles as tuples of labels, in the order in which the solvers have them."""
    coded = encode(labelled.template)
    return [coded.label(int(row)) for row in labelled.profiles]


def single_sweeps(problem, solver, count):
    """The iterates after 1, ..., `count` iterations made one at a time, with copies of their masses."""
    iterate = iterate_at(problem, starting_potentials(problem))
    for _ in range(count):
        iterate = solver.step(problem, iterate, Budget(1, -1.0, -1.0)).iterate
        yield Iterate(iterate.potentials, iterate.masses.copy())


def random_arrays(seed, *, spread=0, kind=None):
    """A random problem with an interior answer; its reference varies over 10^spread."""
    random = Random(seed)
    kind = random.choice(KINDS) if kind is None else kind
    return arrays_of(random_case(random, count=random.randint(2, 5), kind=kind, spread=spread))


def solved(problem, solver, *, tolerance=1e-12, iterations=100_000, **options):
    return run(problem, solver, Stopping(tolerance, "residual", iterations, float("inf")), **options)


def coefficients(problem):
    """C as a dense array."""
    return dense_matrix(problem.system).astype(float)


def answer(problem):
    """The projection's masses by damped Newton on the whole dense matrix: least-norm steps by singular values."""
    matrix, targets = coefficients(problem), problem.targets
    masses = problem.reference * (problem.total / problem.reference.sum())
    best, smallest = masses, np.inf
    for _ in range(100):
        missed = targets - matrix @ masses
        if np.abs(missed).sum() < smallest:
            best, smallest = masses, np.abs(missed).sum()
        elif smallest < 1e-12:
            break
        scaled = matrix * np.sqrt(masses) / np.sqrt(targets)[:, None]
        z = np.linalg.lstsq(scaled, missed / np.sqrt(targets), rcond=1e-13)[0] / np.sqrt(masses)
        step = min(1.0, 20.0 / np.abs(z).max()) if z.any() else 1.0
        slope = masses @ (z * z)
        while step * slope - masses @ (np.expm1(step * z) - step * z) < 1e-4 * step * slope and step > 1e-12:
            step /= 2
        masses = masses * np.exp(step * z)
    return best


def variation(p, q):
    """Total variation of masses of the same total, which becomes 1."""
    return float(np.abs(p / p.sum() - q / q.sum()).sum()) / 2
