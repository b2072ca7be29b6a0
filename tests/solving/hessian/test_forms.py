"""Every form of Newton's equations against a dense least-squares solution, with structural zeros and components."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import purtensor as pt
from purtensor.constraints.rank.independence import independent_rows
from purtensor.constraints.slabs import arrange, choose_key
from purtensor.solving.hessian import arrowhead, bipartite, dense
from purtensor.solving.hessian.arrowhead import build_arrowhead
from purtensor.solving.hessian.bipartite import build_bipartite
from purtensor.solving.hessian.conjugate import Conjugate
from purtensor.solving.hessian.dense import build_dense
from purtensor.solving.spaces import arrays
from tests.constraints.exact import dense_matrix, system_on
from tests.kernels.drawn import plain
from tests.solving.drawn import arrays_of, solved

PUR = [(0, 1), (0, 2), (1, 2)]
PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]

SUPPORTS = {
    "PUR, full": ((3, 4, 6), PUR, 1.0),
    "PUR, half of the cells": ((3, 4, 6), PUR, 0.5),
    "PUR, many components": ((3, 5, 8), PUR, 0.2),
    "PUR, binary": ((2, 2, 7), PUR, 0.7),
    "one profile a slab": ((2, 3, 9), PUR, 0.15),
    "two protected attributes": ((3, 2, 2, 5), [(0, 1, 2), (0, 3), (1, 2, 3)], 0.6),
    "all pairs": ((2, 3, 2, 3), PAIRS, 1.0),
    "all pairs, sparse": ((3, 3, 3, 3), PAIRS, 0.3),
    "three inside": ((3, 3, 3, 5), [(0, 3), (1, 3), (2, 3), (0, 1)], 0.5),
    "coupled twice": ((3, 3, 3, 4), [(0, 1, 3), (1, 2, 3), (0, 2), (1, 2)], 0.7),
    "a chain": ((3, 4, 5), [(0, 1), (1, 2)], 0.5),
    "no shared attribute": ((3, 4, 5), [(0,), (1,), (2,)], 0.8),
    "one constraint": ((3, 4), [(0,)], 0.9),
    "a constraint twice": ((3, 4, 3), [(0, 1), (1, 2), (0, 1), (1,)], 0.8),
}


@pytest.fixture(params=SUPPORTS)
def case(request):
    """A system in slab order, its slabs, independent rows and C."""
    shape, scopes, share = SUPPORTS[request.param]
    rng = np.random.default_rng(sum(shape))
    support = rng.random(shape) < share
    support.flat[0] = True
    system, slabs = system_on(support, scopes), None
    key = choose_key(system)
    if key is not None:
        system, slabs, _ = arrange(system, key)
    rows = independent_rows(system).rows
    return SimpleNamespace(system=system, slabs=slabs, rows=rows, matrix=dense_matrix(system).astype(float), rng=rng)


def forms(case):
    """All forms that apply."""
    mask = np.zeros(case.system.rows, dtype=bool)
    mask[case.rows] = True
    dependent = np.flatnonzero(~mask)
    found = {
        "dense": build_dense(case.system, case.rows),
        "conjugate": Conjugate(case.system, "", dependent, relative=1e-12),
        "conjugate on all rows": Conjugate(case.system, "", relative=1e-12),
    }
    if case.slabs is not None:
        found["arrowhead"] = build_arrowhead(case.system, case.slabs, mask)
        crossing = build_bipartite(case.system, case.slabs, mask)
        if crossing is not None:
            found["bipartite"] = crossing
    return found


@pytest.mark.parametrize("spread", [0, 3, 6])
def test_forms__solve_newtons_equations(case, spread):
    masses = 10.0 ** -case.rng.uniform(0.0, spread, case.system.profiles)
    wanted = case.matrix.T @ case.rng.standard_normal(case.system.rows)
    other = case.matrix.T @ case.rng.standard_normal(case.system.rows)
    for name, form in forms(case).items():
        first, factored = form.factor_and_solve(masses, case.matrix @ (masses * wanted))
        second = factored.solve(case.matrix @ (masses * other))
        for found, goal in ((first, wanted), (second, other)):
            # the matrix squares the range of the masses; each profile's error counts with its mass
            error = np.sqrt(masses @ (case.matrix.T @ found - goal) ** 2 / (masses @ goal**2))
            assert error <= (1e-8 if name.startswith("conjugate") else 1e-10), name
            dependent = np.setdiff1d(np.arange(case.system.rows), case.rows)
            assert name == "conjugate on all rows" or not found[dependent].any(), name


def test_dense__added_up_in_lanes_gives_the_same_bits_on_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(3)
    system = system_on(np.ones((7, 8, 9), dtype=bool), [(0, 1), (1, 2), (0, 2)])
    form = build_dense(system, independent_rows(system).rows)
    masses, rhs = rng.uniform(0.1, 1.0, system.profiles), rng.standard_normal(system.rows)
    whole, _ = form.factor_and_solve(masses, rhs)
    monkeypatch.setattr(dense, "_PAIRS", 9 * 10)  # 51 chunks: six rounds of eight lanes, and three chunks
    found = set()
    for threads in ("1", "3"):
        monkeypatch.setenv("PURTENSOR_THREADS", threads)
        found.add(form.factor_and_solve(masses, rhs)[0].tobytes())
    (bits,) = found
    assert np.frombuffer(bits) == pytest.approx(whole, rel=1e-9, abs=1e-12)
    monkeypatch.setattr(dense, "_ENTRIES", 1)  # one lane: no room for a second matrix
    assert form.factor_and_solve(masses, rhs)[0] == pytest.approx(whole, rel=1e-9, abs=1e-12)


def test_forms__apply_where_they_should():
    found = {}
    for name, (shape, scopes, _) in SUPPORTS.items():
        system = system_on(np.ones(shape, dtype=bool), scopes)
        key = choose_key(system)
        if key is not None:
            system, slabs, _ = arrange(system, key)
            mask = independent_rows(system, key).mask(system.rows)
            found[name] = build_bipartite(system, slabs, mask) is not None
    assert found["PUR, full"]
    assert found["two protected attributes"]
    assert not found["three inside"]
    assert not found["coupled twice"]
    assert not found["all pairs"]


@pytest.mark.parametrize("name", ["PUR, half of the cells", "coupled twice"])
def test_forms__interpreted_kernels_give_the_compiled_solution(monkeypatch, name):
    shape, scopes, share = SUPPORTS[name]
    rng = np.random.default_rng(2)
    support = rng.random(shape) < share
    system = system_on(support, scopes)
    system, slabs, _ = arrange(system, choose_key(system))
    rows = independent_rows(system).rows
    case = SimpleNamespace(system=system, slabs=slabs, rows=rows)
    masses = rng.uniform(0.1, 1.0, system.profiles)
    rhs = dense_matrix(system) @ (masses * rng.standard_normal(system.profiles))
    compiled = {kind: form.factor_and_solve(masses, rhs)[0] for kind, form in forms(case).items()}
    for module, kernels in (
        (arrowhead, ("assemble", "substitute")),
        (bipartite, ("assemble_bipartite", "substitute_bipartite")),
        (dense, ("add_pairs",)),
    ):
        for kernel in kernels:
            monkeypatch.setattr(module, kernel, plain(getattr(module, kernel)))
    for kind, form in forms(case).items():
        assert form.factor_and_solve(masses, rhs)[0] == pytest.approx(compiled[kind], rel=1e-10, abs=1e-12), kind


def test_forms__newton_takes_the_same_steps_by_all_of_them(monkeypatch):
    problem = arrays_of("a")
    mask = independent_rows(problem.system).mask(problem.system.rows)
    rows = np.flatnonzero(mask)
    builds = {
        "arrowhead": build_arrowhead(problem.system, problem.slabs, mask),
        "bipartite": build_bipartite(problem.system, problem.slabs, mask),
        "dense": build_dense(problem.system, rows),
        "conjugate": Conjugate(problem.system, ""),
    }
    reached = {}
    for kind, form in builds.items():
        monkeypatch.setattr(arrays, "hessian_of", lambda _, form=form: form)
        reached[kind] = solved(problem, pt.Newton(), tolerance=1e-12)
    answers = [outcome.iterate.masses for outcome in reached.values()]
    for other in answers[1:]:
        assert other == pytest.approx(answers[0], rel=1e-7)
    assert {kind: outcome.iterations for kind, outcome in reached.items() if kind != "conjugate"} == dict.fromkeys(
        ("arrowhead", "bipartite", "dense"), reached["dense"].iterations
    )


def chunked(problem, monkeypatch, threads, slabs_per_chunk=7):
    """The bipartite form of a problem, eliminated in chunks of few slabs."""
    monkeypatch.setenv("PURTENSOR_THREADS", str(threads))
    monkeypatch.setattr(bipartite, "_SMALLEST_IN_CHUNKS", 1)
    monkeypatch.setattr(bipartite, "_SLABS_PER_CHUNK", slabs_per_chunk)
    mask = independent_rows(problem.system).mask(problem.system.rows)
    return build_bipartite(problem.system, problem.slabs, mask)


def test_bipartite__has_the_same_bits_for_any_number_of_threads(monkeypatch):
    problem = arrays_of(pt.problems.load("b"))
    rhs = np.random.default_rng(3).standard_normal(problem.system.rows)
    rhs = dense_matrix(problem.system) @ (problem.reference * rhs[problem.index[0]])  # in the range of C diag(p) C^T
    whole = chunked(problem, monkeypatch, 1, problem.slabs.count)
    one, three = chunked(problem, monkeypatch, 1), chunked(problem, monkeypatch, 3)
    assert len(whole.chunks) == 1
    assert len(one.chunks) == len(three.chunks) == 30
    found, factored = zip(*(form.factor_and_solve(problem.reference, rhs) for form in (whole, one, three)), strict=True)
    again = [one.solve(2.0 * rhs) for one in factored[1:]]
    assert np.array_equal(found[1], found[2])
    assert np.array_equal(*again)
    assert found[1] == pytest.approx(found[0], rel=1e-9, abs=1e-9 * np.abs(found[0]).max())
    assert again[0] == pytest.approx(2.0 * found[1], rel=1e-9, abs=1e-9 * np.abs(found[0]).max())
