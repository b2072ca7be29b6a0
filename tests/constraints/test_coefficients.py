"""Coefficients in labels, and degrees of freedom that know the support."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given

import purtensor as pt
from purtensor.constraints.coefficients import coefficients, degrees_of_freedom
from purtensor.errors import TooLargeError
from tests import oracles
from tests.constraints.exact import rational_rank, support_table
from tests.strategies import Case, cases


def binary_table(*zeros: tuple[int, int, int]) -> xr.DataArray:
    values = np.ones((2, 2, 2))
    for zero in zeros:
        values[zero] = 0
    return xr.DataArray(values, dims=("a", "b", "c"), coords={name: [1, 2] for name in "abc"})


@given(cases(most=4))
def test_coefficients__matrix_labels_and_rank(case: Case) -> None:
    found = coefficients(case.reference, case.constraints)
    profiles = [tuple(label) for label in found.profiles]
    expected = oracles.coefficients(profiles, case.attributes, case.scopes)
    matrix = found.matrix.toarray()
    assert sorted(matrix.tolist()) == sorted(map(list, expected))
    assert found.rank == rational_rank(matrix) == len(found.independent_rows)
    assert rational_rank(matrix[found.independent_rows]) == found.rank
    assert {proof.row for proof in found.redundant_rows} == set(range(len(matrix))) - set(found.independent_rows)
    feasible = np.array([float(case.feasible_masses[profile]) for profile in profiles])
    np.testing.assert_allclose(found.matrix @ feasible, found.targets, rtol=1e-12, atol=0)


@given(cases(most=4))
def test_coefficients__rows_carry_their_constraint_and_categories(case: Case) -> None:
    found = coefficients(case.reference, case.constraints)
    frame = found.profiles.to_frame(index=False)
    for number, (label, row) in enumerate(zip(found.rows, found.matrix.toarray(), strict=True)):
        scope = case.scopes[label[0]]
        wanted = dict(zip(found.rows.names[1:], label[1:], strict=True))
        assert all(pd.isna(value) != (name in scope) for name, value in wanted.items())
        member = np.all([frame[name] == wanted[name] for name in scope], axis=0)
        np.testing.assert_array_equal(row, member)
        target = oracles.marginal(case.feasible_masses, case.attributes, scope)
        assert found.targets[number] == float(target[tuple(wanted[name] for name in scope)])


def test_coefficients__rows_of_one_constraint_are_in_category_order() -> None:
    table = support_table(np.array([[2, 1], [0, 1], [1, 0]]), ["a", "b"])
    found = coefficients(table, pt.marginals_of(table, "b a"))
    assert list(found.rows.get_level_values("b")) == [0, 1, 1]
    assert list(found.rows.get_level_values("a")) == [1, 0, 2]


def test_coefficients__whole_number_categories_stay_whole_beside_missing_ones() -> None:
    table = support_table(np.array([[2, 1], [0, 1], [1, 0]]), ["a", "b"])
    rows = coefficients(table, pt.marginals_of(table, "a | b")).rows
    assert [str(label) for label in rows] == ["(0, 0, nan)", "(0, 1, nan)", "(0, 2, nan)", "(1, nan, 0)", "(1, nan, 1)"]


def test_reduce__zero_targets_take_their_profiles_and_rows() -> None:
    table = binary_table()
    rows = xr.DataArray([[0.0, 2.0], [2.0, 4.0]], dims=("a", "b"), coords={"a": [1, 2], "b": [1, 2]})
    full = coefficients(table, [pt.Marginal(rows), *pt.marginals_of(table, "c")])
    reduced = full.reduce()
    assert full.shape == (6, 8)
    assert reduced.shape == (5, 6)
    assert (1, 1) not in {label[:2] for label in reduced.profiles}
    kept = [tuple(map(str, label)) for label in reduced.rows]
    assert kept == [tuple(map(str, label)) for label in full.rows if label[1:3] != (1, 1)]
    assert reduced.rank == 4
    assert reduced.matrix.toarray().sum(axis=0).tolist() == [2] * 6
    np.testing.assert_array_equal(reduced.reduce().matrix.toarray(), reduced.matrix.toarray())


def test_coefficients__nothing_is_computed_before_it_is_asked_for() -> None:
    table = binary_table()
    found = coefficients(table, pt.marginals_of(table, "a b | b c"))
    assert "rank not computed yet" in repr(found)
    assert found.rank == 6
    assert repr(found) == (
        "Coefficients(8 rows of 2 constraints (a x b: 4, b x c: 4) on 8 profiles, rank 6, matrix 228 bytes)"
    )
    assert found.matrix is found.matrix
    assert found.matrix.data.nbytes + found.matrix.indices.nbytes + found.matrix.indptr.nbytes == found.nbytes


def test_coefficients__matrix_is_refused_where_memory_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    table = binary_table()
    found = coefficients(table, pt.marginals_of(table, "a b"))
    monkeypatch.setattr("purtensor.tables.memory.available_memory", lambda: 100)
    monkeypatch.setattr("purtensor.tables.memory._NOT_ASKED", 0)
    with pytest.raises(TooLargeError, match="the matrix of these coefficients needs"):
        _ = found.matrix
    assert found.rank == 4


def test_coefficients__decomposition_is_that_of_the_scopes() -> None:
    table = binary_table()
    line = coefficients(table, pt.marginals_of(table, "a b | b c")).decomposition
    assert line is not None
    assert [clique.separator for clique in line] == [(), ("b",)]
    assert coefficients(table, pt.marginals_of(table, "a b | b c | a c")).decomposition is None


def test_degrees_of_freedom__one_structural_zero() -> None:
    """R says 1: it subtracts 7 from 8 whatever the support."""
    scopes = "a b | a c | b c"
    full, holed = binary_table(), binary_table((0, 0, 0))
    assert degrees_of_freedom(full, pt.marginals_of(full, scopes)) == 1
    assert degrees_of_freedom(holed, pt.marginals_of(holed, scopes)) == 0


def test_degrees_of_freedom__opposite_corners_empty() -> None:
    """Haberman's example (The Analysis of Frequency Data, 1974): only the table itself has its two-way marginals."""
    holed = binary_table((0, 0, 0), (1, 1, 1))
    assert degrees_of_freedom(holed, pt.marginals_of(holed, "a b | a c | b c")) == 0


