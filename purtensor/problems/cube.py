"""Three attributes with all their two-way marginals: no interaction beyond those of the reference."""

from __future__ import annotations

import numpy as np

from purtensor.problems.named import NamedProblem, marginal_targets, numbered_domain, require_room


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
        domain=numbered_domain(("x1", "x2", "x3"), shape),
        masses=masses,
        targets=marginal_targets(goal, [(0, 1), (0, 2), (1, 2)]),
    )
