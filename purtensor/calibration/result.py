"""A calibration: the weights, what they reach, and what they cost in precision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from purtensor._printing import Shown
from purtensor._typing import FloatArray
from purtensor.calibration.columns import label_column, replicate_columns
from purtensor.calibration.estimates import (
    Estimate,
    bootstrap_weights,
    estimate_linearly,
    homes_of,
    numbers_of_records,
    refit,
    refuse_kinks,
    standard_errors_of,
)
from purtensor.calibration.groups import Asked, Merged
from purtensor.calibration.precision import bound_curve, design_effect, effective_size, spread
from purtensor.calibration.tightest_bounds import TightestBounds, tightest_bounds
from purtensor.calibration.units import Units
from purtensor.errors import InvalidOptionError
from purtensor.projection.result import Projection
from purtensor.records.frames import in_flavour

_MOST_CONTROLS = 40
"""As many are shown in a notebook."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration(Shown):
    """Calibrated weights of records, with their certificate; returned by `calibrate`.

    Attributes
    ----------
    result
        The projection over groups of records that no control distinguishes: residuals, bounds, `rows`, verdict.
    replicates
        Calibrated replicate weights, shape (records, replicates), if some were given.

    Examples
    --------
    >>> import purtensor as pt
    >>> people = {"sex": ["f", "f", "m", "m", "m"], "age": ["young", "old", "young", "young", "old"]}
    >>> wanted = pt.tabulate({"sex": ["f", "m"]}, weights=[6.0, 4.0])
    >>> calibration = pt.calibrate(people, [pt.Marginal(wanted)])
    >>> calibration.array.round(3).tolist()
    [3.0, 3.0, 1.333, 1.333, 1.333]
    >>> round(float(calibration.deff), 3)
    1.167
    """

    records: Any = field(repr=False)
    units: Units = field(repr=False)
    merged: Merged = field(repr=False)
    asked: Asked = field(repr=False)
    result: Projection
    replicates: FloatArray | None = field(default=None, repr=False)
    members: Any = field(default=None, repr=False)

    @property
    def array(self) -> FloatArray:
        """The weights as an array, shape (records,)."""
        return self.units.per_record * self.ratio_array

    @property
    def ratio_array(self) -> FloatArray:
        """The ratios w / d as an array, shape (records,); 1 where the design weight is 0."""
        return self.units.ratios(self.merged, np.asarray(self.result.table.values) / self.merged.weights)

    @property
    def weights(self) -> Any:
        """The weights in the order of the records: a Series of their library with their index, or an array."""
        return in_flavour(self.records, self.array, "weight")

    @property
    def ratios(self) -> Any:
        """The ratios of the weights to the design weights, in the same form as `weights`."""
        return in_flavour(self.records, self.ratio_array, "ratio")

    @property
    def member_weights(self) -> Any:
        """The weights of the members, equal to those of their records, in the order and library of their frame."""
        if self.members is None:
            raise InvalidOptionError(
                "this calibration has no members; its weights are those of the records: use weights"
            )
        return in_flavour(self.members, self.array[homes_of(self.units)], "weight")

    @property
    def deff(self) -> float:
        """Kish's design effect of unequal weights, n sum w^2 / (sum w)^2; each household counts once."""
        return design_effect(self.units.per_unit(self.ratio_array))

    @property
    def effective_size(self) -> float:
        """Kish's effective sample size, (sum w)^2 / sum w^2."""
        return effective_size(self.units.per_unit(self.ratio_array))

    @property
    def spread(self) -> pd.DataFrame:
        """One row for the weights before and one after: sum, quartiles, variation, design effect, effective size."""
        # ratios of 1 give the design weights, per unit as those after
        own = np.ones(len(self.units.per_record))
        return spread({"before": self.units.per_unit(own), "after": self.units.per_unit(self.ratio_array)})

    @property
    def controls(self) -> pd.DataFrame:
        """One row per control: limits, value before and after, miss, and miss in standard errors if known."""
        rows = self.result.rows
        # the question may have one more row, the total, which nobody asked for
        count = sum(block.count for block in self.merged.blocks)
        before = np.concatenate([block.coefficients @ self.merged.weights for block in self.merged.blocks])
        sd = np.concatenate([standard_errors_of(block) for block in self.merged.blocks])
        miss = np.asarray(rows.miss.values)[:count]
        return pd.DataFrame(
            {
                "control": rows.constraint.values[:count],
                "label": rows.label.values[:count],
                "lower": rows.lower.values[:count],
                "upper": rows.upper.values[:count],
                "before": before,
                "after": rows.value.values[:count],
                "miss": miss,
                "standard_errors": miss / sd,
                "state": rows.state.values[:count],
            }
        )

    @property
    def given_up(self) -> pd.DataFrame:
        """The soft controls that are missed by more than the tolerance, the worst first."""
        frame = self.controls
        missed = frame[frame["state"] == "missed"]
        # soft controls without a standard error come first: nothing says that their miss is small
        size = missed["standard_errors"].abs().fillna(np.inf)
        return missed.loc[size.sort_values(ascending=False, kind="stable").index]

    def summary(self) -> dict[str, str]:
        """Return a summary of the calibration as named texts."""
        ratios = self.ratio_array[self.units.per_record > 0]
        given_up = len(self.given_up)
        d = self.units.per_record
        return {
            "records": f"{len(d):,}, in {len(self.merged.weights):,} groups that no control distinguishes",
            "ending": self.result.termination.value,
            "distance": f"{self.asked.options.distance}, summed over {self.units.distance_over}",
            "sum of weights": f"{d.sum():,.10g} before, {self.array.sum():,.10g} after",
            "ratios": f"{ratios.min():.4g} to {ratios.max():.4g}",
            "bounds": self.asked.bounds and f"{self.asked.bounds}, design weights {self.asked.relative_to}",
            "at a bound": f"{self.count_at_bound():,} records" if self.asked.bounded else "",
            "design effect": f"{self.deff:.4g}, effective size {self.effective_size:,.6g}",
            "largest miss": f"{self.result.residual:.2g} of the total",
            "proved": f"within {self.result.tv_bound:.2g} of the answer in total variation"
            if self.result.certified
            else "nothing",
            "given up": f"{given_up} soft controls, see given_up" if given_up else "",
        }

    def count_at_bound(self) -> int:
        """Return how many records have a ratio at its bound."""
        at = np.asarray(self.result.at_bound.values) != 0
        group = self.merged.group[self.units.records]
        return int((at[group] & (group >= 0)).sum())

    def estimate(self, values: Any, *, kind: str = "total", strata: Any = None, clusters: Any = None) -> Estimate:
        """Return the estimate of a total or a mean, with a standard error that accounts for the calibration.

        The value of every record is replaced by its residual in the design-weighted regression on the controls, times
        the weight; the variance is that of sums over clusters within strata, drawn with replacement.

        Parameters
        ----------
        values
            The name of a numeric column, or one number per record. With members also a column of theirs: their values
            are summed by record, and a mean is over members.
        kind
            "total" or "mean".
        strata, clusters
            Names of columns, or one label a record. Households are clusters of their own unless clusters are given.

        Raises
        ------
        InvalidOptionError
            There is an active bound, an active interval or a soft control. Then the weights are not a smooth function
            of the sample; use replicate weights, such as those of `bootstrap`.
        """
        numbers, sizes = numbers_of_records(self.records, self.members, self.units, values)
        refuse_kinks(self.controls, self.merged.blocks, self.count_at_bound() if self.asked.bounded else 0)
        # records without a weight have group -1; any other will do, as their weight is 0
        group = np.maximum(self.merged.group[self.units.records], 0)
        rows = sparse.vstack([block.coefficients for block in self.merged.blocks], format="csc")
        # equal records share a column of the merged rows
        controls = np.asarray(rows[:, group].T.toarray())
        labels = None if strata is None else label_column(self.records, strata)
        # records that share a weight were drawn together
        units = self.units.records if clusters is None else label_column(self.records, clusters)
        return estimate_linearly(
            self.array, self.units.per_record, numbers, controls, kind=kind, sizes=sizes, strata=labels, clusters=units
        )

    def refitted(self, replicates: Any) -> FloatArray:
        """Return replicate weights that are calibrated like the weights, shape (records, replicates).

        Parameters
        ----------
        replicates
            An array of shape (records, replicates), or the names of columns.

        Raises
        ------
        InvalidTableError
            Replicates that are negative or not finite, or not one per record.
        InvalidOptionError
            The calibration has bounds on the weights themselves, which replicate weights cannot keep.
        """
        matrix = replicate_columns(self.records, replicates, len(self.units.per_record))
        return refit(self.asked, self.merged, self.units, matrix, self.result)

    def bootstrap(self, count: int, *, seed: Any, strata: Any = None) -> FloatArray:
        """Return calibrated weights of bootstrap samples of the units, shape (records, count).

        A bootstrap sample draws n - 1 of the n units of each stratum with replacement and multiplies a unit's design
        weight by n / (n - 1) times the number of draws of the unit (J. N. K. Rao and C. F. J. Wu, Journal of the
        American Statistical Association 83, 1988); each calibration starts from the potentials of the whole sample.

        Parameters
        ----------
        count
            How many samples.
        seed
            An int or a numpy Generator; the same seed gives the same weights.
        strata
            The name of a column, or one label a record; all units are one stratum when None.

        Raises
        ------
        InfeasibleError
            A bootstrap sample cannot meet a control, which is then too detailed for the sample.
        """
        labels = None if strata is None else label_column(self.records, strata)
        return self.refitted(bootstrap_weights(self.units.per_record, self.units.records, count, seed, labels))

    def tightest_bounds(self, lower: float | None = None, upper: float | None = None) -> TightestBounds:
        """Return the tightest bounds on the ratios within which the controls can be met.

        Without arguments, the bounds are 1/s and s with the least possible s. If one limit is given, the tightest
        other limit is computed.

        Raises
        ------
        InfeasibleError
            No bounds suffice: the controls contradict each other, or the given limit is too tight by itself.
        """
        return tightest_bounds(self.asked, self.merged, lower=lower, upper=upper)

    def bound_curve(self, points: int = 8) -> pd.DataFrame:
        """Return the cost of bounds 1/s and s on the ratios, from the tightest feasible bounds to inactive bounds.

        Each row has the bounds, the objective (the distance to the design weights), Kish's design effect, the
        effective size, and the share of the design weights whose ratio is at a bound.

        Parameters
        ----------
        points
            How many bounds, at least 2.

        Raises
        ------
        InvalidOptionError
            Fewer points, or the logit distance, which depends on the bounds.
        InfeasibleError
            No bounds suffice.

        Examples
        --------
        >>> import purtensor as pt
        >>> people = {"sex": list("ffffmmmmmm"), "age": list("yyyoyooooo")}
        >>> controls = [
        ...     pt.total(1, by="sex", target={"f": 5.2, "m": 4.8}),
        ...     pt.total(1, by="age", target={"y": 6.5, "o": 3.5}),
        ... ]
        >>> curve = pt.calibrate(people, controls).bound_curve(3)
        >>> curve["upper"].round(3).tolist()
        [1.843, 1.893, 1.945]
        """
        return bound_curve(self.asked, self.merged, self.units, points)

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the controls with what was reached, the first of many."""
        return {"controls": self.controls.head(_MOST_CONTROLS)}
