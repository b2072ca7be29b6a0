"""Hierarchical log-linear models: how well each fits, with degrees of freedom that are right on sparse tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.stats import chi2

from purtensor._options import items_of
from purtensor._printing import Shown
from purtensor._typing import Table
from purtensor.constraints.coefficients import coefficients
from purtensor.constraints.marginals import marginals_of
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.information import kl_divergence
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.solving.solvers.newton import Newton
from purtensor.tables.coded import encode
from purtensor.tables.regularize import uniform
from purtensor.tables.translate import values_at

# deviances are N times a divergence: counts in millions need the digits
_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class LogLinearFit(Shown):
    """A hierarchical log-linear model, fitted by maximum likelihood.

    Attributes
    ----------
    scopes
        The attributes of each marginal that the model fits: its generators.
    projection
        The fitted counts, with their evidence: the projection of a uniform table onto the marginals.
    counts
        What was fitted.
    deviance, pearson
        G2 and X2 against the counts.
    parameters
        The number of free parameters with the constant: the exact rank of the marginals on the profiles that are fitted
        positive.
    degrees_of_freedom
        The number of profiles that are fitted positive, less the parameters. Software that knows only the numbers of
        categories counts profiles which empty marginals force to zero as well.
    """

    scopes: tuple[tuple[str, ...], ...]
    projection: Projection
    counts: Table
    deviance: float
    pearson: float
    parameters: int
    degrees_of_freedom: int

    @property
    def table(self) -> Table:
        """The fitted counts."""
        return self.projection.table

    @property
    def size(self) -> float:
        """The number of individuals."""
        return float(self.counts.sum())

    @property
    def p_value(self) -> float:
        """The probability of a larger deviance under the model, by chi-squared; NaN without degrees of freedom.

        Where most counts are below five it is no more than a hint.
        """
        return _tail(self.deviance, self.degrees_of_freedom)

    @property
    def aic(self) -> float:
        """Akaike's criterion up to a constant of the counts: deviance + 2 parameters."""
        return self.deviance + 2.0 * self.parameters

    @property
    def bic(self) -> float:
        """The Bayesian criterion up to a constant of the counts: deviance + log(size) parameters."""
        return self.deviance + math.log(self.size) * self.parameters

    @property
    def zeros(self) -> int:
        """How many profiles of the support are fitted as zero: then the maximum of likelihood lies on the boundary."""
        return int(np.count_nonzero((self.projection.reference.values > 0) & (self.table.values == 0)))

    def summary(self) -> dict[str, str]:
        """Return the facts about the fit as text, one line each."""
        tail = "" if math.isnan(self.p_value) else f", p {self.p_value:.3g}"
        return {
            "model": name_of(self.scopes),
            "deviance": f"{self.deviance:.6g} on {self.degrees_of_freedom} degrees of freedom{tail}",
            "Pearson": f"{self.pearson:.6g}",
            "AIC, BIC": f"{self.aic:.6g}, {self.bic:.6g}",
            "zeros": f"{self.zeros} profiles are fitted as zero" if self.zeros else "",
        }

    def is_within(self, other: LogLinearFit) -> bool:
        """Return whether this model is a special case of another: each of its scopes lies in one of the other's."""
        return all(any(set(scope) <= set(larger) for larger in other.scopes) for scope in self.scopes)


def fit_log_linear(
    counts: Table, model: str | Sequence[str | Sequence[str]], *, support: str | Table = "product"
) -> LogLinearFit:
    """Return a hierarchical log-linear model at its maximum of likelihood.

    It is the projection of the uniform table onto the marginals of the counts. Fitted zeros, where the maximum lies on
    the boundary, are found and proved, and do not count as degrees of freedom.

    Parameters
    ----------
    counts
        A table of counts.
    model
        Its generators, as in `marginals_of`: a formula, or a list of scopes.
    support
        Which profiles can occur, as in `uniform`: by default all, so that a zero count is one that the sample lacks.

    Raises
    ------
    InvalidTableError
        Probabilities in the place of counts, and whatever `uniform` raises.
    UnknownAttributeError
        An attribute that the table does not have.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.as_table([[[512, 313], [89, 19]], [[353, 207], [17, 8]]],
    ...                      {"dept": ["A", "B"], "sex": ["m", "f"], "admitted": ["yes", "no"]})
    >>> fit = pt.results.fit_log_linear(counts, "~ dept*sex + dept*admitted")
    >>> fit.summary()["deviance"]
    '19.3127 on 2 degrees of freedom, p 6.4e-05'
    """
    constraints = marginals_of(counts, model)
    _require_counts(counts)
    reference = uniform(counts, support=support)
    projection = project(reference, constraints, solver=Newton(), tolerance=_TOLERANCE)
    # fitted zeros take profiles, and with them ranks, out of the model (Fienberg and Rinaldo, 2012)
    alive = reference.copy(data=np.where(projection.table.values > 0, reference.values, 0.0))
    reduced = coefficients(alive, constraints).reduce()
    fitted = encode(projection.table)  # without its zeros
    seen = values_at(counts, fitted.domain, fitted.codes)
    return LogLinearFit(
        scopes=tuple(constraint.scope for constraint in constraints),
        projection=projection,
        counts=counts,
        # G2 = 2 sum n log(n / m), as fitted and observed totals agree
        deviance=2.0 * float(counts.sum()) * kl_divergence(counts, projection.table),
        pearson=float(((seen - fitted.values) ** 2 / fitted.values).sum()),
        parameters=reduced.rank,
        degrees_of_freedom=reduced.system.profiles - reduced.rank,
    )


