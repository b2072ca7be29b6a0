from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import purtensor as pt
from purtensor.sklearn import Binner, PURClassifier
from tests.sklearn.people import PROTECTED, adult_rows, drawn_people

pytestmark = pytest.mark.filterwarnings("ignore:the most likely classes do not have")


def test_predict_proba__is_the_natural_classifier_of_the_library() -> None:
    X, y = adult_rows("train")
    model = PURClassifier(protected=PROTECTED).fit(X, y)
    f = pt.regularize(pt.datasets.adult(split="train"), response="income")
    q = pt.project(f, pt.pur(f, response="income", protected=PROTECTED)).table
    test, income = adult_rows("test")
    test_counts = pt.datasets.adult(split="test")
    expected = pt.predict(q, test_counts, response="income", unseen="marginal")
    ours = pt.tabulate(
        {**{name: np.tile(test[name].astype(str), 2) for name in test}, "income": np.repeat(model.classes_, len(test))},
        weights=model.predict_proba(test).T.reshape(-1),
    )
    joint = pt.marginal(expected, ["income", *PROTECTED]).to_series()
    found = pt.marginal(ours, ["income", *PROTECTED]).to_series()
    assert {key: found[key] for key in joint.index} == pytest.approx(joint.to_dict(), rel=1e-7)
    assert list(model.classes_) == sorted(set(income))


def test_predict_proba__keeps_parity_on_the_training_rows() -> None:
    X, y = adult_rows("train")
    for conditions in ("PR", "PUR"):
        model = PURClassifier(protected=PROTECTED, conditions=conditions).fit(X, y)
        high = pd.Series(model.predict_proba(X)[:, 1]).groupby([X["gender"], X["race"]], observed=True).mean()
        assert high.max() - high.min() < 1e-5  # of the order of the pseudo-counts
    unfair = PURClassifier(protected=PROTECTED, conditions="UR").fit(X, y)
    high = pd.Series(unfair.predict_proba(X)[:, 1]).groupby(X["gender"].to_numpy()).mean()
    assert high["male"] - high["female"] > 0.15


def test_fit__containers_agree() -> None:
    X, y = drawn_people()
    from_pandas = PURClassifier(protected="sex").fit(X, y).predict_proba(X)
    frame = pl.from_pandas(X)
    from_polars = PURClassifier(protected="sex").fit(frame, y.to_list()).predict_proba(frame)
    array = X.to_numpy()
    model = PURClassifier(protected=0).fit(array, y.to_numpy())
    np.testing.assert_allclose(from_polars, from_pandas, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(array), from_pandas, atol=1e-9)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3
    assert model.protected_ == ("x0",)
    assert set(np.unique(model.predict(array))) <= {"no", "yes"}