def test_degrees_of_freedom__profiles_that_a_zero_target_empties_do_not_count() -> None:
    holed = binary_table((0, 0, 0), (0, 0, 1))
    constraints = pt.marginals_of(holed, "a b | c")
    assert degrees_of_freedom(binary_table(), constraints) == degrees_of_freedom(holed, constraints) == 2


@pytest.mark.parametrize("number", range(49))
def test_degrees_of_freedom__published_fits(shared: Path, number: int) -> None:
    """R's loglin subtracts parameters from cells; right wherever no fitted cell is zero."""
    with open(shared / "data/registry/tables/reference_fits.csv") as lines:
        fit = list(csv.DictReader(lines))[number]
    if fit["fitted_zeros"] != "0":
        pytest.skip("R's degrees of freedom are not corrected for fitted zeros")
    paths = [shared / "data" / kind / "tables" / fit["file"] for kind in ("registry", "snapshot")]
    frame = next((pd.read_csv(path) for path in paths if path.exists()), None)
    if frame is None:
        pytest.skip(f"{fit['file']} is not there")
    names = [name for name in frame.columns if name != "count"]
    counts = frame.groupby(names, sort=False)["count"].sum().to_xarray().fillna(0.0)
    everywhere = pt.to_sparse(counts, keep_zeros=True) * 0 + 1
    assert degrees_of_freedom(everywhere, pt.marginals_of(counts, fit["margins"])) == int(fit["df"])
