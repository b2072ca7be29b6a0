"""What the estimators share: rows to a table, its projection, and rows to the profiles of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from purtensor._options import check_choice, items_of
from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InfeasibleError, InvalidOptionError, NotConvergedError, UnknownCategoryError
from purtensor.fairness.pur import pur
from purtensor.fairness.smoothing import Smoothed, smooth
from purtensor.kernels.reductions import group_sums
from purtensor.projection.deliver import interrupting
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.sklearn.binner import find_columns
from purtensor.sklearn.columns import (
    attribute_names,
    check_bins,
    check_weights,
    codes_of,
    fit_column,
    free_name,
    read_columns,
)
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import PROFILE, Domain
from purtensor.tables.grouping import group_profiles
from purtensor.tables.masses import are_probabilities
from purtensor.tables.regularize import regularize, uniform
from purtensor.tables.translate import find_profiles

ADVICE = (
    "use fewer conditions (conditions='PR' can always be met), remove or merge the columns that reveal the "
    "protected ones (purtensor.proxies finds them), or relax a condition with purtensor.relax"
)


class ProjectingEstimator(BaseEstimator):  # type: ignore[misc]
    """Projects the table of its training rows onto the conditions; the common part of the estimators."""

    _references: tuple[str, ...] = ("empirical", "uniform", "smooth")

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
    ) -> None:
        self.protected = protected
        self.conditions = conditions
        self.strength = strength
        self.reference = reference
        self.unseen = unseen
        self.bins = bins
        self.tolerance = tolerance
        self.solver = solver

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[list[IntArray], FloatArray]:
        """Fit to rows; return the codes of response and columns, -1 where unknown, and the weight of each row."""
        self._check_options()
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        names, columns = read_columns(self, X, reset=True)
        if not columns:
            raise ValueError(f"Found array with 0 feature(s) (shape=({len(X)}, 0)) while a minimum of 1 is required.")
        labels = self._labels(y, columns[0].to_numpy())
        check_classification_targets(labels)
        self.classes_, response = np.unique(labels, return_inverse=True)
        weights = check_weights(sample_weight, len(labels))
        counted = weights > 0
        self._attributes = attribute_names(names)
        self.protected_ = tuple(self._attributes[names.index(name)] for name in self._find_protected(names))
        self.response_ = free_name(_own_name(y), [*names, *self._attributes, PROFILE])
        self.columns_ = tuple(
            fit_column(name, column.filter(counted.tolist()), self.bins, weights[counted])
            for name, column in zip(names, columns, strict=True)
        )
        # rows of weight 0 are coded too, -1 where only they have the category: their weights are asked for
        codes = [response, *codes_of(self.columns_, columns)]
        counts = self._counts([code[counted] for code in codes], weights[counted])
        # regularize would take such counts for probabilities
        if are_probabilities(weights, float(weights.sum())):
            raise InvalidOptionError(
                "sample_weight sums to 1, but `strength` is a pseudo-count relative to counted rows: give weights "
                "that sum "
                f"to the number of rows, sample_weight * {len(weights)}"
            )
        self.smoothed_ = self._smooth(counts) if self.reference == "smooth" else None
        self.table_ = (
            regularize(counts, self.strength, response=self.response_)
            if self.smoothed_ is None
            else self.smoothed_.table
        )
        self.projection_ = self._project(self.table_)
        return codes, weights

    def _smooth(self, counts: Table) -> Smoothed:
        return smooth(counts, response=self.response_, protected=self.protected_, conditions=self.conditions)

    def _project(self, f: Table) -> Projection:
        constraints = pur(f, response=self.response_, protected=self.protected_, conditions=self.conditions)
        # the targets are those of f in any case
        start = uniform(f) if self.reference == "uniform" else f
        try:
            with interrupting():  # else a search over parameters would take it for a fit that failed, and continue
                return project(start, constraints, solver=self.solver, tolerance=self.tolerance)
        except InfeasibleError as error:
            raise InfeasibleError(f"{error.reason}; {ADVICE}", error.diagnosis, hint=ADVICE) from error
        except NotConvergedError as error:
            error.add_note(f"if the conditions exclude each other, {ADVICE}")
            raise

    def _counts(self, codes: Sequence[IntArray], weights: FloatArray) -> Table:
        classes: pd.Index[Any] = pd.Index(self.classes_.tolist())
        domain = Domain(
            (self.response_, *self._attributes),
            (classes, *(column.categories for column in self.columns_)),
        )
        group, profiles = group_profiles(codes, domain.sizes)
        return sparse_table(domain, profiles, group_sums(weights, group, len(profiles[0])), name="count")

    def _labels(self, y: Any, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the responses as an array, one per row of the column, after a check in scikit-learn's words."""
        labels: npt.NDArray[Any] = column_or_1d(y, warn=True)
        check_consistent_length(column, labels)
        assert_all_finite(labels, input_name="y", estimator_name=type(self).__name__)
        return labels

    def _row_codes(self, X: Any) -> list[IntArray]:
        check_is_fitted(self)
        _, columns = read_columns(self, X, reset=False)
        return codes_of(self.columns_, columns)

    def _find_profiles(
        self, profiles: Sequence[IntArray], codes: Sequence[IntArray], names: Sequence[str], lacks: str, remedy: str
    ) -> IntArray:
        """Return where each row stands among known profiles, -1 where it does not; with `unseen="raise"` an error."""
        place = find_profiles(profiles, codes)
        strange = np.flatnonzero(place < 0)
        if len(strange) and self.unseen == "raise":
            row = strange[0]
            unknown = [name for name, code in zip(names, codes, strict=True) if code[row] < 0]
            what = f"category in {', '.join(unknown)}" if unknown else "combination of categories"
            raise UnknownCategoryError(
                f"{len(strange)} of {len(place)} rows {lacks}; row {row} (counted from 0) has an unknown {what}; "
                f"use unseen='marginal' to {remedy}"
            )
        return place

    def _find_protected(self, names: list[str]) -> tuple[str, ...]:
        # a text is one name, not the names of its letters
        several = None if isinstance(self.protected, str) else items_of(self.protected)
        wanted = [self.protected] if several is None else several
        if self.protected is None or len(wanted) == 0:
            raise InvalidOptionError(
                f"protected must name at least one column that {type(self).__name__} protects, by name or position"
            )
        return tuple(find_columns(wanted, names, "protected"))

    def _check_options(self) -> None:
        check_choice("reference", self.reference, self._references)
        check_choice("unseen", self.unseen, ("marginal", "raise"))
        if self.bins is not None:
            check_bins(self.bins)


def _own_name(y: Any) -> str:
    """Return the name that responses have of their own, or else a plain one."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else "response"
