"""A simulated member against the same member made with labels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import purtensor as pt
from purtensor.studies import simulated
from purtensor.studies.members import run_members
from purtensor.studies.population import UNSEEN, population_of, regularize_counts
from purtensor.studies.simulated import (
    CONVERGED,
    ENDINGS,
    INFEASIBLE,
    MODELS,
    PROJECTIONS,
    VERDICTS,
    Simulation,
    marginal_miss,
)
from tests.studies.test_population import as_labels

RESPONSE, PROTECTED = "income", ("gender", "race")


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    population = population_of(pt.datasets.adult(split="train"), response=RESPONSE, protected=PROTECTED)
    return Simulation(
        population, regularize_counts(population.counts, 1e-4), train_size=4000, test_size=3000, strength=1e-4
    )


def test_simulation__is_the_labelled_study(simulation: Simulation) -> None:
    told = simulation(np.random.default_rng(5))
    rng, population = np.random.default_rng(5), simulation.population
    template = pt.datasets.adult(split="train")
    train, test = (as_labels(population, template, simulation._draw(rng, size)) for size in (4000, 3000))
    f = pt.regularize(train, 1e-4, response=RESPONSE)
    assert told["profiles"] == f.attrs["profiles"]
    tables = {"f": f}
    for conditions in PROJECTIONS:
        constraints = pt.pur(f, response=RESPONSE, protected=PROTECTED, conditions=conditions)
        tables[conditions] = pt.project(f, constraints, tolerance=1e-12, solver=pt.Newton()).table
    for (r, rule), (m, name) in product(enumerate(UNSEEN), enumerate(MODELS)):
        prediction = pt.predict(tables[name], pt.empirical(test), response=RESPONSE, unseen=rule)
        assert told["unseen_mass"] == pytest.approx(prediction.attrs["unseen_mass"], abs=1e-15)
        error = pt.utility_error(test, prediction, response=RESPONSE, protected=PROTECTED)
        assert told["utility_error"][r, m] == pytest.approx(error, rel=1e-7)
        for s, (gender, race) in enumerate(population.groups):
            group = prediction.to_series().xs((gender, race), level=("gender", "race")).groupby("income").sum()
            assert told["natural"][r, m, 1, s] == pytest.approx(group[">50K"] / group.sum(), abs=1e-8)


def test_simulation__an_interrupted_projection_is_no_member(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be kept, and told of as one that did not converge."""

    class Interrupted:
        def step(self, *arguments: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(simulated, "Newton", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulation(np.random.default_rng(5))


def test_simulation__proves_every_projection(simulation: Simulation) -> None:
    found = run_members(simulation, 5, seed=2, workers=2)
    assert (found["ending"] == CONVERGED).all()
    assert (found["residual"] <= 1e-10).all()
    assert (found["marginal_miss"] <= 1e-10).all()
    assert (found["tv_bound"] <= 1e-10).all()
    assert (found["bound"] <= 1e-10).all()


def test_simulation__parity_on_the_training_people(simulation: Simulation) -> None:
    told = simulation(np.random.default_rng(1))
    spread = np.ptp(told["natural"][0, :, 1], axis=1)  # over the protected profiles
    assert spread[MODELS.index("PUR")] < 0.1 < spread[MODELS.index("f")]


def test_simulation__infeasible_sets_are_told_and_left_empty() -> None:
    # nobody of s=m has y=0, and without pseudo-counts the parity projection has nothing to give there
    people = pt.tabulate({"y": [0, 1, 1], "s": ["f", "f", "m"], "x": [0, 0, 0]}, weights=[50, 50, 50])
    population = population_of(people, response="y", protected=("s",))
    told = Simulation(population, population.counts / 150, 150, 150, 0.0)(np.random.default_rng(0))
    assert [ENDINGS[ending] for ending in told["ending"]] == [INFEASIBLE] * 3
    assert np.isnan(told["natural"][:, 1:]).all()
    assert np.isnan(told["utility_error"][:, 1:]).all()
    assert np.isfinite(told["natural"][:, 0]).all()


def test_simulation__infeasible_only_with_a_proof() -> None:
    # x = s: PUR has no answer, and pseudo-counts on observed predictors do not change that x tells s
    people = pt.tabulate({"y": [0, 1, 0, 1], "s": ["f", "f", "m", "m"], "x": [0, 0, 1, 1]}, weights=[80, 20, 20, 80])
    population = population_of(people, response="y", protected=("s",))
    told = Simulation(population, population.counts / 200, 200, 200, 1e-4)(np.random.default_rng(0))
    assert [ENDINGS[ending] for ending in told["ending"]] == ["converged", INFEASIBLE, INFEASIBLE]
    assert [VERDICTS[verdict] for verdict in told["verdict"]] == ["", "infeasible", "infeasible"]
    assert np.isnan(told["natural"][:, 2:]).all()
    assert np.isfinite(told["natural"][:, :2]).all()


def test_simulation__verdicts_are_those_of_diagnose() -> None:
    # few people and a predictor that nearly tells s: some sets have an answer, some do not, some on a face alone
    rows = [(y, s, x) for y in (0, 1) for s in ("f", "m") for x in (0, 1)]
    weights = [7, 1, 2, 4, 4, 1, 2, 12]
    people = pt.tabulate({name: [row[k] for row in rows] for k, name in enumerate("ysx")}, weights=weights)
    population = population_of(people, response="y", protected=("s",))
    simulation = Simulation(population, population.counts / population.counts.sum(), 24, 24, 0.0)
    seen = set()
    for seed in range(25):
        told = simulation(np.random.default_rng(seed))
        drawn = simulation._draw(np.random.default_rng(seed), 24)
        row, y = np.nonzero(drawn)
        s, x = [population.groups[g][0] for g in population.protected[row]], population.unprotected[row]
        f = pt.empirical(pt.tabulate({"y": y, "s": s, "x": x}, weights=drawn[row, y]))
        for c, conditions in enumerate(PROJECTIONS):
            constraints = pt.pur(f, response="y", protected="s", conditions=conditions)
            verdict = str(pt.diagnose(f, constraints).verdict)
            ending = ENDINGS[told["ending"][c]]
            seen.add(verdict)
            assert ending == ("infeasible" if verdict == "infeasible" else "converged")
    assert seen >= {"interior", "infeasible"}


class Fixed(Simulation):
    """Draws the people themselves."""

    def _draw(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return self.population.counts.copy()


def test_simulation__on_the_boundary_it_is_solved_without_the_implied_zeros() -> None:
    # the proxy problem with 0.05 on all profiles is feasible, but only just
    rows = [(y, s, x) for x in (0, 1) for s in (0, 1) for y in (0, 1)]
    weights = [70, 50, 10, 10, 10, 10, 30, 90]
    people = pt.tabulate({name: [row[k] for row in rows] for k, name in enumerate("ysx")}, weights=weights)
    population = population_of(people, response="y", protected=("s",))
    told = Fixed(population, population.counts / 280, 280, 280, 0.0)(np.random.default_rng(0))
    assert [ENDINGS[ending] for ending in told["ending"]] == ["converged"] * 3
    assert VERDICTS[told["verdict"][2]] == "boundary"
    assert (told["marginal_miss"] < 1e-10).all()
    fair = pt.project(pt.empirical(people), pt.pur(pt.empirical(people), response="y", protected="s"))
    natural = pt.predict(fair.table, pt.empirical(people), response="y").to_series().groupby(["y", "s"]).sum()
    for s, (group,) in enumerate(population.groups):
        share = natural[1, int(group)] / natural.xs(int(group), level="s").sum()
        assert told["natural"][0, 3, 1, s] == pytest.approx(share, abs=1e-8)


def test_marginal_miss__of_f_itself_is_its_disparity(simulation: Simulation) -> None:
    f, population = simulation.f, simulation.population
    assert marginal_miss(population, f, f, "UR") == 0.0
    pairs = np.zeros((4, 2))
    np.add.at(pairs, population.protected, f)
    expected = np.abs(pairs - np.outer(pairs.sum(axis=1), pairs.sum(axis=0))).max()
    assert marginal_miss(population, f, f, "PUR") == pytest.approx(expected)
    moved = f.copy()
    moved[0] += [0.01, -0.01]
    assert marginal_miss(population, f, moved, "U") == pytest.approx(0.01)
    assert marginal_miss(population, f, moved, "R") == pytest.approx(0.0, abs=1e-16)
