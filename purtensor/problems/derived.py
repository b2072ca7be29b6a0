"""Problems made from others: the slowest of a size, found by climbing over counts, and warm starts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor._options import is_count, is_number
from purtensor.constraints.marginals import Marginal
from purtensor.convergence.linearised import predict
from purtensor.errors import InfeasibleError, InvalidOptionError, NotConvergedError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.problems.named import NamedProblem, number_domain
from purtensor.problems.pur import pur_targets, regularize_masses
from purtensor.problems.registry import load
from purtensor.projection.project import project
from purtensor.sampling.checks import generator
from purtensor.solving.solvers.newton import Newton
from purtensor.tables.layouts import to_dense
from purtensor.tables.marginal import marginal

_TOLERANCE = 1e-10
_MOST_ITERATIONS = 100_000

Counts = npt.NDArray[np.int64]


def hardest(
    *,
    seed: int | np.random.Generator,
    responses: int = 2,
    protected: int = 2,
    unprotected: int = 3,
    records: int = 100,
    strength: float = 0.01,
    solver: Any = None,
    moves: int = 200,
) -> NamedProblem:
    """Return a PUR problem of a size that is as hard as climbing finds one, for sweeps or for a solver.

    Records are moved from profile to profile, some at a time, and a move stays that makes the problem no easier. What
    counts is the rate of iterative proportional fitting at the solution, in sweeps for a factor of ten, or the
    iterations that a solver takes to a residual of 1e-10, 100,000 at most. Problems without an interior solution are
    passed over.

    Parameters
    ----------
    seed
        An integer or a generator; the same integer gives the same problem.
    responses, protected, unprotected, records, strength
        The size, and the pseudo-counts, as in the family "pur".
    solver
        Whose iterations count; None for the rate of sweeps.
    moves
        How many are tried.

    Raises
    ------
    InvalidOptionError
        Sizes that are not positive, or fewer records than unprotected profiles.

    Examples
    --------
    >>> import purtensor as pt
    >>> slow = pt.problems.hardest(seed=1, moves=30)
    >>> slow.masses.shape, slow.description.split(":")[0]
    ((2, 2, 3), 'PUR on 2 x 2 x 3 (y, s, x) of 100 records, lambda = 0.01, found by 30 moves')
    """
    shape = (responses, protected, unprotected)
    _check(shape, records, strength, moves)
    rng = generator(seed)
    best = _draw_counts(rng, shape, records)
    level = _hardness(best, strength, solver)
    for _ in range(moves):
        moved = _move_records(rng, best)
        if (moved.sum(axis=(0, 1)) == 0).any():  # an unprotected profile without records is none of the problem
            continue
        reached = _hardness(moved, strength, solver)
        # a move that changes nothing is taken, too: the search leaves plateaus
        if reached >= level:
            best, level = moved, reached
    unit = "sweeps for a factor of ten" if solver is None else "iterations"
    return problem_of_counts(
        best,
        strength,
        name=f"hardest({' x '.join(map(str, shape))}, {records} records)",
        found=f"found by {moves} moves: {max(level, 0.0):,.4g} {unit}",
    )


def problem_of_counts(counts: npt.ArrayLike, strength: float, *, name: str, found: str) -> NamedProblem:
    """Return PUR on the regularised counts over (y, s, x), every unprotected profile of which has records."""
    values = np.asarray(counts, dtype=np.float64)
    masses = regularize_masses(values, strength)
    masses /= masses.sum()
    shape = " x ".join(map(str, values.shape))
    return NamedProblem(
        name=name,
        kind="pur",
        description=f"PUR on {shape} (y, s, x) of {values.sum():.0f} records, lambda = {strength:g}, {found}",
        domain=number_domain(("y", "s", "x"), values.shape),
        masses=masses,
        targets=pur_targets(masses),
    )


def _hardness(counts: Counts, strength: float, solver: Any) -> float:
    """Return what is climbed; minus infinity where there is no interior solution."""
    problem = problem_of_counts(counts, strength, name="", found="")
    try:
        if solver is None:
            rate = predict(problem.reference, problem.constraints, at="solution").sweeps_per_decade
            return rate if math.isfinite(rate) else -math.inf
        run = project(
            problem.reference,
            problem.constraints,
            solver=solver,
            tolerance=_TOLERANCE,
            max_iterations=_MOST_ITERATIONS,
            on_failure="return",
            certificate=False,
        )
    except (InfeasibleError, NotConvergedError):
        return -math.inf
    is_inside = not (isinstance(run.diagnosis, Diagnosis) and run.diagnosis.implied_zeros.size)
    return float(run.iterations) if is_inside else -math.inf


def _draw_counts(rng: np.random.Generator, shape: tuple[int, ...], records: int) -> Counts:
    """Return counts drawn at random, each unprotected profile with one record at least."""
    counts = np.zeros(shape, dtype=np.int64)
    for x in range(shape[2]):
        counts[rng.integers(shape[0]), rng.integers(shape[1]), x] += 1
    # each unprotected profile has one record already
    rest = rng.multinomial(records - shape[2], np.full(counts.size, 1.0 / counts.size))
    return counts + rest.reshape(shape)


def _move_records(rng: np.random.Generator, counts: Counts) -> Counts:
    """Return counts with one record, a half or all of a profile's moved to another profile."""
    flat = counts.reshape(-1).copy()
    source = int(rng.choice(np.flatnonzero(flat)))
    goal = int(rng.integers(flat.size - 1))
    goal += goal >= source
    size = int(rng.choice([1, (int(flat[source]) + 1) // 2, int(flat[source])]))
    flat[source] -= size
    flat[goal] += size
    return flat.reshape(counts.shape)


def _check(shape: tuple[int, int, int], records: int, strength: float, moves: int) -> None:
    for name, value, least in zip(("responses", "protected", "unprotected"), shape, (2, 2, 1), strict=True):
        if not (is_count(value) and value >= least):
            raise InvalidOptionError(f"{name} must be an integer of at least {least}, got {value!r}")
    if not (is_count(records) and records >= shape[2]):
        raise InvalidOptionError(f"records must be an integer of at least {shape[2]}, got {records!r}")
    if not (is_number(strength) and 0.0 < strength < math.inf):
        raise InvalidOptionError(f"strength must be a positive number of pseudo-counts, got {strength!r}")
    if not is_count(moves):
        raise InvalidOptionError(f"moves must be a whole number, got {moves!r}")


def warm(problem: str | NamedProblem, *, change: float = 0.01) -> NamedProblem:
    """Return a problem whose reference is the answer for targets that are a little different: a warm start.

    That answer is the reference times factors of the constraints' rows, so both problems have one answer; and as it is
    a problem, solvers that know nothing of starting points begin there as well.

    Parameters
    ----------
    problem
        A name, or a problem.
    change
        The share of the reference's own marginals in the targets that are a little different.

    Raises
    ------
    InvalidOptionError
        A change outside of (0, 1].
    InfeasibleError
        There is no answer.

    Examples
    --------
    >>> import purtensor as pt
    >>> compared = pt.compare(["b_lam0", pt.problems.warm("b_lam0")], "ipf", repetitions=1)
    >>> cold, warm = compared.runs["iterations"]
    >>> warm < cold
    True
    """
    if not (is_number(change) and 0.0 < change <= 1.0):
        raise InvalidOptionError(f"change must be a share in (0, 1], got {change!r}")
    cold = load(problem) if isinstance(problem, str) else problem
    reference = cold.reference
    near = []
    for one in cold.constraints:
        own = to_dense(marginal(reference, one.scope)).reindex_like(one.target, fill_value=0.0)
        near.append(Marginal((1.0 - change) * one.target + change * float(one.target.sum() / own.sum()) * own))
    found = project(reference, near, solver=Newton(), tolerance=1e-13, certificate=False)
    return replace(cold, name=f"{cold.name}, warm", masses=found.table.values.reshape(cold.masses.shape).copy())
