from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

import purtensor as pt
from purtensor.records.bins import quantile_edges, shortest_between
from purtensor.sklearn import Binner

PEOPLE = pd.DataFrame({"age": [22.5, 35, 41, 67], "children": [0, 1, 2, 1], "sex": ["f", "m", "f", "m"]})


def test_transform__ordered_categories_with_labels() -> None:
    binned = Binner(edges={"age": [30, 55]}).fit_transform(PEOPLE)
    assert binned["age"].tolist() == ["<30", "30-55", "30-55", ">=55"]
    assert binned["age"].cat.ordered
    assert binned["age"].cat.categories.tolist() == ["<30", "30-55", ">=55"]
    pd.testing.assert_frame_equal(binned[["children", "sex"]], PEOPLE[["children", "sex"]])


def test_transform__an_edge_belongs_to_the_bin_above() -> None:
    binned = Binner(edges={0: [35]}).fit_transform(PEOPLE)
    assert binned["age"].tolist() == ["<35", ">=35", ">=35", ">=35"]


def test_transform__containers() -> None:
    frame = Binner(edges={"age": [30, 55]}).fit_transform(pl.from_pandas(PEOPLE))
    assert frame.schema["age"] == pl.Enum(["<30", "30-55", ">=55"])
    assert frame["sex"].to_list() == PEOPLE["sex"].tolist()
    table = Binner(edges={"age": [30, 55]}).fit_transform(pa.Table.from_pandas(PEOPLE))
    assert table["age"].to_pylist() == ["<30", "30-55", "30-55", ">=55"]
    codes = Binner(edges={0: [30, 55]}).fit_transform(PEOPLE[["age", "children"]].to_numpy())
    assert codes.tolist() == [[0, 0], [1, 1], [1, 2], [2, 1]]
    mixed = Binner(edges={0: [30, 55]}).fit_transform(PEOPLE.to_numpy())
    assert mixed[:, 2].tolist() == ["f", "m", "f", "m"]
    assert mixed[:, 0].tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize(("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
@pytest.mark.parametrize("make", [lambda: PEOPLE, lambda: pl.from_pandas(PEOPLE), lambda: PEOPLE.to_numpy()])
def test_set_output__gives_that_container_with_labels(container: str, kind: type, make: Any) -> None:
    binned = Binner(edges={0: [30, 55]}).set_output(transform=container).fit_transform(make())
    assert isinstance(binned, kind)
    assert list(binned[binned.columns[0]]) == ["<30", "30-55", "30-55", ">=55"]


def test_transform__missing_values() -> None:
    gaps = PEOPLE.assign(age=[22.5, np.nan, 41, 67])
    with pytest.raises(pt.InvalidTableError, match=r"NaN: column 'age'; missing='category'"):
        Binner(2).fit(gaps)
    binned = Binner(2, missing="category").fit_transform(gaps)
    assert binned["age"].tolist()[1] == "missing"
    assert binned["age"].cat.categories.tolist()[-1] == "missing"
    polars = Binner(2, missing="category").fit_transform(pl.from_pandas(gaps))
    assert polars["age"].to_list() == binned["age"].tolist()
    with pytest.raises(pt.InvalidTableError, match="infinity"):
        Binner(2, missing="category").fit(PEOPLE.assign(age=[22.5, np.inf, 41, 67]))


def test_fit__whole_numbers_are_categories_unless_asked() -> None:
    assert list(Binner(2).fit(PEOPLE).edges_) == ["age"]
    assert list(Binner(2, columns="numeric").fit(PEOPLE).edges_) == ["age", "children"]


def test_fit__quantiles_hold_equal_weight() -> None:
    values = np.random.default_rng(0).normal(size=1000)
    edges = quantile_edges(values, np.ones(1000), 4)
    assert np.bincount(np.searchsorted(edges, values, side="right")).tolist() == [250, 250, 250, 250]
    weights = np.arange(1000) % 3
    repeated = np.repeat(values, weights)
    assert quantile_edges(values, weights.astype(float), 7) == quantile_edges(repeated, np.ones(len(repeated)), 7)
    assert quantile_edges(np.full(5, 2.5), np.ones(5), 3) == ()


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [
        (0.37454011, 0.3821, 0.38),
        (9.99, 10.01, 10.0),
        (-0.5, 0.7, 0.0),
        (-3.2, -3.1, -3.1),
        (1.0, 1 + 2**-52, 1 + 2**-52),
        (41, 67, 50.0),
        (0.0, 5e-324, 5e-324),
        (1e300, 1.7e308, 9e307),
        (-1.7e308, 1.7e308, 0.0),
        (-1e308, 1.7e308, 1e308),
        (-1.7e308, -1e308, -1e308),
    ],
)
def test_shortest_between__is_short_and_between(low: float, high: float, number: float) -> None:
    found = shortest_between(low, high)
    assert low < found <= high
    assert len(repr(found)) <= len(repr(number))


def test_fit__numbers_whose_difference_is_beyond_float64() -> None:
    binner = Binner(bins=2, columns="numeric").fit([[-1.7e308], [1.7e308]])
    assert binner.transform([[-1.7e308], [-1.0], [0.0], [1.7e308]]).ravel().tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"bins": 0}, pt.InvalidOptionError, "bins must be a whole number"),
        ({"edges": {"income": [1]}}, pt.UnknownAttributeError, "no attribute 'income'"),
        ({"edges": {"age": [2, 1]}}, pt.InvalidOptionError, r"edges\['age'\] must be a sequence"),
        ({"edges": {"sex": [1]}}, pt.InvalidTableError, "column 'sex' has edges, but its values are not"),
        ({"edges": [1, 2]}, pt.InvalidOptionError, "edges must be a mapping"),
        ({"columns": "all"}, pt.InvalidOptionError, "columns must be"),
        ({"missing": "drop"}, pt.InvalidOptionError, "missing must be"),
    ],
)
def test_fit__refuses(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Binner(**options).fit(PEOPLE)
