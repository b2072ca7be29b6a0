"""The natural classifier of a projection, as scikit-learn's estimators are used."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from purtensor._options import check_choice, items_of
from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidOptionError, UnfairDecisionsWarning
from purtensor.fairness.decisions import RULES, decide, marginal_rates
from purtensor.fairness.draws import draw_categories, uniforms
from purtensor.fairness.rates import FOUR_FIFTHS, rates_by_group, smallest_ratios
from purtensor.fairness.response_table import ResponseTable
from purtensor.sklearn.base import ProjectingEstimator


class PURClassifier(ClassifierMixin, ProjectingEstimator):  # type: ignore[misc]
    """Predicts by q(y | s, x), with q the projection of the training data onto parity, utility and realism.

    The probabilities keep parity: averaged over a population like that of the training rows, they do not depend on
    the protected columns. Decisions are another matter: the most likely classes, which scikit-learn's users expect of
    `predict`, do not keep parity, and `fit` warns where they break it. `decision` chooses (notes/what_is_fair.md).

    Parameters
    ----------
    protected
        The protected columns, by name or position, one or several. There is no default.
    conditions
        Letters among P, U and R, as in `purtensor.pur`.
    strength
        The pseudo-count of `purtensor.regularize`.
    reference
        What the projection stays close to: "empirical", the regularised data; "uniform" (maximum entropy); or "smooth",
        the data simplified as far as it predicts other people best, by cross-validation (`purtensor.fairness.smooth`,
        which takes whole numbers as sample weights, and chooses its own `strength`).
    unseen
        Rows whose profile was not in the training data: "marginal", predicted by q(y), which keeps parity, or "raise".
    bins
        Numeric columns with fractions are cut into so many bins of near-equal weight; None refuses them. Whole
        numbers, text and categoricals are categories as they are; `Binner` gives control.
    tolerance, solver
        As in `purtensor.project`.
    decision
        How `predict` decides. "likeliest": the class of largest probability, most accurate and not fair. "draw": drawn
        from the probabilities, fair on average, least accurate. "fair": the most accurate decisions that give every
        protected profile of the training rows the same rates; only few profiles are drawn.
    rate
        Of "fair": the share of each class, such as {"no": 0.75, "yes": 0.25}; q(y) when None.
    random_state
        Of what is drawn: a seed, a numpy RandomState, or None, as in scikit-learn. `fit` takes one seed from it. A
        draw depends on that seed and on the row's label in a pandas index, its position in other containers, or on
        the `ids` that `predict` is given; never on the content of the row.

    Attributes
    ----------
    classes_
        The classes, sorted.
    table_
        The regularised distribution f of the training data, an xarray table; with reference "smooth" the smoothed one.
    smoothed_
        How that was chosen, a `purtensor.fairness.Smoothed`; None with another reference.
    projection_
        The `Projection`: its table is q, with the proof of it.
    decisions_
        The `Decisions` for the training population, by the rule of `decision`.
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
    >>> model = pt.sklearn.PURClassifier(protected="sex", decision="fair", random_state=0).fit(people, hired)
    >>> model.predict_proba(people).shape, model.predict(people).shape
    ((6, 2), (6,))
    """

    def __init__(
        self,
        protected: Any = None,
        *,
        conditions: str = "PUR",
        strength: float = 1e-4,
        reference: str = "empirical",
        unseen: str = "marginal",
        bins: int | None = 5,
        tolerance: float = 1e-10,
        solver: Any = None,
        decision: str = "likeliest",
        rate: Mapping[Any, float] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            protected,
            conditions=conditions,
            strength=strength,
            reference=reference,
            unseen=unseen,
            bins=bins,
            tolerance=tolerance,
            solver=solver,
        )
        self.decision = decision
        self.rate = rate
        self.random_state = random_state

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
        check_choice("decision", self.decision, RULES)
        self._fit_rows(X, y, sample_weight)
        self.decisions_ = decide(
            self.projection_.table,
            self.table_,
            response=self.response_,
            protected=self.protected_,
            rule=self.decision,
            rate=self.rate,
            unseen="marginal",
        )
        # a row of the conditional for each profile of the columns, a column for each class
        q, decided = (
            ResponseTable.of(table, self.response_, self._attributes)
            for table in (self.projection_.table, self.decisions_.table)
        )
        self._profiles, self._conditional = q.profiles, q.rates
        self._decided_profiles, self._decided = decided.profiles, decided.rates
        self._marginal = marginal_rates(self.projection_.table, self.response_)
        # whom the rule does not know gets the classes at the rate of the fair rule, and else by q(y)
        self._rate = (
            marginal_rates(self.decisions_.table, self.response_) if self.decision == "fair" else self._marginal
        )
        # drawn once: predict gives the same decisions whenever it is called
        self._seed = int(check_random_state(self.random_state).randint(0, 2**31 - 1))
        if self.decision == "likeliest" and "P" in self.conditions:
            self._warn_of_unfair_decisions()
        return self

    def _warn_of_unfair_decisions(self) -> None:
        rates = rates_by_group(self.decisions_.table, response=self.response_, protected=self.protected_)
        worst: Any = smallest_ratios(rates).idxmin()
        if rates[worst].min() < FOUR_FIFTHS * rates[worst].max():
            low, high = rates[worst].idxmin(), rates[worst].idxmax()
            # stacklevel 3: the line that called fit
            warnings.warn(
                f"the most likely classes do not have the parity of the probabilities: {self.response_}={worst} for "
                f"{100 * rates[worst][low]:.1f} % of ({low}) and {100 * rates[worst][high]:.1f} % of ({high}); "
                "decision='fair' or decision='draw' preserves it",
                UnfairDecisionsWarning,
                stacklevel=3,
            )

    def predict_proba(self, X: Any) -> FloatArray:
        """Return q(y | s, x), shape (rows, classes).

        Raises
        ------
        UnknownCategoryError
            A row with a profile that the training data do not have, with `unseen="raise"`.
        """
        codes = self._row_codes(X)
        place = self._places(self._profiles, codes)
        found: FloatArray = self._conditional[place]
        # place -1 has read the last row
        found[place < 0] = self._marginal
        return found

    def predict(self, X: Any, ids: Any = None) -> npt.NDArray[Any]:
        """Return the class that is decided for each row; see `decision`.

        Parameters
        ----------
        ids
            What identifies the rows, in place of a pandas index or of positions: whatever is drawn depends on it and
            on the seed alone, so that a person's decision does not change with the rows around.

        Raises
        ------
        UnknownCategoryError
            As `predict_proba`.
        InvalidOptionError
            Not one id a row.
        """
        codes = self._row_codes(X)
        place = self._places(self._decided_profiles, codes)
        shares = self._decided[place]
        shares[place < 0] = self._rate
        if self.decision == "likeliest":
            return np.asarray(self.classes_[shares.argmax(axis=1)])
        numbers = uniforms(_names_of_rows(X, len(place), ids), self._seed)
        return np.asarray(self.classes_[draw_categories(shares, numbers)])

    def _places(self, profiles: tuple[IntArray, ...], codes: list[IntArray]) -> IntArray:
        names = [column.name for column in self.columns_]
        lacks = "have a profile that was not in the training data"
        return self._find_profiles(profiles, codes, names, lacks, "predict such rows by q(y)")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = "P" in str(self.conditions)  # parity costs accuracy on purpose
        return tags


def _names_of_rows(X: Any, rows: int, ids: Any) -> Iterable[Any]:
    """Return what identifies each row: the ids, else the labels of a pandas index, else positions."""
    if ids is not None:
        names = items_of(ids)
        if names is None or len(names) != rows:
            raise InvalidOptionError(f"ids must name each of {rows} rows, got {'no' if names is None else len(names)}")
        return names
    return X.index if isinstance(X, pd.DataFrame) else range(rows)
