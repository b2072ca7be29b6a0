"""Dense families: binary attributes with all pairs, cubes, and those of fields that scale tables."""

from __future__ import annotations

import itertools
from functools import reduce

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.problems.named import NamedProblem, marginal_targets, number_domain, require_room

_CLASSES = 6
_MOST_ATTRIBUTES = 64

# of a cell, while a problem is made
_BYTES = 40


def binary_problem(name: str, rng: np.random.Generator, *, attributes: int) -> NamedProblem:
    """Return the uniform reference over {0, 1}^attributes and all two-way marginals of a positive mixture.

    Raises
    ------
    InvalidOptionError
        One attribute, which has no two-way marginal, or more than an array has axes.
    TooLargeError
        More profiles than there is memory for.
    """
    if not 2 <= attributes <= _MOST_ATTRIBUTES:
        raise InvalidOptionError(
            f"two-way marginals of a dense table need 2 to {_MOST_ATTRIBUTES} attributes, got {attributes}"
        )
    require_room(24 << int(attributes), f"a problem of {attributes} binary attributes")
    mixture = _mixture(rng, attributes)
    scopes = list(itertools.combinations(range(attributes), 2))
    return NamedProblem(
        name=name,
        kind="dense",
        description=f"uniform on 2^{attributes} with all {len(scopes)} two-way marginals of a mixture",
        domain=number_domain([f"x{i + 1}" for i in range(attributes)], mixture.shape),
        masses=np.full(mixture.shape, 1.0 / mixture.size),
        targets=marginal_targets(mixture, scopes),
    )


def _mixture(rng: np.random.Generator, attributes: int) -> FloatArray:
    # latent classes make attributes depend on each other, as in surveys
    weights = rng.dirichlet(np.full(_CLASSES, 3.0))
    chances = rng.beta(1.5, 1.5, (_CLASSES, attributes)) * 0.9 + 0.05
    mixture = np.zeros((2,) * attributes)
    for weight, chance in zip(weights, chances, strict=True):
        product = np.array([1.0])
        for one in chance:
            product = np.multiply.outer(product, [1 - one, one]).reshape(-1)
        mixture += weight * product.reshape(mixture.shape)
    mixture /= mixture.sum()
    return mixture


def cube_problem(name: str, rng: np.random.Generator, *, categories: int) -> NamedProblem:
    """Return a random positive cube and the two-way marginals of another one with strong two-way effects.

    Raises
    ------
    TooLargeError
        More profiles than there is memory for.
    """
    require_room(24 * int(categories) ** 3, f"a problem of {categories}^3 profiles")
    shape = (categories,) * 3
    masses = rng.gamma(1.0, 1.0, shape) + 1e-3
    masses /= masses.sum()
    goal = rng.gamma(0.5, 1.0, shape) + 1e-3
    effects = [rng.standard_normal((categories, categories)) for _ in range(3)]
    for axis, effect in zip((2, 1, 0), effects, strict=True):
        goal *= np.expand_dims(np.exp(0.7 * effect), axis)
    goal /= goal.sum()
    return NamedProblem(
        name=name,
        kind="dense",
        description=f"{categories}^3 profiles with all three two-way marginals",
        domain=number_domain(("x1", "x2", "x3"), shape),
        masses=masses,
        targets=marginal_targets(goal, [(0, 1), (0, 2), (1, 2)]),
    )


def transport_problem(
    name: str, rng: np.random.Generator, *, points: int, regularization: float = 0.05
) -> NamedProblem:
    """Return entropic transport between two clouds of points in the unit square, of random weights.

    The reference is exp(-squared distance / regularization): small ones are slow, as a transport plan is nearly sparse.
    """
    _require_room(points**2)
    if not regularization > 0.0:
        raise InvalidOptionError(f"regularization must be positive, got {regularization!r}")
    here, there = rng.random((points, 2)), 0.5 * rng.random((points, 2)) ** 2
    cost = ((here[:, None] - there[None]) ** 2).sum(axis=2)
    masses = np.exp(-(cost - cost.min()) / regularization)
    # a mass of 0 would be a structural zero, which transport does not have
    if not masses.all():
        raise InvalidOptionError(f"regularization {regularization!r} makes masses that are 0 in float64: take more")
    return _two_way(name, f"{points} points to {points}, regularization {regularization:g}", masses, rng, 5.0)