def compare_log_linear(fits: Sequence[LogLinearFit]) -> pd.DataFrame:
    """Return fits of the same counts as a table, fewest parameters first, with tests between those that are nested.

    Columns are `parameters`, `degrees of freedom`, `deviance`, `pearson`, `p`, `aic`, `bic`, and against the model on
    the line above `less deviance`, `on` and `p of less`: NaN where that is not a special case of this one, or where the
    two fit different profiles as zero.

    Raises
    ------
    InvalidOptionError
        No fits, or fits of different counts.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.as_table([[[512, 313], [89, 19]], [[353, 207], [17, 8]]],
    ...                      {"dept": ["A", "B"], "sex": ["m", "f"], "admitted": ["yes", "no"]})
    >>> models = ["~ dept*sex + admitted", "~ dept*sex + dept*admitted", "~ dept*sex + dept*admitted + sex*admitted"]
    >>> found = pt.results.compare_log_linear([pt.results.fit_log_linear(counts, model) for model in models])
    >>> found["degrees of freedom"].tolist(), found["on"].tolist()[1:]
    ([3, 2, 1], [1.0, 1.0])
    """
    given = items_of(fits)
    if not given or not all(isinstance(fit, LogLinearFit) for fit in given):
        raise InvalidOptionError(f"fits must be at least one fit by fit_log_linear, got {fits!r}")
    first = fits[0].counts
    if not all(first.equals(fit.counts) for fit in fits):
        raise InvalidOptionError("fits must be of the same counts, got fits of different counts")
    # only neighbours are compared, so nested models must stand next to each other
    ordered = sorted(fits, key=lambda fit: fit.parameters)
    steps = [(math.nan, math.nan, math.nan), *(_step(one, other) for one, other in pairwise(ordered))]
    return pd.DataFrame(
        [
            {
                "parameters": fit.parameters,
                "degrees of freedom": fit.degrees_of_freedom,
                "deviance": fit.deviance,
                "pearson": fit.pearson,
                "p": fit.p_value,
                "aic": fit.aic,
                "bic": fit.bic,
                "less deviance": less,
                "on": freedom,
                "p of less": tail,
            }
            for fit, (less, freedom, tail) in zip(ordered, steps, strict=True)
        ],
        index=pd.Index([name_of(fit.scopes) for fit in ordered], name="model"),
    )


def name_of(scopes: Sequence[Sequence[str]]) -> str:
    """Return generators as they are printed.

    Examples
    --------
    >>> name_of([("a", "b"), ("c",)])
    '[a b][c]'
    """
    return "".join(f"[{' '.join(scope)}]" for scope in scopes)


def _step(one: LogLinearFit, other: LogLinearFit) -> tuple[float, float, float]:
    """Return what the larger of two nested models gains: deviance, degrees of freedom and the p value."""
    # with different zeros the two are models on different supports, and chi-squared does not hold
    if not one.is_within(other) or not np.array_equal(one.table.values > 0, other.table.values > 0):
        return math.nan, math.nan, math.nan
    less, freedom = one.deviance - other.deviance, one.degrees_of_freedom - other.degrees_of_freedom
    return less, float(freedom), _tail(less, freedom)


def _tail(deviance: float, freedom: int) -> float:
    return float(chi2.sf(deviance, freedom)) if freedom > 0 else math.nan


def _require_counts(counts: Table) -> None:
    total = float(counts.sum())
    if total <= 1.0 + 1e-9:
        raise InvalidTableError(
            f"the table must have counts of individuals, got total {total:g}: the deviance is proportional to the total"
        )
