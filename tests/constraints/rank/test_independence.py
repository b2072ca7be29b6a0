"""Exact ranks against rational elimination, against formulas, and on supports where the usual rules are wrong."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from purtensor.constraints.rank import independence
from purtensor.constraints.rank import slab_elimination as slabwise
from purtensor.constraints.rank.independence import independent_rows
from purtensor.constraints.system import System, submatrix
from purtensor.errors import TooLargeError
from tests.constraints.exact import all_pairs, dense_matrix, rational_rank, system_on

PUR = [(0, 1), (0, 2), (1, 2)]
"""Parity, utility, realism over the attributes y, s, x."""


def random_system(seed: int) -> System:
    """Two to four attributes, a support of any density, one to five scopes, repeated and nested ones among them."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 5))
    sizes = rng.integers(2, 5 if count < 4 else 4, count)
    support = rng.random(sizes) < rng.choice([0.2, 0.4, 0.6, 0.8, 0.95, 1.0])
    support.flat[0] = True
    subsets = [s for n in range(1, count + 1) for s in itertools.combinations(range(count), n)]
    return system_on(support, [subsets[i] for i in rng.integers(0, len(subsets), rng.integers(1, 6))])


def inside_rows(system: System, key: tuple[str, ...]) -> np.ndarray:
    inside = [k for k, scope in enumerate(system.scopes) if set(key) <= set(scope)]
    return np.concatenate([np.arange(system.offsets[k], system.offsets[k + 1]) for k in inside])


@pytest.mark.parametrize("seed", range(60))
def test_independent_rows__rational_elimination(seed: int) -> None:
    system = random_system(seed)
    matrix = dense_matrix(system)
    found = independent_rows(system)
    assert found.rank == len(found.rows) == rational_rank(matrix)
    assert rational_rank(matrix[found.rows]) == found.rank
    assert np.all(np.diff(found.rows) > 0)


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_independent_rows__inside_rows_come_first(seed: int) -> None:
    system = random_system(seed)
    matrix = dense_matrix(system)
    for key in {(name,) for scope in system.scopes for name in scope}:
        found = independent_rows(system, key)
        assert found.key == key
        inside = inside_rows(system, key)
        assert np.isin(found.rows, inside).sum() == rational_rank(matrix[inside])


@pytest.mark.parametrize("seed", range(5))
def test_independent_rows__do_not_depend_on_the_order_of_profiles(seed: int) -> None:
    system = random_system(seed)
    shuffled = submatrix(system, np.random.default_rng(seed).permutation(system.profiles))
    np.testing.assert_array_equal(independent_rows(shuffled).rows, independent_rows(system).rows)


def components_of_protected(observed: np.ndarray) -> int:
    """The components of the graph on s that joins two when some x was observed with both."""
    return connected_components(observed.astype(int) @ observed.T.astype(int), directed=False)[0]


@pytest.mark.parametrize("block", range(10))
def test_independent_rows__pur_on_observed_profiles(block: int) -> None:
    """Each slab gives |Y| + |S_x| - 1 and parity (|Y| - 1)(|S| - k): design of the project, on 300 supports."""
    for seed in range(30 * block, 30 * block + 30):
        rng = np.random.default_rng(seed)
        y, s, x = int(rng.integers(2, 4)), int(rng.integers(2, 5)), int(rng.integers(1, 6))
        observed = rng.random((s, x)) < rng.choice([0.3, 0.5, 0.8])
        observed = observed[observed.any(axis=1)][:, observed.any(axis=0)]
        if not observed.size:
            continue
        system = system_on(np.broadcast_to(observed, (y, *observed.shape)), PUR)
        local = int(np.sum(y + observed.sum(axis=0) - 1))
        coupling = (y - 1) * (observed.shape[0] - components_of_protected(observed))
        found = independent_rows(system, ("a2",))
        assert found.rank == local + coupling
        assert np.isin(found.rows, inside_rows(system, ("a2",))).sum() == local
        if seed % 5 == 0:
            assert found.rank == rational_rank(dense_matrix(system))


