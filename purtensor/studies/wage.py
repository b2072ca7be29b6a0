"""The paper's study of wages: five wage ranges projected onto parity, utility and realism.

Protected are gender and race, unprotected age group, education and sector. Training and test sets of the observed
size are drawn from the survey; each training set is regularised and projected, and its natural classifiers predict on
the test set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

import purtensor as pt
from purtensor._options import check_choice
from purtensor._typing import FloatArray, Table
from purtensor.projection.executing import Failure
from purtensor.studies.members import identity, run_members
from purtensor.studies.population import DRAWN_FROM, UNSEEN, Population, masses_to_draw_from, population_of
from purtensor.studies.projections import QUESTIONS, project_question
from purtensor.studies.simulated import ENDINGS, METHOD, STOPPING, VERDICTS, Simulation

RESPONSE = "wage_range"
PROTECTED = ("gender", "race4")
ROLES: Mapping[str, Any] = MappingProxyType({"response": RESPONSE, "protected": PROTECTED})
# the protected profile that the others are compared with
REFERENCE: Mapping[str, str] = MappingProxyType({"gender": "male", "race4": "white"})
# the years of the paper's surveys
YEARS = (1981, 1990, 1999, 2007, 2009, 2011, 2013)


@dataclass(frozen=True, slots=True, eq=False)
class WageStudy:
    """The study of one survey, computed.

    Attributes
    ----------
    survey
        What the data are, such as "CPS 2013".
    strength, seed, sets
        Lambda of the regularization, the seed of the simulation, the number of simulated pairs of sets.
    counts, f
        The data, and their regularized distribution.
    projections
        Of f itself: P, PU, PUR, and MaxEnt-PUR from the uniform reference.
    population
        The data as a matrix.
    members
        What the simulated sets found, stacked: see `purtensor.studies.simulated.Simulation`.
    generated
        For each projection and f, p(y | s) of data generated from it, shape (sets, responses, protected profiles).
    identity
        SHA-256 of the data and the settings that the members depend on.
    drawn_from
        What the simulated sets are drawn from: "empirical" or "regularized".
    unseen
        What happens to test people whose predictor profile was not trained on: "marginal" or "drop".
    failures
        The simulated pairs that ended in an error, which `members` do not hold.
    """

    survey: str
    strength: float
    seed: int
    sets: int
    counts: Table
    f: Table
    projections: Mapping[str, pt.Projection]
    population: Population
    members: Mapping[str, npt.NDArray[Any]]
    generated: Mapping[str, FloatArray]
    identity: str
    drawn_from: str = "empirical"
    unseen: str = "marginal"
    failures: tuple[Failure, ...] = ()

    @property
    def natural(self) -> FloatArray:
        """What is predicted on the test sets, shape (sets, models, responses, protected profiles)."""
        return self.members["natural"][:, list(UNSEEN).index(self.unseen)]

    @property
    def utility_error(self) -> FloatArray:
        """The utility errors of these predictions in nats, shape (sets, models)."""
        return self.members["utility_error"][:, list(UNSEEN).index(self.unseen)]

    @property
    def masses(self) -> FloatArray:
        """The distribution that sets are drawn from, shape (predictor profiles, responses)."""
        return masses_to_draw_from(self.population, self.strength, self.drawn_from)

    @property
    def member_numbers(self) -> list[int]:
        """The numbers of the simulated pairs that `members` hold, in their order."""
        failed = {failure.member for failure in self.failures}
        return [number for number in range(self.sets) if number not in failed]

    @property
    def distributions(self) -> dict[str, Table]:
        """The regularized f and its projections, by name."""
        return {"f": self.f, **{name: projection.table for name, projection in self.projections.items()}}

    @property
    def others(self) -> list[int]:
        """The numbers of the protected profiles but the reference."""
        return self.population.compare_with(REFERENCE)[1]

    @property
    def pairs(self) -> list[str]:
        """What each disparity is about: response category and group, by rows."""
        groups = [", ".join(self.population.groups[s]) for s in self.others]
        return [f"{group} at {response}" for response in self.population.response_categories for group in groups]

    def compare(self, conditional: FloatArray) -> FloatArray:
        """Return attributable disparities p(y | s) - p(y | s0) of the other profiles, by the last two dimensions."""
        reference, others = self.population.compare_with(REFERENCE)
        return np.asarray(conditional[..., others] - conditional[..., [reference]])


def study_wage(
    counts: Table,
    survey: str,
    *,
    strength: float = 1e-4,
    sets: int = 1000,
    seed: int = 0,
    drawn_from: str = "empirical",
    unseen: str = "marginal",
    workers: int = 1,
    executor: Any = None,
    folder: Path | None = None,
    on_member: Callable[[int], object] = lambda done: None,
) -> WageStudy:
    """Return the study of one survey.

    Parameters
    ----------
    counts
        The survey, over `wage_range`, `gender`, `race4` and the unprotected attributes.
    survey
        What it is called.
    strength
        Lambda of the regularization, the paper's 1e-4 unless given.
    sets
        How many pairs of a training and a test set are simulated; three projections each.
    seed
        The seed of the simulation; the results do not depend on the number of workers.
    drawn_from
        Sets are drawn from the survey as it was observed ("empirical"), as in the paper, or from f ("regularized").
    unseen
        Test people whose predictor profile was not trained on are predicted by q(y) ("marginal", which keeps parity)
        or left out ("drop").
    workers
        How many threads compute.
    executor
        What computes in place of threads, as in `purtensor.project_many`.
    folder
        Where finished members are kept, so that an interrupted study continues where it was; None keeps nothing.
    on_member
        Called with the number of finished members.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError
        The survey has no such attribute, or no white men to compare with.
    InvalidOptionError
        `sets` or `workers` is too small, another word for `drawn_from` or `unseen`.
    NotConvergedError, InfeasibleError
        The survey itself has no projection.
    """
    if sets < 2:
        raise pt.InvalidOptionError(f"sets must be at least 2, so that there is a fluctuation, got {sets}")
    check_choice("drawn_from", drawn_from, tuple(DRAWN_FROM))
    check_choice("unseen", unseen, tuple(UNSEEN))
    population = population_of(counts, **ROLES)
    if tuple(REFERENCE.values()) not in population.groups:
        raise pt.UnknownCategoryError(f"the survey has nobody in the reference group {dict(REFERENCE)}")
    f = pt.regularize(counts, strength, response=RESPONSE)
    projections = {name: project_question(f, name, **ROLES, solver=pt.Newton()) for name in QUESTIONS}
    size = round(float(counts.sum()))
    masses = masses_to_draw_from(population, strength, drawn_from)
    simulation = Simulation(population, masses, size, size, strength)
    settings = {
        "study": "wage",
        "seed": seed,
        "strength": strength,
        "size": size,
        "tolerance": STOPPING.tolerance,
        "endings": ENDINGS,
        "verdicts": VERDICTS,
        "method": METHOD,
        "drawn_from": drawn_from,
    }
    key = identity(settings, population.protected, population.unprotected, population.counts)
    failures: list[Failure] = []
    members = run_members(
        simulation,
        sets,
        seed=seed,
        workers=workers,
        executor=executor,
        on_member=on_member,
        on_failure=failures.append,
        store=None if folder is None else folder / f"members-{key[:16]}.npz",
    )
    tables = {"f": f, **{name: projection.table for name, projection in projections.items()}}
    return WageStudy(
        survey,
        strength,
        seed,
        sets,
        counts,
        f,
        projections,
        population,
        members,
        draw_conditionals(tables, population, size=size, sets=sets, seed=seed),
        key,
        drawn_from,
        unseen,
        tuple(sorted(failures, key=lambda failure: failure.member)),
    )


def draw_conditionals(
    distributions: Mapping[str, Table], population: Population, *, size: int, sets: int, seed: int
) -> dict[str, FloatArray]:
    """Return p(y | s) of data sets generated from distributions, shape (sets, responses, protected profiles) each.

    The counts of (y, s) of a data set are multinomial on their own. NaN where a set has nobody of s.
    """
    # other streams than those of the members, the children of the seed alone
    streams = np.random.SeedSequence([seed, len(distributions)]).spawn(len(distributions))
    return {
        name: _draw_conditionals(pair_masses(table, population), size, sets, np.random.default_rng(stream))
        for (name, table), stream in zip(distributions.items(), streams, strict=True)
    }


def _draw_conditionals(pairs: FloatArray, size: int, sets: int, rng: np.random.Generator) -> FloatArray:
    drawn = rng.multinomial(size, pairs.reshape(-1) / pairs.sum(), size=sets).reshape(sets, *pairs.shape)
    of_groups = drawn.sum(axis=1, keepdims=True)
    return np.asarray(drawn / np.where(of_groups > 0, of_groups, np.nan))


def pair_masses(table: Table, population: Population) -> FloatArray:
    """Return a table's marginal over (response, protected), shape (responses, protected profiles)."""
    roles = population.roles
    pairs = pt.marginal(table, (roles.response, *roles.protected)).to_series()
    masses = np.zeros((population.responses, len(population.groups)))
    responses, groups = population.response_categories, population.groups
    for (y, *s), mass in zip(pairs.index.tolist(), pairs.tolist(), strict=True):
        masses[responses.index(str(y)), groups.index(tuple(map(str, s)))] = mass
    return masses
