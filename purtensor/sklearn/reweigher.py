"""Row weights that turn data into their projection, for any estimator that takes sample weights."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.sklearn.base import ProjectingEstimator
from purtensor.tables.coded import encode
from purtensor.tables.translate import find_profiles


class PURReweigher(ProjectingEstimator):
    """Weighs each row by q / f at its profile, so that the weighted data are distributed as the projection q.

    Any estimator with `sample_weight` learns from the fair data then, and fairlearn's metrics take the same weights.
    Both f and q give unobserved responses their pseudo-counts, which no row carries: the weighted data meet the
    conditions up to mass of their order. A model that learns from the weights has parity of its mean probability as far
    as it learns q, and not of its decisions (notes/what_is_fair.md).

    Parameters
    ----------
    protected, conditions, strength, reference, bins, tolerance, solver
        As in `PURClassifier`; there is no reference "smooth".
    unseen
        New rows whose response and profile have no mass in f: "marginal", weight 1, or "raise".

    Attributes
    ----------
    sample_weight_
        Shape (rows,): q / f for each training row, times the `sample_weight` that `fit` was given.
    projection_
        The `Projection`; this and the attributes that are not named here are as in `PURClassifier`.

    Examples
    --------
    >>> import pandas as pd
    >>> import purtensor as pt
    >>> people = pd.DataFrame({"sex": ["f"] * 5 + ["m"] * 5})
    >>> hired = [0, 0, 0, 0, 1, 0, 0, 1, 1, 1]
    >>> weights = pt.sklearn.PURReweigher(protected="sex").fit(people, hired).sample_weight_
    >>> weights.round(2).tolist()
    [0.75, 0.75, 0.75, 0.75, 2.0, 1.5, 1.5, 0.67, 0.67, 0.67]
    """

    _references = ("empirical", "uniform")  # weights are q over the f of the rows themselves

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Project the table of the training rows and weigh them; errors as in `PURClassifier.fit`."""
        codes, given = self._fit_rows(X, y, sample_weight)
        # a projection has the layout of its reference: the same positions
        coded = encode(self.table_)
        q = self.projection_.table.values[coded.positions]
        self._profiles = coded.codes
        self._ratio: FloatArray = q / coded.values
        self.sample_weight_ = np.where(given > 0, given * self._weights(find_profiles(self._profiles, codes)), 0.0)
        return self

    def weigh(self, X: Any, y: Any) -> FloatArray:
        """Return q / f for each of other rows, shape (rows,).

        Raises
        ------
        UnknownCategoryError
            A row that f has no mass for, with `unseen="raise"`.
        ValueError
            y is not one response a row, or has a missing one.
        """
        columns = self._row_codes(X)
        labels = self._labels(y, columns[0])
        place = np.searchsorted(self.classes_, labels)
        # any class will do: the comparison finds that the label is another
        place[place == len(self.classes_)] = 0
        response = np.where(self.classes_[place] == labels, place, -1)
        codes = [response, *columns]
        names = [self.response_, *(column.name for column in self.columns_)]
        return self._weights(
            self._find_profiles(self._profiles, codes, names, "have no weight", "give such rows weight 1")
        )

    def _weights(self, place: IntArray) -> FloatArray:
        return np.asarray(np.where(place >= 0, self._ratio[place], 1.0))
