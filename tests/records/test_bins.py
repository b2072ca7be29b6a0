"""Bins of numbers: labels that say what is in them, the same in memory and from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.records.bins import bin_labels, bins_in, bins_labelled, make_bins, year_labels

AGES = [18, 30, 44, 45, 70]


@pytest.mark.parametrize(
    ("edges", "numbers", "labels"),
    [
        ([30, 45], AGES, ("<30", "30-44", ">=45")),
        ([30, 31], AGES, ("<30", "30", ">=31")),
        ([30], AGES, ("<30", ">=30")),
        ([2.5, 4], [1.0, 3.25], ("<2.5", "2.5-4", ">=4")),
        ([30, 45], [18.5, 50.0], ("<30", "30-45", ">=45")),
        ("quantiles:2", [1, 2, 3, 4], ("<3", ">=3")),
    ],
)
def test_make_bins__labels_say_what_is_in_them(edges: object, numbers: list[float], labels: tuple[str, ...]) -> None:
    values = np.array(numbers, dtype=np.float64)
    assert make_bins(edges, "age", values, np.ones(len(values))).labels == labels  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ([45, 30], "finite number, increasing"),
        ([], "finite number, increasing"),
        ("quantile:4", "got 'quantile:4'"),
        ("quantiles:1", "got 'quantiles:1'"),
        ("quantiles:x", "got 'quantiles:x'"),
    ],
)
def test_tabulate__refuses_bins_that_are_none(spec: object, told: str) -> None:
    with pytest.raises(pt.InvalidOptionError, match=told):
        pt.tabulate({"age": AGES}, bins={"age": spec})  # type: ignore[dict-item]


@pytest.mark.parametrize("kind", ["pandas", "polars", "dict", "csv", "parquet"])
@pytest.mark.parametrize("spec", [[30, 45], "quantiles:3"])
def test_tabulate__bins_alike_in_memory_and_from_files(tmp_path: Path, kind: str, spec: object) -> None:
    data = {"age": [*AGES, 22, 51], "sex": list("fmfmfmf")}
    frame = pd.DataFrame(data)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    source = {
        "pandas": frame,
        "polars": pl.DataFrame(data),
        "dict": data,
        "csv": tmp_path / "a.csv",
        "parquet": tmp_path / "a.parquet",
    }[kind]
    found = pt.tabulate(source, bins={"age": spec})  # type: ignore[dict-item]
    edges = [30, 45] if isinstance(spec, list) else [float(edge) for edge in found.attrs["bins of age"].split(",")]
    expected: dict[tuple[str, str], float] = {}
    labels = list(found.indexes["profile"].levels[0])
    for age, sex in zip(data["age"], data["sex"], strict=True):
        profile = labels[sum(age >= edge for edge in edges)], sex
        expected[profile] = expected.get(profile, 0.0) + 1.0
    assert found.to_series().to_dict() == expected


@given(st.lists(st.integers(-500, 500), min_size=10, max_size=60, unique=True), st.integers(2, 5))
def test_make_bins__quantiles_leave_no_bin_empty(numbers: list[int], parts: int) -> None:
    values = np.array(numbers, dtype=np.float64)
    bins = make_bins(f"quantiles:{parts}", "a", values, np.ones(len(values)))
    sizes = np.bincount(bins.codes(values), minlength=len(bins.labels))
    assert (sizes > 0).all()
    assert len(bins.labels) == parts
    with pytest.raises(pt.InvalidTableError, match="too few different numbers"):
        make_bins(f"quantiles:{parts}", "a", np.full(9, values[0]), np.ones(9))


def test_tabulate__missing_numbers_stay_missing_and_others_are_refused() -> None:
    with pytest.raises(pt.InvalidTableError, match="'age' is missing in 1 of 3 rows"):
        pt.tabulate({"age": [30.5, None, 40]}, bins={"age": [35]})
    kept = pt.tabulate({"age": [30.5, None, 40]}, bins={"age": [35]}, missing="category")
    assert kept.to_series().to_dict() == {("<35",): 1.0, (">=35",): 1.0, ("missing",): 1.0}
    with pytest.raises(pt.InvalidTableError, match="has an infinite number"):
        pt.tabulate({"age": [30.5, np.inf]}, bins={"age": [35]})
    with pytest.raises(pt.InvalidTableError, match="'age' is binned, but has"):
        pt.tabulate({"age": ["old", "young"]}, bins={"age": [35]})
    with pytest.raises(pt.UnknownAttributeError, match="no attribute 'aeg'"):
        pt.tabulate({"age": [1, 2]}, bins={"aeg": [1]})


@pytest.mark.parametrize("missing", ["drop", "category"])
def test_tabulate__nullable_integers_are_binned_as_floats_with_gaps_are(missing: str) -> None:
    ages = [18, None, 44, 70]
    frames = [pd.DataFrame({"age": pd.array(ages, dtype=kind), "sex": list("fmfm")}) for kind in ("Int64", "float64")]
    first, second = (pt.tabulate(frame, bins={"age": [30, 45]}, missing=missing) for frame in frames)
    assert first.to_series().to_dict() == second.to_series().to_dict()
    assert first.sum() == (3 if missing == "drop" else 4)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6, unique=True).map(sorted)
    | st.lists(st.integers(-200, 200), min_size=1, max_size=6, unique=True).map(sorted)
)
def test_bins_labelled__reads_edges_back_from_labels(edges: list[float]) -> None:
    whole = all(float(edge).is_integer() for edge in edges)
    for labels in ([year_labels(edges)] if whole else []) + [bin_labels(edges)]:
        found = bins_labelled([*sorted(labels), "missing"])
        assert found is not None
        assert (found.edges, found.labels) == (tuple(map(float, edges)), tuple(labels))


@pytest.mark.parametrize(
    "labels",
    [
        ["f", "m"],
        [1, 2],
        ["<30", ">=45"],
        ["<30", "30-44", "30-44", ">=45"],
        ["<30", "30-44", ">=44.5"],
        ["<x", ">=x"],
        ["<1"],
    ],
)
def test_bins_labelled__other_labels_are_no_bins(labels: list[object]) -> None:
    assert bins_labelled(labels) is None


def test_bins_in__a_result_bins_other_records_as_its_own(tmp_path: Path) -> None:
    people = {"age": AGES, "sex": ["f", "m", "f", "m", "f"]}
    table = pt.tabulate(people, bins={"age": "quantiles:2"})
    pt.save(table, tmp_path / "table.csv")
    others = {"age": [0.5, 44.5, 60.25], "sex": ["m", "m", "f"]}
    for known in (table, pt.load(tmp_path / "table.csv"), pt.project(table, pt.marginals_of(table, ["age", "sex"]))):
        assert list(bins_in(known)) == ["age"]
        again = pt.tabulate(others, bins=bins_in(known))
        assert again.to_series().to_dict() == {("<45", "m"): 2.0, (">=45", "f"): 1.0}
