from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.exceptions import DataConversionWarning

import purtensor as pt
from purtensor.sklearn import PURReweigher
from tests.sklearn.people import PROTECTED, adult_rows, drawn_people


def test_sample_weight__makes_the_data_the_projection() -> None:
    X, y = adult_rows("train")
    fitted = PURReweigher(PROTECTED).fit(X, y)
    weighted = pt.empirical(pt.tabulate(X.assign(income=y), weights=fitted.sample_weight_))
    q = fitted.projection_.table
    assert pt.total_variation(weighted, q) < 1e-5  # what the pseudo-counts hold
    assert pt.total_variation(pt.empirical(pt.tabulate(X.assign(income=y))), q) > 0.03


def test_sample_weight__of_parity_alone_is_reweighing() -> None:
    X, y = drawn_people()
    plain = X[["sex", "skill"]]
    fitted = PURReweigher("sex", conditions="P").fit(plain, y)
    f = pt.regularize(pt.tabulate(plain.assign(hired=y)), response="hired")
    pairs = f.to_series().groupby(["hired", "sex"]).sum().unstack()
    ratio = np.outer(pairs.sum(axis=1), pairs.sum()) / pairs  # f(y) f(s) / f(y, s)
    expected = [ratio.loc[label, sex] for label, sex in zip(y, plain["sex"])]
    np.testing.assert_allclose(fitted.sample_weight_, expected, rtol=1e-9)


def test_weigh__gives_training_rows_their_own_weights() -> None:
    X, y = drawn_people()
    fitted = PURReweigher("sex").fit(X, y)
    np.testing.assert_array_equal(fitted.weigh(X, y), fitted.sample_weight_)
    assert fitted.sample_weight_.std() > 0.1
    scaled = PURReweigher("sex").fit(X, y, sample_weight=np.full(len(y), 2.0))
    np.testing.assert_allclose(scaled.sample_weight_, 2 * fitted.sample_weight_, rtol=1e-3)


def test_weigh__unknown_rows() -> None:
    X, y = drawn_people()
    new = X.iloc[:3].assign(skill=["none", "low", "high"])
    assert PURReweigher("sex").fit(X, y).weigh(new, ["yes"] * 3)[0] == 1.0
    assert PURReweigher("sex").fit(X, y).weigh(new, ["maybe", "yes", "no"])[0] == 1.0
    with pytest.raises(pt.UnknownCategoryError, match=r"row 0 .* an unknown category in skill"):
        PURReweigher("sex", unseen="raise").fit(X, y).weigh(new, ["yes"] * 3)


def test_weigh__a_column_of_responses_is_flattened_as_in_fit() -> None:
    X, y = drawn_people()
    fitted = PURReweigher("sex").fit(X, y)
    with pytest.warns(DataConversionWarning):
        weights = fitted.weigh(X, y.to_frame())
    np.testing.assert_array_equal(weights, fitted.sample_weight_)


@pytest.mark.parametrize(
    ("responses", "words"),
    [
        (["yes"] * 2, "inconsistent numbers of samples"),
        (["yes"] * 4, "inconsistent numbers of samples"),
        ([["yes", "no"]] * 3, "y should be a 1d array"),
        (None, "y should be a 1d array"),
        ([np.nan, 1.0, 0.0], "Input y contains NaN"),
    ],
    ids=str,
)
def test_weigh__responses_are_checked_as_in_fit(responses: object, words: str) -> None:
    X, y = drawn_people()
    fitted = PURReweigher("sex").fit(X, y)
    with pytest.raises(ValueError, match=words):
        fitted.weigh(X.iloc[:3], responses)


def test_sample_weight__rows_of_weight_zero_do_not_count() -> None:
    X, y = drawn_people()
    weights = np.ones(len(y))
    weights[:5] = 0
    odd = X.copy()
    odd.loc[:4, "skill"] = "never"
    fitted = PURReweigher("sex").fit(odd, y, sample_weight=weights)
    assert (fitted.sample_weight_[:5] == 0).all()
    assert "never" not in fitted.table_.indexes["profile"].levels[2]
    pd.testing.assert_index_equal(pd.Index(fitted.classes_), pd.Index(["no", "yes"]), exact=False)
