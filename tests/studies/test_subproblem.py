"""Problems built from arrays against those that `project` builds from labels."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping
from purtensor.studies.population import population_of, regularize_counts
from purtensor.studies.subproblem import subproblem
from tests.studies.test_population import as_matrix

STOPPING = Stopping(tolerance=1e-10, stop_on="residual", max_iterations=300, max_seconds=float("inf"))


@pytest.mark.parametrize("strength", [1e-4, 1.0])
@pytest.mark.parametrize("conditions", ["P", "U", "R", "PU", "UR", "RUP", "PUR"])
def test_subproblem__has_the_projection_of_the_labelled_problem(conditions: str, strength: float) -> None:
    counts = pt.datasets.adult(split="train")
    population = population_of(counts, response="income", protected=("gender", "race"))
    problem, cells = subproblem(population, regularize_counts(population.counts, strength), conditions)
    masses = run(problem, pt.Newton(), STOPPING).iterate.masses
    q = np.zeros(population.counts.size)
    q[cells] = masses
    f = pt.regularize(counts, strength, response="income")
    expected = pt.project(f, pt.pur(f, response="income", protected=("gender", "race"), conditions=conditions))
    assert q.reshape(population.counts.shape) == pytest.approx(as_matrix(population, expected.table), abs=1e-9)
    assert problem.system.rows == pt.coefficients(f, expected.constraints).matrix.shape[0]


def test_subproblem__is_of_the_support_alone() -> None:
    counts = pt.datasets.adult(split="train")
    population = population_of(counts, response="income", protected=("gender", "race"))
    part = population.counts.copy()
    part[::3] = 0.0
    problem, cells = subproblem(population, regularize_counts(part, 1e-4), "PUR")
    assert len(cells) == len(problem.reference) == np.count_nonzero(part.sum(axis=1)) * 2
    assert problem.system.find_supported().all()
    assert problem.reference == pytest.approx(regularize_counts(part, 1e-4).ravel()[cells], abs=0)


def test_subproblem__without_unprotected_attributes() -> None:
    people = pt.tabulate({"y": [0, 1, 1, 0], "s": ["f", "f", "m", "m"]}, weights=[4, 1, 3, 2])
    population = population_of(people, response="y", protected=("s",))
    problem, cells = subproblem(population, population.counts / 10, "PUR")
    masses = run(problem, pt.Newton(), STOPPING).iterate.masses
    assert masses[np.argsort(cells)] == pytest.approx([0.3, 0.2, 0.3, 0.2])


def test_subproblem__refuses_parity_on_a_pair_without_profiles() -> None:
    people = pt.tabulate({"y": [0, 1, 1], "s": ["f", "f", "m"], "x": [0, 0, 0]})
    population = population_of(people, response="y", protected=("s",))
    with pytest.raises(pt.InfeasibleError, match="response and protected profile that occur"):
        subproblem(population, population.counts / 3, "PUR")