@pytest.mark.parametrize("seed", range(30))
def test_independent_rows__pur_with_zeros_inside_slabs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    support = rng.random((3, 4, 6)) < rng.choice([0.3, 0.5, 0.7])
    support[0, 0, 0] = True
    system = system_on(support, PUR)
    found = independent_rows(system, ("a2",))
    local = 0
    for slab in np.moveaxis(support, 2, 0):
        rows, columns = slab.any(axis=1).sum(), slab.any(axis=0).sum()
        edges = np.nonzero(slab)
        graph = coo_array((np.ones(len(edges[0])), (edges[0], 3 + edges[1])), shape=(7, 7))
        isolated = 7 - rows - columns
        local += rows + columns - (connected_components(graph, directed=False)[0] - isolated)
    assert np.isin(found.rows, inside_rows(system, ("a2",))).sum() == local
    assert found.rank == rational_rank(dense_matrix(system))


def test_independent_rows__every_method_is_met() -> None:
    cube = np.ones((2, 3, 4), dtype=bool)
    holed = cube.copy()
    holed[0, 1, 2] = False
    assert independent_rows(system_on(holed, [(0, 1)])).method == "one constraint"
    assert independent_rows(system_on(holed, [(0, 1), (1, 2)])).method == "graph"
    assert independent_rows(system_on(cube, PUR)).method == "full product"
    found = independent_rows(system_on(holed, PUR))
    assert found.method == "graph and cycles"
    assert found.rank == 24 - 2 * 3 * 1  # one hole does not touch the rank of 1 + 1 + 2 + 3 + 2 + 3 + 6


@pytest.mark.compiled("takes too long as plain Python")
def test_independent_rows__all_two_way_marginals_of_sixteen_binary_attributes() -> None:
    """1 + 16 + 120, on the full product and with a tenth of the profiles gone."""
    support = np.ones((2,) * 16, dtype=bool)
    assert independent_rows(system_on(support, all_pairs(16))).rank == 137
    support = np.random.default_rng(1).random(support.shape) < 0.9
    found = independent_rows(system_on(support, all_pairs(16)))
    assert found.rank == 137
    assert found.method == "graph and cycles"


def test_independent_rows__full_product_of_the_constrained_attributes_only() -> None:
    """An attribute that no constraint mentions may have any support."""
    rng = np.random.default_rng(2)
    support = rng.random((2, 3, 3, 5)) < 0.3
    support[..., 0] = True
    found = independent_rows(system_on(support, PUR))
    assert found.method == "full product"
    assert found.rank == 1 + 1 + 2 + 2 + 2 + 2 + 4


def test_independent_rows__categories_without_support_give_nothing() -> None:
    support = np.ones((2, 3, 4), dtype=bool)
    system = system_on(support, PUR)
    fewer = submatrix(system, np.flatnonzero(np.argwhere(support)[:, 2] < 2))
    found = independent_rows(fewer)
    assert found.method == "full product"
    assert found.rank == 1 + 1 + 2 + 1 + 2 + 1 + 2
    assert fewer.find_supported()[found.rows].all()
    assert found.rank == rational_rank(dense_matrix(fewer))


def test_independent_rows__no_profile_at_all() -> None:
    system = system_on(np.ones((2, 2, 2), dtype=bool), PUR)
    assert independent_rows(submatrix(system, np.empty(0, dtype=int))).rank == 0


def doubling_support(length: int) -> np.ndarray:
    """Profiles (a, b, c) whose cycles say 2 w_n = w_(n+1) + w_0: relations grow to 2^(length - 1)."""
    support = np.zeros((2 * length, 2 * length, length + 2), dtype=bool)
    for n in range(1, length + 1):
        a = 2 * (n - 1)
        support[a, a, n] = support[a + 1, a + 1, n] = support[a, a + 1, n + 1] = support[a + 1, a, 0] = True
    return support


