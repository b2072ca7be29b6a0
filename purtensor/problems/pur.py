"""PUR problems: simulated populations over response y, protected s and unprotected x."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.problems.named import NamedProblem, Target, number_domain, require_room

# larger tables draw their counts independently, cell by cell
_MOST_MULTINOMIAL = 10**6

_MOST_DIRICHLET = 10**5
_PROFILES_PER_BLOCK = 65536


@dataclass(frozen=True, slots=True)
class Strengths:
    """Standard deviations of the log-linear effects of a simulated population.

    Attributes
    ----------
    confounding
        Of x on s.
    utility
        Of x on y.
    bias
        Of s on y, directly.
    interaction
        Of s and x together on y; half of it enters.
    """

    confounding: float = 0.5
    utility: float = 0.7
    bias: float = 0.6
    interaction: float = 0.5


def pur_problem(
    name: str,
    rng: np.random.Generator,
    *,
    responses: int,
    protected: int,
    unprotected: int,
    records: int | None = None,
    strength: float = 1e-4,
    confounding: float = 0.5,
    utility: float = 0.7,
    bias: float = 0.6,
    interaction: float = 0.5,
) -> NamedProblem:
    """Return PUR on a regularized sample of `records` of a simulated population, or on the population itself.

    The reference is f of the paper's equation 1 over all responses and the observed predictor profiles; unprotected
    profiles that no record has are left out. The targets are f(y) f(s), f(y, x) and f(s, x).

    Raises
    ------
    InvalidOptionError
        A strength that is not a finite number of pseudo-counts over all profiles, or effects beyond the range of
        floats.
    TooLargeError
        More profiles than there is memory for.
    """
    cells = int(responses) * int(protected) * int(unprotected)
    require_room(40 * cells, f"a problem of {responses} x {protected} x {unprotected} profiles")
    if strength > sys.float_info.max / cells:
        raise InvalidOptionError(f"strength must be finite over all {cells} profiles together, got {strength!r}")
    effects = Strengths(confounding, utility, bias, interaction)
    population = simulate_population(rng, responses, protected, unprotected, effects)
    if records is None:
        masses, of = population, "the population"
    else:
        counts = _sample(rng, population, records)
        observed = counts.sum(axis=(0, 1)) > 0
        masses = regularize_masses(counts[:, :, observed], strength)
        of = f"{records} records, lambda = {strength:g}"
    masses = np.ascontiguousarray(masses)
    masses /= masses.sum()
    shape = " x ".join(map(str, masses.shape))
    return NamedProblem(
        name=name,
        kind="pur",
        description=f"PUR on {shape} (y, s, x) of {of}",
        domain=number_domain(("y", "s", "x"), masses.shape),
        masses=masses,
        targets=pur_targets(masses),
    )


def pur_targets(masses: FloatArray) -> tuple[Target, ...]:
    """Return parity f(y) f(s), utility f(y, x) and realism f(s, x) of an array over (y, s, x)."""
    response_protected = masses.sum(axis=2)
    response, protected = response_protected.sum(axis=1), response_protected.sum(axis=0)
    parity = np.outer(response, protected) / response.sum()
    return ((0, 1), parity), ((0, 2), masses.sum(axis=1)), ((1, 2), masses.sum(axis=0))


def simulate_population(
    rng: np.random.Generator, responses: int, protected: int, unprotected: int, effects: Strengths
) -> FloatArray:
    """Return positive probabilities over (y, s, x): p(x), then p(s | x), then p(y | s, x), all log-linear."""
    with np.errstate(over="ignore", invalid="ignore"):
        population = _draw_population(rng, responses, protected, unprotected, effects)
        total = population.sum()
    if not np.isfinite(total):
        raise InvalidOptionError(f"the effects must be within the range of float64, got {effects}")
    population /= total
    return population


def _draw_population(
    rng: np.random.Generator, responses: int, protected: int, unprotected: int, effects: Strengths
) -> FloatArray:
    predictors = _predictor_profiles(rng, protected, unprotected, effects.confounding)
    score = np.linspace(-1, 1, responses)[:, None, None]
    protected_effect = rng.standard_normal(protected)[None, :, None]
    unprotected_effect = rng.standard_normal(unprotected)
    response_effect = rng.normal(0, 0.4, responses)[:, None, None]
    # not all of y given x is log-linear in one score
    irregular = 0.3 * rng.standard_normal((responses, unprotected))
    population = np.empty((responses, protected, unprotected))
    for start in range(0, unprotected, _PROFILES_PER_BLOCK):
        block = slice(start, min(unprotected, start + _PROFILES_PER_BLOCK))
        width = block.stop - block.start
        pull = effects.utility * unprotected_effect[None, None, block] + effects.bias * protected_effect
        logarithm = response_effect + score * pull + irregular[:, None, block]
        logarithm += effects.interaction * 0.5 * rng.standard_normal((responses, protected, width))
        population[:, :, block] = _conditional(logarithm, predictors[None, :, block])
    return population


def _predictor_profiles(rng: np.random.Generator, protected: int, unprotected: int, confounding: float) -> FloatArray:
    if unprotected <= _MOST_DIRICHLET:
        of_x = rng.dirichlet(np.full(unprotected, 0.7))
    else:
        of_x = rng.gamma(2.0, 1.0, unprotected)
    of_x = of_x + 1e-3 / unprotected
    of_x /= of_x.sum()
    of_s = np.sort(rng.dirichlet(np.full(protected, 2.0)))[::-1]
    of_s = of_s + 0.02
    of_s /= of_s.sum()
    logarithm = np.log(of_s)[:, None] + confounding * rng.standard_normal((protected, unprotected))
    return _conditional(logarithm, of_x)


def _conditional(logarithm: FloatArray, given: FloatArray) -> FloatArray:
    """Return exp(logarithm), scaled in place so that its sums over the first axis are `given`."""
    logarithm -= logarithm.max(axis=0)
    np.exp(logarithm, out=logarithm)
    logarithm *= given / logarithm.sum(axis=0)
    return logarithm


def _sample(rng: np.random.Generator, population: FloatArray, records: int) -> FloatArray:
    if population.size <= _MOST_MULTINOMIAL:
        counts = rng.multinomial(records, population.ravel()).reshape(population.shape)
    else:
        counts = rng.poisson(population * records)
    return counts.astype(np.float64)


def regularize_masses(counts: FloatArray, strength: float) -> FloatArray:
    """Return equation 1 of the paper over all responses and the observed (s, x)."""
    total = counts.sum()
    supported = np.broadcast_to(counts.sum(axis=0) > 0, counts.shape)
    masses: FloatArray = np.where(supported, counts / total + strength / total, 0.0)
    # equation 1 of the paper, and what rounding leaves is scaled by the caller
    masses /= 1 + supported.sum() * strength / total
    return masses