def trips_problem(name: str, rng: np.random.Generator, *, zones: int, deterrence: float = 3.0) -> NamedProblem:
    """Return a gravity model of trips between zones: exp(-deterrence * distance), and random totals at both ends."""
    _require_room(zones**2)
    place = rng.random((zones, 2))
    distance = np.sqrt(((place[:, None] - place[None]) ** 2).sum(axis=2))
    sizes = rng.lognormal(0.0, 1.5, zones)
    masses = np.outer(sizes, sizes) * np.exp(-deterrence * distance)
    return _two_way(name, f"trips between {zones} zones, log-normal totals", masses, rng, 0.5)


def input_output_problem(
    name: str, rng: np.random.Generator, *, sectors: int, empty: float = 0.4, growth: float = 0.2
) -> NamedProblem:
    """Return an input-output table to be brought to new totals (RAS): log-normal flows, a share of them empty.

    The totals are those of a table with the same support, each flow grown by a random factor.
    """
    _require_room(sectors**2)
    if not empty < 1.0:
        raise InvalidOptionError(f"empty must be a share below 1, got {empty!r}")
    flows = rng.lognormal(0.0, 2.0, (sectors, sectors)) * (rng.random((sectors, sectors)) >= empty)
    flows[np.diag_indices(sectors)] += rng.lognormal(0.0, 1.0, sectors)  # every sector uses its own
    later = flows * np.exp(growth * rng.standard_normal(flows.shape) + growth * rng.standard_normal(sectors))
    return NamedProblem(
        name=name,
        kind="dense",
        description=f"input and output of {sectors} sectors, brought to totals that grew",
        domain=number_domain(("seller", "buyer"), flows.shape),
        masses=flows / flows.sum(),
        targets=tuple(((axis,), later.sum(axis=1 - axis) / later.sum()) for axis in (0, 1)),
    )


def graph_problem(
    name: str, rng: np.random.Generator, *, nodes: int, categories: int, regularization: float = 0.2, ring: int = 1
) -> NamedProblem:
    """Return multi-marginal transport over a graph: costs between neighbours, one-way marginals at all nodes.

    Parameters
    ----------
    regularization
        Costs are squared distances of the categories' places in [0, 1], divided by it.
    ring
        1 for a ring of nodes; 2 for one with chords to the neighbours' neighbours, and so on.
    """
    _require_room(categories**nodes)
    if not regularization > 0.0:
        raise InvalidOptionError(f"regularization must be positive, got {regularization!r}")
    place = np.linspace(0.0, 1.0, categories)
    factor = np.exp(-((place[:, None] - place[None]) ** 2) / regularization)
    # each edge once, whichever end it is counted from
    edges = {tuple(sorted((node, (node + step) % nodes))) for node in range(nodes) for step in range(1, ring + 1)}
    masses = reduce(
        lambda table, edge: table * _over(factor, edge, nodes), sorted(edges), np.ones((categories,) * nodes)
    )
    return NamedProblem(
        name=name,
        kind="dense",
        description=f"transport between {nodes} marginals of {categories} categories on a ring",
        domain=number_domain([f"x{node}" for node in range(nodes)], masses.shape),
        masses=masses / masses.sum(),
        targets=tuple(((node,), rng.dirichlet(np.full(categories, 2.0))) for node in range(nodes)),
    )


def _over(factor: FloatArray, edge: tuple[int, ...], nodes: int) -> FloatArray:
    """Return a function of two of the axes with the others as axes of length 1."""
    return factor.reshape([len(factor) if axis in edge else 1 for axis in range(nodes)])


def _two_way(
    name: str, description: str, masses: FloatArray, rng: np.random.Generator, concentration: float
) -> NamedProblem:
    domain = number_domain(("origin", "destination"), masses.shape)
    shares = [rng.dirichlet(np.full(size, concentration)) + 1e-6 for size in masses.shape]
    targets = tuple(((axis,), share / share.sum()) for axis, share in enumerate(shares))
    return NamedProblem(name, "dense", description, domain, masses / masses.sum(), targets)


def _require_room(cells: int) -> None:
    require_room(_BYTES * int(cells), f"a problem of {cells:,} profiles")
