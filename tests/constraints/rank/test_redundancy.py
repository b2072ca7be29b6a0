"""Every redundant row follows from rows named before it: checked on the matrix, entry by entry."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from purtensor.constraints.rank.exact_rank import Structure
from purtensor.constraints.rank.faces import Faces, category_counts, find_faces
from purtensor.constraints.rank.graph import graph_of
from purtensor.constraints.rank.independence import Analysis, constraint_order, independent_rows
from purtensor.constraints.rank.peeling import peel_system
from purtensor.constraints.rank.redundancy import proofs, redundant
from purtensor.constraints.rank.slab_elimination import slab_by_slab
from purtensor.constraints.system import System, submatrix
from tests.constraints.exact import all_pairs, dense_matrix, rational_rank, system_on
from tests.constraints.rank.test_independence import PUR, doubling_support, inside_rows, random_system

Build = Callable[[System, tuple[str, ...], Analysis], "Structure | None"]


def check(system: System, independent: np.ndarray, found: list) -> None:
    """Every other row is proved, by rows that are independent or proved before, on the matrix itself."""
    matrix = dense_matrix(system).astype(object)
    known = set(independent.tolist())
    for proof in found:
        assert proof.row not in known
        assert known.issuperset(proof.rows.tolist())
        assert proof.multiplier > 0
        assert np.array_equal(proof.multiplier * matrix[proof.row], proof.weights.astype(object) @ matrix[proof.rows])
        known.add(proof.row)
    assert known == set(range(system.rows))


def check_redundant(system: System) -> None:
    check(system, independent_rows(system).rows, list(redundant(system)))


def by_graph(system: System, key: tuple[str, ...], plain: Analysis) -> Structure | None:
    if len(plain.order) == 1:
        return None
    rows = [system.offsets[k] + np.flatnonzero(plain.faces.spanning[system.block(k)]) for k in plain.order[2:]]
    return graph_of(system, plain.order, plain.supported, np.concatenate([np.empty(0, dtype=int), *rows]))


def by_peeling(system: System, key: tuple[str, ...], plain: Analysis) -> Structure | None:
    return peel_system(system, plain.faces.spanning, 10**6)


def by_slabs(system: System, key: tuple[str, ...], plain: Analysis) -> Structure | None:
    return slab_by_slab(system, key, plain.faces.spanning, plain.supported)


@pytest.mark.parametrize("build", [by_graph, by_peeling, by_slabs])
@pytest.mark.parametrize("seed", range(24))
def test_proofs__every_structure_on_every_key(seed: int, build: Build) -> None:
    system = random_system(seed)
    matrix = dense_matrix(system)
    for key in sorted({(name,) for scope in system.scopes for name in scope}):
        order, supported = constraint_order(system, key), system.find_supported()
        faces: Faces = find_faces(system, order, supported, category_counts(system, order))
        structure = build(system, key, Analysis("", order, supported, faces))
        if structure is None:
            continue
        analysis = Analysis(structure.method, order, supported, faces, structure)
        rows = np.flatnonzero(analysis.independent)
        assert len(rows) == rational_rank(matrix) == rational_rank(matrix[rows])
        check(system, rows, list(proofs(system, analysis)))
        if structure.serves_order:
            inside = inside_rows(system, key)
            assert np.isin(rows, inside).sum() == rational_rank(matrix[inside])


@pytest.mark.parametrize("seed", range(30))
def test_redundant__implied_by_independent_and_earlier_rows(seed: int) -> None:
    check_redundant(random_system(seed))


@pytest.mark.parametrize("seed", [104, 362, 927, 1083])
def test_redundant__multipliers_beyond_one(seed: int) -> None:
    """Supports found by search, on which some row is implied only twice over."""
    rng = np.random.default_rng(seed)
    support_sizes = rng.integers(2, 5, int(rng.integers(3, 5)))
    support = rng.random(support_sizes) < rng.choice([0.3, 0.5, 0.7])
    system = system_on(support, all_pairs(4))
    assert any(proof.multiplier > 1 for proof in redundant(system))
    check_redundant(system)


def test_redundant__weights_beyond_one_prime_and_int64() -> None:
    system = system_on(doubling_support(70), [(0,), (1,), (2,)])
    assert max(int(np.abs(proof.weights).max()) for proof in redundant(system)) > 2**63
    check_redundant(system)


def test_redundant__rows_without_profiles() -> None:
    support = np.ones((2, 3, 2), dtype=bool)
    system = submatrix(system_on(support, PUR), np.flatnonzero(np.argwhere(support)[:, 1] > 0))
    check_redundant(system)
    assert str(redundant(system)[0]) == "a0=0, a1=0 has no profile"


def test_redundant__reads_as_a_sentence() -> None:
    system = system_on(np.ones((2, 2), dtype=bool), [(0,), (1,)])
    assert [str(proof) for proof in redundant(system)] == ["a1=0 is (a0=0) + (a0=1) - (a1=1)"]
    long = system_on(np.ones((2, 12), dtype=bool), [(0, 1), (0,)])
    assert str(redundant(long)[0]).endswith("and 4 more terms")
