"""The natural classifier of a projection, as scikit-learn's estimators are used."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from purtensor._typing import FloatArray
from purtensor.errors import UnknownCategoryError
from purtensor.kernels.sums import group_sums
from purtensor.sklearn.base import ProjectingEstimator, described_row
from purtensor.tables.coded import encode
from purtensor.tables.grouping import group_profiles
from purtensor.tables.profile_lookup import lookup


class PURClassifier(ClassifierMixin, ProjectingEstimator):  # type: ignore[misc]
    """Predicts by q(y | s, x), with q the projection of the training data onto parity, utility and realism.

    The probabilities keep parity: averaged over a population like that of the training rows, they do not depend on
    the protected columns. `predict` takes the likeliest class, which does not keep parity; to decide fairly, draw
    from `predict_proba`.

    Parameters
    ----------
    protected
        The protected columns, by name or position, one or several. There is no default.
    conditions
        Letters among P, U and R, as in `purtensor.pur`.
    strength
        The pseudo-count of `purtensor.regularize`.
    reference
        What the projection stays close to: "empirical", the regularised data, or "uniform" (maximum entropy).
    unseen
        Rows whose profile was not in the training data: "marginal", predicted by q(y), which keeps parity, or "raise".
    bins
        Numeric columns with fractions are cut into so many bins of near-equal weight; None refuses them. Whole
        numbers, text and categoricals are categories as they are; `Binner` gives control.
    tolerance, solver
        As in `purtensor.project`.

    Attributes
    ----------
    classes_
        The classes, sorted.
    table_
        The regularised distribution f of the training data, an xarray table.
    projection_
        The `Projection`: its table is q, with the proof of it.
    protected_, response_
        The names of the protected attributes and of the response in these tables.
    n_features_in_, feature_names_in_
        Of X; the names only where all are text.

    Examples
    --------
    >>> import pandas as pd
    >>> import purtensor as pt
    >>> people = pd.DataFrame({"sex": ["f", "f", "f", "m", "m", "m"], "skill": ["a", "b", "a", "a", "b", "b"]})
    >>> hired = ["no", "yes", "yes", "yes", "yes", "no"]
    >>> model = pt.sklearn.PURClassifier(protected="sex").fit(people, hired)
    >>> model.predict_proba(people).shape
    (6, 2)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Project the table of the training rows.

        Raises
        ------
        InfeasibleError
            No distribution meets the conditions; the message advises, and `diagnosis` has the proof where there is one.
        NotConvergedError
            The projection did not reach the tolerance.
        InvalidOptionError
            No protected column, or an option with a value that it cannot have.
        UnknownAttributeError
            A protected column that X does not have.
        InvalidTableError
            Missing values, or fractional numbers with `bins=None`.
        """
        self._fit_rows(X, y, sample_weight)
        coded = encode(self.projection_.table)
        place, self._profiles = group_profiles(coded.codes[1:], coded.domain.sizes[1:])
        conditional = np.zeros((len(self._profiles[0]), len(self.classes_)))
        conditional[place, coded.codes[0]] = coded.values
        self._conditional = conditional / conditional.sum(axis=1, keepdims=True)
        marginal = group_sums(coded.values, coded.codes[0], len(self.classes_))
        self._marginal: FloatArray = marginal / marginal.sum()
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return q(y | s, x), shape (rows, classes).

        Raises
        ------
        UnknownCategoryError
            A row with a profile that the training data do not have, with `unseen="raise"`.
        """
        codes = self._row_codes(X)
        place = lookup(self._profiles, codes)
        unseen = np.flatnonzero(place < 0)
        if len(unseen) and self.unseen == "raise":
            names = [column.name for column in self.columns_]
            raise UnknownCategoryError(
                f"{len(unseen)} of {len(place)} rows have a profile that was not in the training data; row {unseen[0]} "
                f"(counted from 0) has {described_row(codes, unseen[0], names)}; unseen='marginal' predicts it by q(y)"
            )
        found: FloatArray = self._conditional[place]
        found[unseen] = self._marginal
        return found

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the likeliest class of each row."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[likeliest])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = "P" in str(self.conditions)  # parity costs accuracy on purpose
        return tags
