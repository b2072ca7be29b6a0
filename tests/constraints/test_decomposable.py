"""Decomposable scopes against chordality by definition, the closed form against exact iterative fitting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.constraints.decomposable import compute_closed_form, decomposable
from purtensor.constraints.system import align
from purtensor.tables.coded import encode
from tests import oracles
from tests.strategies import Case, cases

SCOPES = st.lists(st.sets(st.sampled_from("abcde"), min_size=1, max_size=3).map(sorted), min_size=1, max_size=6)


def is_decomposable(scopes: list[list[str]]) -> bool:
    """By definition: some order of the maximal scopes in which each meets all before it inside one of them."""
    sets = {frozenset(scope) for scope in scopes}
    maximal = [s for s in sets if not any(s < t for t in sets)]
    return any(
        all(
            any(order[n] & frozenset().union(*order[:n]) <= earlier for earlier in order[:n])
            for n in range(1, len(order))
        )
        for order in itertools.permutations(maximal)
    )


@given(SCOPES)
def test_decomposable__the_definition(scopes: list[list[str]]) -> None:
    line = decomposable(scopes)
    assert (line is not None) == is_decomposable(scopes)
    before: set[str] = set()
    for n, clique in enumerate(line or ()):
        assert list(clique.scope) == scopes[clique.number]
        assert set(clique.separator) == before & set(clique.scope)
        assert n == 0 or any(set(clique.separator) <= set(other.scope) for other in line[:n])
        before |= set(clique.scope)
    assert line is None or before == set().union(*scopes)


def test_decomposable__known_sets() -> None:
    assert decomposable(["yx", "sx", "ys"]) is None
    assert decomposable(["ab", "bc", "cd", "da"]) is None
    assert [clique.number for clique in decomposable(["abc", "cde", "ab", "abc"])] == [0, 1]
    assert [clique.separator for clique in decomposable(["ab", "cd"])] == [(), ()]


def solved(case: Case, reference: dict) -> dict:
    """The projection by exact fitting: for decomposable scopes in line one sweep is all it takes."""
    line = decomposable(case.scopes)
    constraints = [(clique.scope, case.targets[clique.number]) for clique in line]
    return oracles.ipf_half_steps(reference, case.attributes, constraints, 1)[-1]


def by_formula(case: Case, reference: dict) -> dict | None:
    coded = encode(case.table(reference))
    values = compute_closed_form(coded.values, align(coded, case.constraints))
    if values is None:
        return None
    return {coded.label(row): value for row, value in enumerate(values)}


@given(cases(most=5, kinds=("full", "sparse")))
def test_closed_form__is_the_projection_of_the_uniform_where_it_exists(case: Case) -> None:
    reference = dict.fromkeys(case.reference_masses, oracles.Fraction(1))
    found = by_formula(case, reference)
    if decomposable(case.scopes) is None:
        assert found is None
        return
    profiles = len(reference)
    expected = solved(case, reference)
    meets = all(
        oracles.marginal(expected, case.attributes, scope) == target
        for scope, target in zip(case.scopes, case.targets, strict=True)
    )
    if profiles == np.prod([len({p[n] for p in reference}) for n in range(len(case.attributes))]):
        assert found is not None
    if found is None:
        return
    assert meets
    for profile, value in expected.items():
        assert found[profile] == pytest.approx(float(value), rel=1e-13)


@given(cases(most=4, kinds=("full",)), st.integers(0, 1000))
def test_closed_form__is_the_projection_of_references_in_the_family(case: Case, seed: int) -> None:
    """The reference is a product of one factor a scope, counts small enough to be exact, or floats."""
    rng = np.random.default_rng(seed)
    reference = dict.fromkeys(case.reference_masses, oracles.Fraction(1))
    for scope, target in zip(case.scopes, case.targets, strict=True):
        at = [case.attributes.index(name) for name in scope]
        factor = {row: int(rng.integers(1, 4)) for row in target}
        reference = {p: mass * factor[tuple(p[i] for i in at)] for p, mass in reference.items()}
    if seed % 2:
        reference = {profile: oracles.Fraction(float(mass) / 7) for profile, mass in reference.items()}
    found = by_formula(case, reference)
    assert (found is None) == (decomposable(case.scopes) is None)
    if found is not None:
        for profile, value in solved(case, reference).items():
            assert found[profile] == pytest.approx(float(value), rel=1e-12)


def arrays(support: np.ndarray, scopes: str, target: np.ndarray):
    coords = {name: list(range(size)) for name, size in zip("yasx", support.shape)}
    dims = list(coords)
    reference = xr.DataArray(support.astype(float), dims=dims, coords=coords)
    constraints = pt.marginals_of(xr.DataArray(target, dims=dims, coords=coords), scopes)
    coded = encode(reference)
    return coded.values, align(coded, constraints)


def test_closed_form__responses_by_observed_predictors_are_a_product() -> None:
    """The support Y x observed (s, x) is no full product, and yet uniform on it is in the family of (y, x), (s, x)."""
    observed = np.array([[1, 0, 1], [1, 1, 0]])
    support = np.broadcast_to(observed, (2, 1, 2, 3))
    target = np.random.default_rng(0).random(support.shape) * support
    values, system = arrays(support, "y x | s x", target)
    found = compute_closed_form(values, system)
    y, _, s, x = np.nonzero(support)
    expected = target.sum((1, 2))[y, x] * target.sum((0, 1))[s, x] / target.sum((0, 1, 2))[x]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_closed_form__refuses_where_the_formula_is_not_the_projection() -> None:
    rng = np.random.default_rng(1)
    full = np.ones((2, 1, 2, 3))
    holed = full.copy()
    holed[0, 0, 0, 0] = 0
    assert compute_closed_form(*arrays(full, "y x | s x", rng.random(full.shape))) is not None
    # not decomposable; a hole within a slab; a reference outside of the family
    assert compute_closed_form(*arrays(full, "y x | s x | y s", rng.random(full.shape))) is None
    assert compute_closed_form(*arrays(holed, "y x | s x", rng.random(full.shape) * holed)) is None
    assert compute_closed_form(*arrays(full + rng.random(full.shape), "y x | s x", rng.random(full.shape))) is None


def test_closed_form__zero_targets_give_exact_zeros() -> None:
    full = np.ones((2, 1, 2, 3))
    target = np.random.default_rng(2).random(full.shape)
    target[1, :, :, 2] = 0
    values, system = arrays(full, "y x | s x", target)
    found = compute_closed_form(values, system).reshape(full.shape)
    assert np.all(found[1, :, :, 2] == 0)
    assert found.sum() == pytest.approx(target.sum())
