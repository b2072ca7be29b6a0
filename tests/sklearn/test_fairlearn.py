"""The worked examples: fairlearn's MetricFrame, gradient-boosted trees, and the tutorial as it stands."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
pytest.importorskip("fairlearn", reason="fairlearn is not installed (extra fair)")

from fairlearn.metrics import MetricFrame, mean_prediction
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from purtensor.sklearn import PURClassifier, PURReweigher
from tests.sklearn.people import PROTECTED, adult_rows

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:the most likely classes do not have")]

TUTORIAL = Path(__file__).resolve().parents[2] / "notes" / "tutorials" / "scikit_learn.md"


def parity_ratio(chances: np.ndarray, split: str = "test") -> float:
    """Return the smallest mean prediction of a protected group divided by the largest."""
    X, y = adult_rows(split)
    frame = MetricFrame(
        metrics=mean_prediction, y_true=(y == ">50K").astype(int), y_pred=chances, sensitive_features=X[PROTECTED]
    )
    return float(frame.ratio())


def test_metric_frame__sees_parity_of_the_natural_classifier() -> None:
    X, y = adult_rows("train")
    X_test, _ = adult_rows("test")
    fair, unfair = (PURClassifier(PROTECTED, conditions=letters).fit(X, y) for letters in ("PUR", "UR"))
    assert parity_ratio(fair.predict_proba(X)[:, 1], "train") == pytest.approx(1, abs=1e-4)
    assert parity_ratio(fair.predict_proba(X_test)[:, 1]) > 0.95
    assert parity_ratio(unfair.predict_proba(X_test)[:, 1]) < 0.3


def test_gradient_boosting__learns_parity_from_the_weights() -> None:
    X, y = adult_rows("train")
    X_test, _ = adult_rows("test")
    weights = PURReweigher(PROTECTED).fit(X, y).sample_weight_
    # stopping early would hold back a random tenth of the rows
    trees = HistGradientBoostingClassifier(
        max_iter=8, learning_rate=0.5, early_stopping=False, categorical_features="from_dtype", random_state=0
    )
    with threadpool_limits(1):  # many small parallel regions wait for each other on a busy machine
        unfair = trees.fit(X, y).predict_proba(X_test)[:, 1]
        fair = trees.fit(X, y, sample_weight=weights).predict_proba(X_test)[:, 1]
    assert parity_ratio(unfair) < 0.4
    assert parity_ratio(fair) > 0.95


def test_tutorial__runs_as_it_stands() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", TUTORIAL.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "tutorial", TUTORIAL.name, 0)
    report: list[str] = []
    with threadpool_limits(1):
        outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert outcome.failed == 0, "".join(report)