@pytest.mark.parametrize("length", [3, 12, 25])
def test_independent_rows__relations_beyond_one_prime(length: int) -> None:
    system = system_on(doubling_support(length), [(0,), (1,), (2,)])
    assert independent_rows(system).rank == rational_rank(dense_matrix(system)) == 2 * length + length * 2


def test_independent_rows__refuses_before_it_allocates(monkeypatch: pytest.MonkeyPatch) -> None:
    system = system_on(np.random.default_rng(1).random((8, 8, 8)) < 0.2, PUR)
    monkeypatch.setattr(independence, "MOST_COUPLED", 3)
    with pytest.raises(TooLargeError, match=r"\d+ coupled rows, \d+ bytes, of which at most 144 are allowed"):
        independent_rows(system)


def holed_cube(size: int, share: float) -> System:
    return system_on(np.random.default_rng(3).random((size,) * 3) < share, PUR)


def test_independent_rows__large_sets_by_peeling(monkeypatch: pytest.MonkeyPatch) -> None:
    system = holed_cube(9, 0.8)
    expected = independent_rows(system)
    assert expected.method == "graph and cycles"
    monkeypatch.setattr(independence, "FEW_COUPLED", 10)
    monkeypatch.setattr(independence, "CUBES_PER_VISIT", 0)
    found = independent_rows(replace(system))
    assert (found.method, found.rank, found.key) == ("peeled", expected.rank, expected.key)


def test_independent_rows__few_rows_for_so_many_profiles_are_not_peeled(monkeypatch: pytest.MonkeyPatch) -> None:
    system = holed_cube(9, 0.8)
    expected = independent_rows(system)
    monkeypatch.setattr(independence, "FEW_COUPLED", 10)
    monkeypatch.setattr(independence, "CUBES_PER_VISIT", 1000)
    found = independent_rows(replace(system))
    assert found.method == "graph and cycles"
    np.testing.assert_array_equal(found.rows, expected.rows)


def test_independent_rows__large_sets_by_peeling_to_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    system = holed_cube(9, 0.25)
    expected = independent_rows(system)
    monkeypatch.setattr(independence, "FEW_COUPLED", 10)
    monkeypatch.setattr(independence, "CUBES_PER_VISIT", 0)
    monkeypatch.setattr(independence, "MOST_COUPLED", 50)
    found = independent_rows(replace(system))
    assert (found.method, found.rank, found.key) == ("peeled", expected.rank, None)


def test_independent_rows__large_sets_slab_by_slab(monkeypatch: pytest.MonkeyPatch) -> None:
    support = np.random.default_rng(4).random((8, 3, 3, 3)) < 0.4
    system = system_on(support, [(0, 1), (0, 2), (0, 3), (1, 2)])
    expected = independent_rows(system, ("a0",))
    assert expected.method == "graph and cycles"
    monkeypatch.setattr(independence, "FEW_COUPLED", 10)
    monkeypatch.setattr(independence, "CUBES_PER_VISIT", 0)
    found = independent_rows(replace(system), ("a0",))
    assert (found.method, found.key) == ("slab by slab", ("a0",))
    np.testing.assert_array_equal(found.rows, expected.rows)


def test_independent_rows__slabs_whose_null_vectors_are_not_small_are_left_to_the_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Modulo 2 no null vector with a -1 is told from one with a 1: its sums show it."""
    support = np.random.default_rng(4).random((8, 3, 3, 3)) < 0.4
    system = system_on(support, [(0, 1), (0, 2), (0, 3), (1, 2)])
    monkeypatch.setattr(independence, "FEW_COUPLED", 10)
    monkeypatch.setattr(independence, "CUBES_PER_VISIT", 0)
    monkeypatch.setattr(slabwise, "primes", lambda: iter([2]))
    found = independent_rows(replace(system), ("a0",))
    assert found.method == "graph and cycles"
    assert found.rank == rational_rank(dense_matrix(system))