def test_fit__weights_count_as_repeated_rows() -> None:
    X, y = drawn_people()
    times = np.arange(len(y)) % 3
    weighted = PURClassifier(protected="sex").fit(X, y, sample_weight=times)
    rows = np.repeat(np.arange(len(y)), times)
    repeated = PURClassifier(protected="sex").fit(X.iloc[rows], y.iloc[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    assert not np.allclose(weighted.predict_proba(X), PURClassifier(protected="sex").fit(X, y).predict_proba(X))


def test_fit__reference_uniform_is_maximum_entropy() -> None:
    X, y = drawn_people()
    model = PURClassifier(protected="sex", reference="uniform").fit(X, y)
    pur = PURClassifier(protected="sex").fit(X, y)
    assert pt.entropy(model.projection_.table) > pt.entropy(pur.projection_.table)


def test_predict_proba__unseen_profiles() -> None:
    X, y = drawn_people()
    new = pd.DataFrame({"sex": ["f", "x"], "skill": ["low", "low"], "hours": [20.0, 20.0]})
    model = PURClassifier(protected="sex").fit(X, y)
    marginal = pt.marginal(model.projection_.table, "hired").values
    np.testing.assert_allclose(model.predict_proba(new)[1], marginal, atol=1e-12)
    assert abs(model.predict_proba(new)[0, 0] - marginal[0]) > 1e-3
    strict = PURClassifier(protected="sex", unseen="raise").fit(X, y)
    with pytest.raises(pt.UnknownCategoryError, match=r"row 1 .* an unknown category in sex"):
        strict.predict(new)


def test_fit__works_in_pipelines_searches_clones_and_pickles() -> None:
    X, y = drawn_people()
    pipeline = make_pipeline(Binner(edges={"hours": [20, 40]}).set_output(transform="pandas"), PURClassifier("sex"))
    search = GridSearchCV(
        pipeline,
        {"purclassifier__conditions": ["P", "PR", "PUR"], "binner__missing": ["raise"]},
        cv=3,
        scoring="neg_log_loss",
        error_score="raise",
    ).fit(X, y)
    fitted = search.best_estimator_
    assert list(fitted[-1].table_.indexes["profile"].levels[3]) == ["<20", "20-40", ">=40"]
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again[-1].projection_.converged
    with pytest.raises(NotFittedError):
        clone(fitted[-1]).predict(X)


def test_fit__infeasible_conditions_come_with_advice() -> None:
    X = pd.DataFrame({"sex": ["f", "f", "m", "m"]})
    with pytest.raises(pt.InfeasibleError, match=r"conditions='PR'.*relax"):
        PURClassifier("sex", strength=0).fit(X, [0, 0, 1, 1])
    proxy = pd.DataFrame({"sex": np.repeat(["f", "m"], 50), "name": np.repeat(["f", "m"], 50)})
    hired = np.repeat([0, 1, 0, 1], [30, 20, 10, 40])
    with pytest.raises(pt.InfeasibleError, match=r"conditions='PR'.*relax") as told:
        PURClassifier("sex").fit(proxy, hired)
    assert told.value.diagnosis is not None
    assert PURClassifier("sex", conditions="PR").fit(proxy, hired).projection_.converged


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, pt.InvalidOptionError, "protected must name at least one column"),
        ({"protected": "gender"}, pt.UnknownAttributeError, "no attribute 'gender'"),
        ({"protected": 7}, pt.UnknownAttributeError, "no attribute 7"),
        ({"protected": "sex", "conditions": "XYZ"}, pt.InvalidOptionError, "letters among P, U and R"),
        ({"protected": "sex", "reference": "flat"}, pt.InvalidOptionError, "reference must be"),
        ({"protected": "sex", "unseen": "drop"}, pt.InvalidOptionError, "unseen must be"),
        ({"protected": "sex", "bins": 0}, pt.InvalidOptionError, "bins must be"),
        ({"protected": "sex", "bins": None}, pt.InvalidTableError, "is not a category"),
    ],
)
def test_fit__refuses(options: dict[str, object], error: type[Exception], words: str) -> None:
    X, y = drawn_people()
    with pytest.raises(error, match=words):
        PURClassifier(**options).fit(X, y)


def test_fit__missing_values_are_refused_with_their_place() -> None:
    X, y = drawn_people()
    with pytest.raises(pt.InvalidTableError, match=r"NaN or infinity: column 'skill' in row 3"):
        PURClassifier("sex").fit(X.assign(skill=X["skill"].where(X.index != 3)), y)


def test_fit__a_column_named_like_the_response_keeps_its_name() -> None:
    X, y = drawn_people()
    model = PURClassifier("sex").fit(X, y.rename("skill"))
    assert model.response_ == "skill_"


