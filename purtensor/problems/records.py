"""Sparse problems: profiles that were observed, out of a domain too large to list."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidOptionError
from purtensor.problems.named import NamedProblem, Target, number_domain, require_room
from purtensor.tables.grouping import distinct_keys, profile_keys

# more draws than profiles are wanted, since some come twice
_SURPLUS = 1.08


def records_problem(
    name: str,
    rng: np.random.Generator,
    *,
    profiles: int,
    attributes: int = 12,
    categories: int = 10,
    classes: int = 8,
) -> NamedProblem:
    """Return random weights on distinct profiles of latent classes, with the marginals of disjoint pairs as targets.

    The targets are marginals of another weighting of the same profiles, so the problem is feasible.

    Raises
    ------
    InvalidOptionError
        An odd number of attributes, or fewer distinct profiles than were requested.
    TooLargeError
        More profiles, or larger marginals of pairs, than there is memory for.
    """
    if attributes % 2:
        raise InvalidOptionError(f"attributes must be an even number, got {attributes}")
    sizes = [int(size) for size in (profiles, attributes, categories, classes)]
    require_room(_bytes_needed(*sizes), f"a problem of {profiles} profiles out of {categories}^{attributes}")
    codes = _distinct_profiles(rng, profiles, attributes, categories, classes)
    weights = rng.gamma(2.0, 1.0, profiles)
    weights /= weights.sum()
    goal = _reweight(rng, weights, codes, categories)
    pairs = [(first, first + 1) for first in range(0, attributes, 2)]
    return NamedProblem(
        name=name,
        kind="records",
        description=f"{profiles} profiles out of {categories}^{attributes}, {len(pairs)} two-way marginals",
        domain=number_domain([f"x{i + 1}" for i in range(attributes)], (categories,) * attributes),
        masses=weights,
        targets=tuple(_pair_target(goal, codes, pair, categories) for pair in pairs),
        codes=codes,
    )


def _bytes_needed(profiles: int, attributes: int, categories: int, classes: int) -> int:
    """Return what profiles with their keys, marginals of pairs, and the classes' distributions take at the peak."""
    return 90 * profiles + 4 * profiles * attributes + 8 * attributes * categories * (categories + classes)


def _distinct_profiles(
    rng: np.random.Generator, profiles: int, attributes: int, categories: int, classes: int
) -> IntArray:
    chances = rng.dirichlet(np.full(categories, 1.0), (classes, attributes))
    shares = rng.dirichlet(np.full(classes, 3.0))
    # the draws come from latent classes, so that attributes depend on each other
    drawn = rng.choice(classes, size=int(profiles * _SURPLUS), p=shares)
    codes = np.empty((drawn.size, attributes), np.promote_types(np.int16, np.min_scalar_type(-categories)))
    for latent in range(classes):
        members = np.flatnonzero(drawn == latent)
        for attribute in range(attributes):
            codes[members, attribute] = rng.choice(categories, size=members.size, p=chances[latent, attribute])
    first, _ = distinct_keys(*profile_keys(list(codes.T), (categories,) * attributes))
    if len(first) < profiles:
        raise InvalidOptionError(
            f"only {len(first)} of {drawn.size} draws out of {categories}^{attributes} profiles are distinct, "
            f"{profiles} are needed; use more attributes or categories, or fewer profiles"
        )
    return np.ascontiguousarray(codes[np.sort(first)[:profiles]])


def _reweight(rng: np.random.Generator, weights: FloatArray, codes: IntArray, categories: int) -> FloatArray:
    attributes = codes.shape[1]
    effects = 0.35 * rng.standard_normal((attributes, categories))
    shift = sum(effects[attribute][codes[:, attribute]] for attribute in range(attributes))
    logarithm: FloatArray = np.log(weights) + shift + 0.4 * rng.standard_normal(weights.size)
    goal: FloatArray = np.exp(logarithm - logarithm.max())
    goal /= goal.sum()
    return goal


def _pair_target(goal: FloatArray, codes: IntArray, pair: tuple[int, int], categories: int) -> Target:
    rows = codes[:, pair[0]].astype(np.int64) * categories + codes[:, pair[1]]
    sums: FloatArray = np.bincount(rows, weights=goal, minlength=categories * categories).astype(np.float64, copy=False)
    return pair, sums.reshape(categories, categories)
