"""One member of a simulation: a training and a test set drawn from f, projected, predicted, measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from purtensor._typing import FloatArray
from purtensor.errors import InfeasibleError
from purtensor.feasibility.verdict import Verdict, decide, restrict_to
from purtensor.sampling.draw import multinomial
from purtensor.solving.certificate import Certificate, DualCertifier
from purtensor.solving.loop import Run
from purtensor.solving.problem import Problem
from purtensor.solving.solve import run
from purtensor.solving.solvers.newton import Newton
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination
from purtensor.studies.members import Member
from purtensor.studies.population import (
    UNSEEN,
    Population,
    conditionals,
    predict_natural,
    regularize_counts,
    sum_rows,
    utility_divergence,
)
from purtensor.studies.subproblem import subproblem

# the conditions that each training set is projected onto
PROJECTIONS = ("P", "PU", "PUR")

# whose natural classifiers predict on the test set
MODELS = ("f", *PROJECTIONS)

# a projection is solved when its proved distance to the exact one is within the tolerance; so is its residual then
STOPPING = Stopping(tolerance=1e-10, stop_on="tv_bound", max_iterations=300, max_seconds=float("inf"))

INFEASIBLE = Termination.INFEASIBLE.name.lower()
# what can become of a projection; members hold the position in this tuple
ENDINGS: tuple[str, ...] = tuple(ending.name.lower() for ending in Termination)

CONVERGED = ENDINGS.index("converged")

# the verdict on the conditions of a projection; empty if feasibility was not checked
VERDICTS = ("", *(str(verdict) for verdict in Verdict))

# part of what kept members depend on: another way leads to the same numbers within the tolerance, not to the bits
METHOD = "by Newton's steps from Python; both rules for unseen people"

# what members hold of a projection that cannot be
_REFUTED: Mapping[str, float] = MappingProxyType(
    {
        "ending": ENDINGS.index(INFEASIBLE),
        "verdict": VERDICTS.index("infeasible"),
        "iterations": 0,
        **dict.fromkeys(("residual", "tv_bound", "bound", "marginal_miss"), np.nan),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """How members are made.

    Attributes
    ----------
    population
        The profiles.
    f
        Shape (predictor profiles, responses): the distribution that training and test sets are drawn from.
    train_size, test_size
        How many people a training and a test set have.
    strength
        Lambda, of the regularization of each training set.
    """

    population: Population
    f: FloatArray
    train_size: int
    test_size: int
    strength: float

    def __call__(self, rng: np.random.Generator) -> Member:
        """Return what one member found.

        Its arrays, with S protected profiles and Y responses: `train` (Y, S), the training set's own p(y | s);
        `natural` (rules, models, Y, S), what is predicted on the test set by each rule for unseen people, in the order
        of `UNSEEN`; `utility_error` (rules, models) in nats;
        `unseen_mass`, the share of test people whose predictor profile was not trained on; `profiles`, the supported
        ones of the training set; and of each projection `ending`, `verdict`, `iterations`, `residual`, `tv_bound`,
        `bound` (nats) and `marginal_miss`, total mass 1. Where a projection was not solved, its predictions are NaN:
        it is infeasible only where that is proved; on the boundary it is solved without its implied zeros.
        """
        reference = regularize_counts(self._draw(rng, self.train_size), self.strength)
        test = self._draw(rng, self.test_size)
        people = test.sum(axis=1) / test.sum()
        solved = [self._project(reference, conditions) for conditions in PROJECTIONS]
        tables = [reference, *(table for table, _ in solved)]
        found = [[self._measure(table, test, people, unseen) for table in tables] for unseen in UNSEEN]
        evidence = {name: np.array([own[name] for _, own in solved]) for name in _REFUTED}
        return {
            "train": conditionals(self.population, reference),
            "natural": np.array([[natural for natural, _ in rule] for rule in found]),
            "utility_error": np.array([[error for _, error in rule] for rule in found]),
            "unseen_mass": np.array(people[reference.sum(axis=1) == 0].sum()),
            "profiles": np.array(np.count_nonzero(reference)),
            **evidence,
        }

    def _draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        drawn = np.zeros(self.f.size)
        # the draw takes positive masses only
        cells = np.flatnonzero(self.f)
        drawn[cells] = multinomial(self.f.reshape(-1)[cells], size, rng)
        return drawn.reshape(self.f.shape)

    def _project(self, reference: FloatArray, conditions: str) -> tuple[FloatArray | None, Mapping[str, float]]:
        """Return the projection, None where it was not solved, and its evidence."""
        try:
            problem, cells = subproblem(self.population, reference, conditions)
        except InfeasibleError:  # a pair that needs mass has no profile: that is the proof
            return None, _REFUTED
        # found at most once, when the solver's progress asks for it; its witness is checked in exact numbers
        find = cache(partial(decide, problem))
        outcome, certificate = _solve(problem, lambda: find().verdict in (Verdict.BOUNDARY, Verdict.INFEASIBLE))
        if not outcome.termination.converged:
            verdict = find().verdict
            if verdict is Verdict.INFEASIBLE:
                return None, _REFUTED
            if verdict is Verdict.BOUNDARY:
                # these zeros are proved, and on the other profiles there is a positive solution for Newton's method
                kept = ~find().zeros
                cells = cells[kept]
                outcome, certificate = _solve(restrict_to(problem, kept))
        q = np.zeros(reference.size)
        q[cells] = outcome.iterate.masses
        table = q.reshape(reference.shape)
        measures = {
            "ending": ENDINGS.index(outcome.termination.name.lower()),
            "verdict": VERDICTS.index(str(find().verdict)) if find.cache_info().currsize else 0,
            "residual": outcome.residual.largest,
            "tv_bound": certificate.tv_bound,
            "bound": certificate.bound,
            "marginal_miss": marginal_miss(self.population, reference, table, conditions),
            "iterations": outcome.iterations,
        }
        return (table if outcome.termination is Termination.CONVERGED else None), measures

    def _measure(
        self, q: FloatArray | None, test: FloatArray, people: FloatArray, unseen: str
    ) -> tuple[npt.NDArray[np.float64], float]:
        """Return what the natural classifier of q predicts on the test set, p(y | s), and its utility error."""
        if q is None:
            groups = len(self.population.protected_codes[0])
            return np.full((self.population.responses, groups), np.nan), np.nan
        prediction, _ = predict_natural(q, people, unseen)
        return conditionals(self.population, prediction), utility_divergence(self.population, test, prediction)


def _solve(problem: Problem, is_hopeless: Callable[[], bool] | None = None) -> tuple[Run, Certificate]:
    certifier = DualCertifier(problem)
    outcome = run(problem, Newton(), STOPPING, certifier, is_hopeless=is_hopeless)
    if outcome.termination is Termination.INTERRUPTED:  # no member: it must not be kept
        raise KeyboardInterrupt
    return outcome, outcome.certificate or certifier.certify(outcome.iterate)


def marginal_miss(population: Population, f: FloatArray, q: FloatArray, conditions: str) -> float:
    """Return the largest miss of a marginal that `conditions` state, worked out anew from the tables; total mass 1."""
    groups, slabs = len(population.protected_codes[0]), int(population.unprotected.max()) + 1
    misses = []
    if "P" in conditions:
        of_pairs = sum_rows(q, population.protected, groups)
        of_groups = np.bincount(population.protected, f.sum(axis=1), groups)
        misses.append(np.abs(of_pairs - np.outer(of_groups, f.sum(axis=0))).max())
    if "U" in conditions:
        misses.append(np.abs(sum_rows(q - f, population.unprotected, slabs)).max())
    if "R" in conditions:
        misses.append(np.abs((q - f).sum(axis=1)).max())
    return float(max(misses))
