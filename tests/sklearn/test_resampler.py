from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

import purtensor as pt
from purtensor.sklearn import PURResampler
from tests.sklearn.people import drawn_people


def test_fit_resample__draws_from_the_projection() -> None:
    X, y = drawn_people()
    resampler = PURResampler("sex", n_samples=40_000, random_state=3)
    rows, hired = resampler.fit_resample(X, y)
    assert rows.shape == (40_000, 3)
    rates = (hired == "yes").groupby(rows["sex"]).mean()
    noise = np.sqrt(0.25 / 20_000 * 2)
    assert abs(rates["f"] - rates["m"]) < 4 * noise
    observed = (y == "yes").groupby(X["sex"]).mean()
    assert observed["m"] - observed["f"] > 0.15
    drawn = pt.empirical(pt.tabulate(rows[["sex", "skill"]].assign(hired=hired)))
    q = pt.marginal(resampler.projection_.table, ["sex", "skill", "hired"])
    assert pt.total_variation(drawn, q) < 4 * np.sqrt(12 / 40_000)


def test_fit_resample__keeps_containers_and_values() -> None:
    X, y = drawn_people()
    rows, hired = PURResampler("sex", random_state=1).fit_resample(X, y)
    assert rows.dtypes.equals(X.dtypes)
    assert len(rows) == len(X)
    assert hired.name == "hired"
    assert set(rows["hours"]) <= set(X["hours"])
    frame, series = PURResampler("sex", random_state=1).fit_resample(pl.from_pandas(X), pl.Series("hired", y.to_list()))
    assert frame.schema == pl.from_pandas(X).schema
    assert frame["hours"].to_list() == rows["hours"].tolist()
    assert series.to_list() == hired.tolist()
    array, labels = PURResampler(0, random_state=1).fit_resample(X.to_numpy(), y.to_numpy())
    assert {type(value) for value in array[0]} == {type(value) for value in X.to_numpy()[0]}
    assert {tuple(row[:2]) for row in array} <= {tuple(row[:2]) for row in X.to_numpy()}
    assert set(labels) == {"no", "yes"}


def test_fit_resample__the_seed_decides() -> None:
    X, y = drawn_people()
    first = PURResampler("sex", random_state=1).fit_resample(X, y)
    again = PURResampler("sex", random_state=1).fit_resample(X, y)
    other = PURResampler("sex", random_state=2).fit_resample(X, y)
    pd.testing.assert_frame_equal(first[0], again[0])
    assert not first[0].equals(other[0])


def test_fit_resample__rows_of_weight_zero_are_never_copied() -> None:
    X, y = drawn_people()
    weights = (np.arange(len(y)) >= 200).astype(float)
    rows, _ = PURResampler("sex", random_state=1).fit_resample(X, y, sample_weight=weights)
    assert set(rows["hours"]) <= set(X["hours"][200:])


@pytest.mark.parametrize("size", [0, -1, True, 2.0, "3", 2**63])
def test_fit_resample__refuses_a_size_that_is_none(size: object) -> None:
    X, y = drawn_people()
    with pytest.raises(pt.InvalidOptionError, match="n_samples must be a whole number"):
        PURResampler("sex", n_samples=size).fit_resample(X, y)  # type: ignore[arg-type]
