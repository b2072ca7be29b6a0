from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.newton.line_search import curvature
from purtensor.solving import chunked as over_profiles
from purtensor.solving.chunked import measure_bend, measure_masses, rebuild
from tests.solving.drawn import arrays_of, coefficients


@pytest.fixture(params=["whole", "in chunks"])
def problem(request, monkeypatch):
    if request.param == "in chunks":
        monkeypatch.setattr(over_profiles, "SMALLEST_IN_CHUNKS", 1)
        monkeypatch.setattr(over_profiles, "PROFILES_PER_CHUNK", 50)
    return arrays_of("a")


@pytest.fixture
def potentials(problem):
    return np.random.default_rng(1).normal(size=problem.system.rows)


def test_rebuilt__is_the_member_of_the_family(problem, potentials):
    wanted = problem.reference * np.exp(coefficients(problem).T @ potentials)
    assert rebuild(problem, potentials) == pytest.approx(wanted, rel=1e-14)


def test_measured__by_the_worst_constraint(problem):
    sums = np.full(problem.system.rows, np.nan)
    largest, l1 = measure_masses(problem, problem.reference, sums)
    misses = np.abs(coefficients(problem) @ problem.reference - problem.targets)
    assert sums == pytest.approx(coefficients(problem) @ problem.reference, rel=1e-14)
    assert largest == pytest.approx(misses.max(), rel=1e-12)
    assert l1 == pytest.approx(max(misses[problem.system.block(k)].sum() for k in range(3)), rel=1e-12)


def test_measured__tells_of_what_is_no_number(problem):
    spoilt = problem.reference.copy()
    spoilt[7] = np.nan
    assert np.isnan(measure_masses(problem, spoilt, np.empty(problem.system.rows))).all()


def test_bent__along_a_direction(problem, potentials):
    change = coefficients(problem).T @ potentials
    loss, largest = measure_bend(problem, problem.reference, potentials, 0.1)
    assert loss == pytest.approx(curvature(problem.reference, change, 0.1), rel=1e-12)
    assert largest == pytest.approx(np.abs(change).max(), rel=1e-14)


def test_all__have_the_same_bits_for_any_number_of_threads(monkeypatch):
    problem = arrays_of("b")
    potentials = np.random.default_rng(2).normal(scale=0.1, size=problem.system.rows)
    monkeypatch.setattr(over_profiles, "SMALLEST_IN_CHUNKS", 1)
    monkeypatch.setattr(over_profiles, "PROFILES_PER_CHUNK", 100)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("PURTENSOR_THREADS", threads)
        sums = np.empty(problem.system.rows)
        masses = rebuild(problem, potentials)
        found.append(
            [
                masses,
                measure_masses(problem, masses, sums),
                sums,
                measure_bend(problem, masses, potentials, 1.0),
            ]
        )
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