KINDS = {
    "text for numbers": ({"age": [30, 40] * 4}, {"age": ["30", "40"] * 4}, "'age' had numbers .* now has text"),
    "truth values for numbers": ({"age": [0, 1] * 4}, {"age": [False, True] * 4}, "'age' had numbers .* truth values"),
    "numbers for text": ({"age": ["1", "2"] * 4}, {"age": [1, 2] * 4}, "'age' had text .* now has numbers"),
    "numbers for truth values": ({"age": [False, True] * 4}, {"age": [0, 1] * 4}, "'age' had truth values .* numbers"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_predict__labels_of_another_type_are_refused(kind: str) -> None:
    fitted, asked, words = KINDS[kind]
    sex = {"sex": ["f", "f", "m", "m"] * 2}
    model = PURClassifier(protected="sex", strength=1.0).fit(pd.DataFrame(sex | fitted), [0, 1, 1, 0] * 2)
    with pytest.raises(pt.InvalidTableError, match=words):  # not the prediction of profiles that were never seen
        model.predict(pd.DataFrame(sex | asked))


def test_predict__whole_numbers_as_floats_are_the_same() -> None:
    rows = pd.DataFrame({"sex": ["f", "f", "m", "m"] * 2, "age": [30, 40] * 4})
    model = PURClassifier(protected="sex", strength=1.0).fit(rows, [0, 1, 1, 0] * 2)
    assert (model.predict_proba(rows.astype({"age": float})) == model.predict_proba(rows)).all()


def test_fit__weights_that_sum_to_one_are_refused_with_what_to_give() -> None:
    rows = pd.DataFrame({"sex": ["f", "f", "m", "m"]})
    with pytest.raises(pt.InvalidOptionError, match=r"sample_weight sums to 1.*sample_weight \* 4"):
        PURClassifier(protected="sex").fit(rows, [0, 1, 1, 0], sample_weight=[0.25] * 4)


@pytest.mark.parametrize(
    ("names", "words"),
    [(["sex", "sex"], "two columns of the same name"), (["sex", ""], "not empty")],
)
def test_fit__names_of_columns_that_cannot_be_are_refused(names: list[str], words: str) -> None:
    rows = pd.DataFrame([["f", 1], ["m", 2]], columns=names)
    with pytest.raises(pt.InvalidTableError, match=words):
        PURClassifier(protected=0).fit(rows, [0, 1])


def test_fit__a_column_called_profile_is_an_ordinary_one() -> None:
    rows = pd.DataFrame({"profile": ["f", "f", "m", "m", "m", "f"], "profile_": [1, 2, 1, 2, 1, 1]})
    responses = pd.Series([0, 1, 1, 0, 1, 0], name="profile")
    named = PURClassifier(protected="profile", decision="draw", strength=1.0).fit(rows, responses)
    other = PURClassifier(protected="sex", decision="draw", strength=1.0).fit(
        rows.rename(columns={"profile": "sex"}), responses.rename("hired")
    )
    assert named.predict_proba(rows).tolist() == other.predict_proba(rows.rename(columns={"profile": "sex"})).tolist()
    assert named.feature_names_in_.tolist() == ["profile", "profile_"]


def test_fit__no_column_at_all_is_refused_in_the_words_of_scikit_learn() -> None:
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        PURClassifier(protected="sex").fit(pd.DataFrame(index=[0, 1]), [0, 1])


def test_reference__smooth_is_that_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    few = partial(pt.fairness.smooth, orders=(1, None), strengths=(1e-4, 0.1), folds=2)
    monkeypatch.setattr("purtensor.sklearn.base.smooth", few)
    X, y = adult_rows("train")
    model = PURClassifier(protected=PROTECTED, reference="smooth").fit(X[:2000], y[:2000])
    counts = pt.tabulate(X[:2000].assign(income=y[:2000])[["income", *X.columns]])
    found = few(counts, response="income", protected=PROTECTED)
    assert model.smoothed_.losses.equals(found.losses)
    q = pt.project(found.table, pt.pur(found.table, response="income", protected=PROTECTED)).table
    own = model.projection_.table.to_series().reorder_levels(q.to_series().index.names).sort_index()
    assert own.to_numpy() == pytest.approx(q.to_series().sort_index().to_numpy(), abs=1e-9)
    assert PURClassifier(protected=PROTECTED).fit(X[:2000], y[:2000]).smoothed_ is None


def test_reference__smooth_counts_rows_and_has_no_weights_of_rows() -> None:
    X, y = drawn_people()
    weights = np.full(len(y), 1.5)
    with pytest.raises(pt.InvalidTableError, match="whole"):
        PURClassifier(protected="sex", reference="smooth").fit(X, y, sample_weight=weights)
    with pytest.raises(pt.InvalidOptionError, match="reference"):
        pt.sklearn.PURReweigher(protected="sex", reference="smooth").fit(X, y)
