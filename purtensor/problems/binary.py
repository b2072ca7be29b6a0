"""Maximum entropy of binary attributes given all their two-way marginals."""

from __future__ import annotations

import itertools

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.problems.named import NamedProblem, marginal_targets, numbered_domain, require_room

_CLASSES = 6
_MOST_ATTRIBUTES = 64


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
        domain=numbered_domain([f"x{i + 1}" for i in range(attributes)], mixture.shape),
        masses=np.full(mixture.shape, 1.0 / mixture.size),
        targets=marginal_targets(mixture, scopes),
    )


def _mixture(rng: np.random.Generator, attributes: int) -> FloatArray:
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
